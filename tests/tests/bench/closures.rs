//! A host's own way to reach a server: closures, over one of this project's connections.

use std::sync::Arc;

use mcp_tool::{
    Connector, Transport, TransportError, connector_fn,
    mcp_transport::{ServerIdentity, callable},
};

/// `start` makes the connection behind the closures.
pub(crate) fn through_closures<T, F, Fut>(identity: ServerIdentity, start: F) -> impl Connector
where
    T: Transport + 'static,
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Arc<T>, TransportError>> + Send + 'static,
{
    let connect = move || {
        let starting = start();
        async move {
            let inner = starting.await?;
            let lister = inner.clone();
            let call = move |call| {
                let inner = inner.clone();
                async move { inner.call_tool(call).await }
            };
            let list = move |cursor| {
                let lister = lister.clone();
                async move { lister.list_tools(cursor).await }
            };
            Ok::<_, TransportError>(Arc::new(callable(call, list)) as Arc<dyn Transport>)
        }
    };
    connector_fn(connect).with_identity(identity)
}
