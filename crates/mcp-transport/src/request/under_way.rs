use std::sync::Arc;

use rmcp::{
    model::ClientRequest,
    service::{Peer, PeerRequestOptions, RoleClient},
};
use tokio::sync::oneshot;

use super::{Arrival, Extent, Questions, Tap};
use crate::{Delivery, ErrorKind, ToolCall, TransportError};

/// What carries requests to one server.
pub(crate) trait Carrier {
    /// Begins to follow a request, before rmcp is asked to send it.
    fn open(&self, call: Option<ToolCall>) -> Result<(Arc<Tap>, oneshot::Receiver<Arrival>), TransportError>;

    /// Gives a request up: nothing more of it is sent, the server is told if it can have read it, and
    /// rmcp forgets it. Returns how much of it had left.
    fn give_up(&self, tap: &Arc<Tap>) -> Extent;

    /// What the server asks meanwhile.
    fn questions(&self) -> &Questions;
}

/// A request under way. However its future ends, the request is either answered or given up.
pub(crate) struct UnderWay<'a, C: Carrier> {
    carrier: &'a C,
    tap: Arc<Tap>,
    arrival: oneshot::Receiver<Arrival>,
    open: bool,
}

impl<'a, C: Carrier> UnderWay<'a, C> {
    /// Begins to follow a request, before rmcp is asked to send it.
    pub(crate) fn begin(carrier: &'a C, call: Option<ToolCall>) -> Result<Self, TransportError> {
        let (tap, arrival) = carrier.open(call)?;
        Ok(Self { carrier, tap, arrival, open: true })
    }

    /// Goes into the extensions of the request.
    pub(crate) fn tap(&self) -> Arc<Tap> {
        self.tap.clone()
    }

    /// Hands the request to rmcp and waits for what comes of it.
    pub(crate) fn arrival(
        &mut self,
        peer: &Peer<RoleClient>,
        request: ClientRequest,
        options: PeerRequestOptions,
    ) -> impl Future<Output = Arrival> {
        // Apart, since it is large and soon over: the room for it is not kept while the answer is waited for.
        let sending = Box::pin(peer.send_request_with_option(request, options));
        async move {
            let response = match sending.await {
                Ok(handle) => handle.rx,
                Err(_) => return Err(TransportError::closed()),
            };
            // rmcp's own response is empty, or answers some other request: what counts is its failure, and
            // that what came may be found by now.
            let (tap, lost) = (&self.tap, || Err(TransportError::lost()));
            let done = async {
                let has_failed = !matches!(response.await, Ok(Ok(_)));
                match tap.found() {
                    None if !has_failed => std::future::pending().await,
                    found => found,
                }
            };
            tokio::select! {
                biased;
                arrival = &mut self.arrival => arrival.unwrap_or_else(|_| lost()),
                found = done => found.or_else(|| self.arrival.try_recv().ok()).unwrap_or_else(lost),
            }
        }
    }

    /// Ends the request. One that failed is sealed first; then the seal says what the failure proves.
    pub(crate) fn end(mut self, arrival: Arrival) -> Arrival {
        self.open = false;
        let error = match arrival {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let sealed = self.carrier.give_up(&self.tap).delivery();
        // An answer that came before the request was given up stands.
        if let Some(Ok(answer)) = self.tap.found().or_else(|| self.arrival.try_recv().ok()) {
            return Ok(answer);
        }
        let waited = matches!(error.kind(), ErrorKind::Deadline | ErrorKind::IdleTimeout);
        let error = match waited && self.tap.has_strayed() {
            true => TransportError::invalid_reply("the only answer that came has an id of no request"),
            false => error,
        };
        Err(match (sealed, error.delivery()) {
            (Delivery::Unsent, _) => error.proven_unsent(),
            (_, Delivery::Refused) => error,
            (_, Delivery::Unsent | Delivery::Unknown) => error.in_doubt(),
        })
    }
}

impl<C: Carrier> Drop for UnderWay<'_, C> {
    fn drop(&mut self) {
        if self.open {
            self.carrier.give_up(&self.tap);
        }
    }
}
