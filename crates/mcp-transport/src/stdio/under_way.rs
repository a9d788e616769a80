use std::sync::Arc;

use rmcp::{
    model::ClientRequest,
    service::{Peer, PeerRequestOptions, RoleClient},
};
use tokio::sync::oneshot;

use super::{
    tap::{Arrival, Tap},
    wire::Wire,
};
use crate::{Delivery, ToolCall, TransportError};

/// A request under way. However its future ends, the request is either answered or given up.
pub(super) struct UnderWay<'a> {
    wire: &'a Wire,
    tap: Arc<Tap>,
    arrival: oneshot::Receiver<Arrival>,
    open: bool,
}

impl<'a> UnderWay<'a> {
    /// Begins to follow a request, before rmcp is asked to send it.
    pub(super) fn begin(wire: &'a Wire, call: Option<ToolCall>) -> Result<Self, TransportError> {
        let (tap, arrival) = wire.open(call)?;
        Ok(Self { wire, tap, arrival, open: true })
    }

    /// Goes into the extensions of the request.
    pub(super) fn tap(&self) -> Arc<Tap> {
        self.tap.clone()
    }

    /// Hands the request to rmcp and waits for what comes of it.
    pub(super) async fn arrival(
        &mut self,
        peer: &Peer<RoleClient>,
        request: ClientRequest,
        options: PeerRequestOptions,
    ) -> Arrival {
        // Its response is empty: the answer comes by the tap.
        if peer.send_request_with_option(request, options).await.is_err() {
            return Err(TransportError::closed());
        }
        (&mut self.arrival).await.unwrap_or_else(|_| Err(TransportError::lost()))
    }

    /// Ends the request. One that failed is sealed first; then the seal says what the failure proves.
    pub(super) fn end(mut self, arrival: Arrival) -> Arrival {
        self.open = false;
        let error = match arrival {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let delivery = self.wire.give_up(&self.tap).delivery();
        // An answer that came before the request was given up stands.
        if let Ok(Ok(answer)) = self.arrival.try_recv() {
            return Ok(answer);
        }
        Err(match delivery {
            Delivery::Unsent => error.proven_unsent(),
            Delivery::Refused | Delivery::Unknown => error.in_doubt(),
        })
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.open {
            self.wire.give_up(&self.tap);
        }
    }
}
