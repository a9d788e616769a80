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

    /// Follows a request no longer, whose answer was found.
    fn answered(&self, _tap: &Tap) {}

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
            Ok(answer) => {
                self.carrier.answered(&self.tap);
                return Ok(answer);
            }
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

#[cfg(all(test, feature = "http"))]
mod tests {
    use std::{io, time::Duration};

    use rmcp::{
        model::{ClientConfig, ClientJsonRpcMessage, PingRequest, RequestId},
        service::{RunningService, RxJsonRpcMessage, TxJsonRpcMessage, serve_directly},
        transport::Transport,
    };
    use tokio::{sync::mpsc, time::timeout};

    use super::*;
    use crate::request::{Requests, nothing_for};

    /// Answers each request with nothing, or fails to send it.
    struct FarEnd {
        answers: bool,
        ids: (mpsc::UnboundedSender<RequestId>, mpsc::UnboundedReceiver<RequestId>),
    }

    impl Transport<RoleClient> for FarEnd {
        type Error = io::Error;

        fn send(
            &mut self,
            message: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = io::Result<()>> + Send + 'static {
            if let (ClientJsonRpcMessage::Request(request), true) = (message, self.answers) {
                self.ids.0.send(request.id).unwrap();
            }
            std::future::ready(if self.answers { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) })
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            self.ids.1.recv().await.map(nothing_for)
        }

        async fn close(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Carrier for Requests {
        fn open(
            &self,
            call: Option<ToolCall>,
        ) -> Result<(Arc<Tap>, oneshot::Receiver<Arrival>), TransportError> {
            Self::open(self, call)
        }

        fn give_up(&self, tap: &Arc<Tap>) -> Extent {
            self.forget(tap);
            tap.seal()
        }

        fn questions(&self) -> &Questions {
            Self::questions(self)
        }
    }

    fn service(answers: bool) -> RunningService<RoleClient, ClientConfig> {
        let far_end = FarEnd { answers, ids: mpsc::unbounded_channel() };
        serve_directly(ClientConfig::default(), far_end, None)
    }

    async fn arrival(under_way: &mut UnderWay<'_, Requests>, peer: &Peer<RoleClient>) -> Option<Arrival> {
        let request = ClientRequest::PingRequest(PingRequest::default());
        let arrival = under_way.arrival(peer, request, PeerRequestOptions::no_options());
        timeout(Duration::from_secs(1), arrival).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_rmcp_failed_to_send_has_ended_though_nothing_else_tells() {
        let (service, requests) = (service(false), Requests::default());
        let mut under_way = UnderWay::begin(&requests, None).unwrap();
        let arrival = arrival(&mut under_way, service.peer()).await.expect("it ends");
        assert!(arrival.is_err_and(|error| error.kind() == ErrorKind::Lost));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_come_is_found_when_rmcp_is_done() {
        let (service, requests) = (service(true), Requests::default());
        let mut under_way = UnderWay::begin(&requests, None).unwrap();
        under_way.tap().arrive_with_rmcp(Err(TransportError::reply_too_large()));
        let arrival = arrival(&mut under_way, service.peer()).await.expect("it ends");
        assert!(arrival.is_err_and(|error| error.kind() == ErrorKind::ReplyTooLarge));
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_answer_alone_ends_nothing_and_what_comes_later_is_told() {
        let (service, requests) = (service(true), Requests::default());
        let mut under_way = UnderWay::begin(&requests, None).unwrap();
        let tap = under_way.tap();
        let later = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            tap.arrive_with_rmcp(Err(TransportError::reply_too_large()));
        };
        let (arrival, ()) = tokio::join!(arrival(&mut under_way, service.peer()), later);
        assert!(arrival.expect("it ends").is_err_and(|error| error.kind() == ErrorKind::ReplyTooLarge));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_come_stands_though_rmcp_is_not_done_when_the_wait_ends() {
        let requests = Requests::default();
        let under_way = UnderWay::begin(&requests, None).unwrap();
        let answer = serde_json::value::RawValue::from_string("{}".to_owned()).unwrap();
        under_way.tap().arrive_with_rmcp(Ok(crate::request::Answer::Result(answer)));
        assert!(under_way.end(Err(TransportError::deadline())).is_ok());
    }
}
