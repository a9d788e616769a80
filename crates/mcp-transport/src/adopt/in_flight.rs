use std::{future::Future, io, pin::Pin, time::Duration};

use rmcp::{
    ServiceError,
    model::{ErrorData, RequestId, ServerResult},
};
use tokio::time::sleep;

use super::AdoptedService;
use crate::TransportError;

/// How often a waiting call looks whether rmcp's service has ended under it.
const LOOK: Duration = Duration::from_millis(250);

pub(super) type Response = Pin<Box<dyn Future<Output = Result<ServerResult, ServiceError>> + Send>>;
/// A JSON-RPC error is an answer, too.
pub(super) type Answered = Result<ServerResult, ErrorData>;

/// A request that rmcp has taken. Dropped without its answer, it is given up.
pub(super) struct InFlight<'a> {
    service: &'a AdoptedService,
    id: RequestId,
    response: Option<Response>,
}

impl<'a> InFlight<'a> {
    pub(super) fn new(service: &'a AdoptedService, id: RequestId, response: Response) -> Self {
        Self { service, id, response: Some(response) }
    }

    /// Waits for the answer, or for the end of the connection.
    pub(super) async fn answered(&mut self) -> Result<Answered, TransportError> {
        let mut had_ended = false;
        loop {
            let Some(response) = &mut self.response else {
                return Err(TransportError::lost());
            };
            tokio::select! {
                biased;
                response = response => {
                    self.response = None;
                    return answered(response);
                }
                () = self.service.closed.cancelled() => return Err(TransportError::lost()),
                () = sleep(LOOK) => {}
            }
            // A request that enters the queue while the service ends is never answered, nor refused.
            let has_ended = self.service.peer.is_transport_closed();
            if has_ended && had_ended {
                return Err(TransportError::lost());
            }
            had_ended = has_ended;
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some(response) = self.response.take() {
            self.service.tell_cancelled(self.id.clone());
            self.service.let_go(response);
        }
    }
}

fn answered(response: Result<ServerResult, ServiceError>) -> Result<Answered, TransportError> {
    Err(match response {
        Ok(result) => return Ok(Ok(result)),
        Err(ServiceError::McpError(error)) => return Ok(Err(error)),
        Err(ServiceError::TransportClosed) => TransportError::lost(),
        Err(ServiceError::TransportSend(error)) if has_io_error(&*error.error) => {
            TransportError::connection(error)
        }
        Err(ServiceError::Timeout { .. }) => TransportError::idle_timeout(),
        Err(ServiceError::Cancelled { .. }) => TransportError::cancelled(),
        Err(ServiceError::UnexpectedResponse) => {
            TransportError::invalid_reply(ServiceError::UnexpectedResponse)
        }
        Err(error) => TransportError::other(error),
    })
}

/// By type, through the causes: the text of an error says nothing that can be relied on.
fn has_io_error(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| cause.is::<io::Error>())
}

#[cfg(test)]
mod tests {
    use std::{
        any::TypeId,
        future::{pending, ready},
    };

    use rmcp::{
        model::ClientConfig,
        service::{RxJsonRpcMessage, TxJsonRpcMessage, serve_directly},
        transport::{DynamicTransportError, Transport},
    };

    use super::*;
    use crate::{Delivery, ErrorClass};

    /// Ends at once.
    struct Gone;

    impl Transport<rmcp::RoleClient> for Gone {
        type Error = io::Error;

        fn send(
            &mut self,
            _: TxJsonRpcMessage<rmcp::RoleClient>,
        ) -> impl Future<Output = io::Result<()>> + Send + 'static {
            ready(Err(io::ErrorKind::NotConnected.into()))
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<rmcp::RoleClient>> {
            None
        }

        async fn close(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_rmcp_has_lost_ends_with_the_service() {
        let service = serve_directly(ClientConfig::default(), Gone, None);
        let service = AdoptedService::new(service);
        let mut in_flight = InFlight::new(&service, RequestId::Number(7), Box::pin(pending()));
        let answered = tokio::time::timeout(LOOK * 4, in_flight.answered()).await;
        let error = answered.expect("it is noticed").unwrap_err();
        assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_was_given_up_is_waited_for_briefly_elsewhere() {
        let service = AdoptedService::new(serve_directly(ClientConfig::default(), Gone, None));
        let kept = || service.leaving.lock().unwrap().len();
        drop(InFlight::new(&service, RequestId::Number(7), Box::pin(pending())));
        drop(InFlight::new(
            &service,
            RequestId::Number(8),
            Box::pin(ready(Err(ServiceError::TransportClosed))),
        ));
        assert_eq!(kept(), 2);
        sleep(LOOK).await;
        drop(InFlight::new(&service, RequestId::Number(9), Box::pin(pending())));
        assert_eq!(kept(), 2, "the one that came is gone");
        let mut leaving = std::mem::take(&mut *service.leaving.lock().unwrap());
        while let Some(left) = leaving.join_next().await {
            left.unwrap();
        }
    }

    #[test]
    fn a_failed_send_is_a_lost_connection_only_by_the_type_of_a_cause() {
        #[derive(Debug)]
        struct Caused(Option<io::Error>);
        impl std::fmt::Display for Caused {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("broken pipe, connection reset")
            }
        }
        impl std::error::Error for Caused {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                self.0.as_ref().map(|error| error as _)
            }
        }
        let sent = |error| {
            let error = DynamicTransportError::from_parts("by hand", TypeId::of::<Gone>(), error);
            let error = answered(Err(ServiceError::TransportSend(error))).unwrap_err();
            (error.class(), error.delivery())
        };
        let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(sent(Box::new(reset())), (ErrorClass::Connection, Delivery::Unknown));
        assert_eq!(sent(Box::new(Caused(Some(reset())))), (ErrorClass::Connection, Delivery::Unknown));
        assert_eq!(sent(Box::new(Caused(None))), (ErrorClass::Other, Delivery::Unknown));
    }

    #[test]
    fn what_rmcp_tells_has_a_class_each_and_never_proves_anything() {
        let second = Duration::from_secs(1);
        for (error, class, kind) in [
            (ServiceError::TransportClosed, ErrorClass::Connection, "connection_lost"),
            (ServiceError::Timeout { timeout: second }, ErrorClass::Other, "idle_timeout"),
            (ServiceError::Cancelled { reason: None }, ErrorClass::Abort, "cancelled"),
            (ServiceError::UnexpectedResponse, ErrorClass::Other, "invalid_reply"),
            (ServiceError::SubscriptionLagged { capacity: 1 }, ErrorClass::Other, "transport_error"),
        ] {
            let error = answered(Err(error)).unwrap_err();
            assert_eq!((error.class(), error.kind().code()), (class, kind));
            assert_eq!(error.delivery(), Delivery::Unknown);
        }
        let error = ErrorData::internal_error("connection lost", None);
        assert!(matches!(answered(Err(ServiceError::McpError(error))), Ok(Err(_))));
    }
}
