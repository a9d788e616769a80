//! mcp-transport alone: a transport and a decorator of our own.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use mcp_transport::{
    CallReply, Connector, Cursor, ErrorClass, Events, Fence, ServerIdentity, ToolCall, ToolPage, Transport,
    TransportError,
    rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool},
};

/// A server in this process: one tool, which says its own name.
#[derive(Debug)]
pub struct Echo;

#[async_trait]
impl Transport for Echo {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let nothing_to_wait_for = async { Ok(()) };
        call.attempt(nothing_to_wait_for, |call, ()| async move {
            Ok(CallToolResult::success(vec![ContentBlock::text(call.name())]).into())
        })
        .await
    }

    async fn list_tools(&self, _: Option<Cursor>) -> Result<ToolPage, TransportError> {
        Ok(ToolPage::of([Tool::new("echo", "says its name", JsonObject::new())]))
    }

    fn is_closed(&self) -> bool {
        false
    }

    async fn close(&self) -> Fence {
        Fence::None
    }
}

/// Counts the calls over whatever a connector returns.
#[derive(Debug)]
pub struct Counted<T> {
    inner: T,
    calls: Arc<AtomicUsize>,
}

impl<T> Counted<T> {
    /// A decorator that adds to this count.
    pub fn new(inner: T, calls: Arc<AtomicUsize>) -> Self {
        Self { inner, calls }
    }
}

#[async_trait]
impl<T: Transport> Transport for Counted<T> {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.inner.call_tool(call).await
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        self.inner.list_tools(cursor).await
    }

    fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    async fn close(&self) -> Fence {
        self.inner.close().await
    }

    fn classify(&self, error: &TransportError) -> ErrorClass {
        self.inner.classify(error)
    }

    async fn probe(&self) -> Result<(), TransportError> {
        self.inner.probe().await
    }

    fn events(&self) -> Events {
        self.inner.events()
    }
}

#[async_trait]
impl<C: Connector> Connector for Counted<C> {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        Ok(Arc::new(Counted::new(self.inner.connect().await?, self.calls.clone())))
    }

    fn identity(&self) -> ServerIdentity {
        self.inner.identity()
    }
}

#[cfg(test)]
mod tests {
    use mcp_transport::{CancellationToken, Delivery, MockConnector, MockTransport, ScriptedTransport};

    use super::*;

    #[tokio::test]
    async fn our_transport_answers_and_keeps_the_bounds_of_the_call() {
        assert!(Echo.call_tool(ToolCall::new("echo")).await.is_ok());
        let token = CancellationToken::new();
        token.cancel();
        let cancelled = ToolCall::new("echo").with_cancellation(token);
        let error = Echo.call_tool(cancelled).await.unwrap_err();
        assert_eq!((error.class(), error.delivery()), (ErrorClass::Abort, Delivery::Unsent));
    }

    #[tokio::test]
    async fn our_decorator_fits_over_what_a_connector_returns() {
        let mut inner = MockTransport::new();
        inner.expect_call_tool().times(2).returning(|_| Err(TransportError::lost()));
        let inner: Arc<dyn Transport> = Arc::new(inner);
        let mut connector = MockConnector::new();
        connector.expect_connect().times(1).return_once(move || Ok(inner));

        let calls = Arc::<AtomicUsize>::default();
        let connection = Counted::new(connector, calls.clone()).connect().await.unwrap();
        for _ in 0..2 {
            assert!(connection.call_tool(ToolCall::new("put")).await.is_err());
        }
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn our_decorator_hides_nothing_of_a_connection_that_ends() {
        let connection = Counted::new(ScriptedTransport::new().lose(), Arc::default());
        let mut events = connection.events();
        connection.call_tool(ToolCall::new("put")).await.unwrap_err();
        assert!(connection.is_closed());
        assert_eq!(events.next().await, mcp_transport::Event::Closed);
    }
}
