//! mcp-transport alone: a transport and a decorator of our own.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use mcp_transport::{
    CallReply, CancellationToken, Connector, Cursor, ErrorClass, Events, Fence, ServerIdentity, ToolCall, ToolPage, Transport,
    TransportError,
    rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool},
};

/// What a server in this process does.
#[async_trait]
pub trait Tools: Send + Sync {
    /// Runs one call. None: it has gone.
    async fn run(&self, call: &ToolCall) -> Option<CallReply>;
}

/// One tool, which says its own name.
#[derive(Debug)]
pub struct Echo;

#[async_trait]
impl Tools for Echo {
    async fn run(&self, call: &ToolCall) -> Option<CallReply> {
        Some(CallToolResult::success(vec![ContentBlock::text(call.name())]).into())
    }
}

/// A server in this process. Calling it is sending; what it did before it was left is in doubt.
#[derive(Debug)]
pub struct InProcess<T> {
    tools: T,
    closed: CancellationToken,
}

impl<T> InProcess<T> {
    /// A connection to these tools.
    pub fn new(tools: T) -> Self {
        Self { tools, closed: CancellationToken::new() }
    }
}

#[async_trait]
impl<T: Tools> Transport for InProcess<T> {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let open = async { if self.is_closed() { Err(TransportError::closed()) } else { Ok(()) } };
        call.attempt(open, |call, ()| async move {
            let reply = self.closed.run_until_cancelled(self.tools.run(&call)).await;
            reply.flatten().ok_or_else(TransportError::lost)
        })
        .await
    }

    async fn list_tools(&self, _: Option<Cursor>) -> Result<ToolPage, TransportError> {
        if self.is_closed() {
            return Err(TransportError::closed());
        }
        Ok(ToolPage::of([Tool::new("echo", "says its name", JsonObject::new())]))
    }

    fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    async fn close(&self) -> Fence {
        self.closed.cancel();
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

    async fn retire(&self) -> Fence {
        self.inner.retire().await
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
    use mcp_transport::{
        Delivery, MockConnector, MockTransport, ScriptedTransport,
        contract::{self, Behaviour, Bench, FarEnd, Unsupported},
    };

    use super::*;

    /// The contract suite's far end is tools of this process, too.
    #[async_trait]
    impl Tools for FarEnd {
        async fn run(&self, call: &ToolCall) -> Option<CallReply> {
            if !self.may_take().await || call.may_send().is_err() {
                return None;
            }
            let taken = self.received(call.name(), call.arguments().map(AsRef::as_ref));
            taken.reply().await
        }
    }

    struct Ours;

    #[async_trait]
    impl Bench for Ours {
        async fn connect(&self, far_end: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
            match far_end.behaviour() {
                Behaviour::AnswersNobodyFirst => Err(Unsupported),
                _ => Ok(Arc::new(Counted::new(InProcess::new(far_end), Arc::default()))),
            }
        }
    }

    #[tokio::test]
    async fn our_transport_and_our_decorator_keep_the_contract() {
        let report = contract::check(Ours).await;
        assert_eq!(report.skipped(), [Behaviour::AnswersNobodyFirst]);
    }

    #[tokio::test]
    async fn our_transport_answers_and_keeps_the_bounds_of_the_call() {
        let transport = InProcess::new(Echo);
        assert!(transport.call_tool(ToolCall::new("echo")).await.is_ok());
        let token = CancellationToken::new();
        token.cancel();
        let cancelled = ToolCall::new("echo").with_cancellation(token);
        let error = transport.call_tool(cancelled).await.unwrap_err();
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
