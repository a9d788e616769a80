use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use mcp_transport::{Connector, ServerIdentity, Transport, TransportError};
use tokio::time::timeout;

/// A connector with a bound for one that has none. What it gives up, it drops, which ends it.
pub(super) struct Bounded {
    pub(super) inner: Arc<dyn Connector>,
    pub(super) bound: Duration,
}

#[async_trait]
impl Connector for Bounded {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        let connected = timeout(self.bound, self.inner.connect()).await;
        connected.unwrap_or_else(|_| Err(TransportError::connect_timeout()))
    }

    fn identity(&self) -> ServerIdentity {
        self.inner.identity()
    }
}
