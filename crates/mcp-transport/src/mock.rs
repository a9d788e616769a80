use std::sync::Arc;

use async_trait::async_trait;

use crate::{CallReply, Connector, Cursor, Fence, ToolCall, ToolPage, Transport, TransportError};

// `mock!` rather than `automock`: the provided methods are left out, so that their bodies run in mocks.
mockall::mock! {
    /// A mock of [`Transport`] for call counts and arguments. For sequences and for calls that stay
    /// pending, see [`ScriptedTransport`](crate::ScriptedTransport).
    pub Transport {}

    #[async_trait]
    impl Transport for Transport {
        async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError>;
        async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError>;
        fn is_closed(&self) -> bool;
        async fn close(&self) -> Fence;
    }
}

mockall::mock! {
    /// A mock of [`Connector`].
    pub Connector {}

    #[async_trait]
    impl Connector for Connector {
        async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError>;
    }
}
