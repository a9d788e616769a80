use std::sync::Arc;

use async_trait::async_trait;
use mcp_discovery::ToolFilter;
use mcp_transport::{Connector, ServerIdentity, Transport, TransportError};
use tokio::sync::{Semaphore, watch};

use super::ServerEntry;

/// The place of one server in a set: reaches whichever entry stands there now, when it is the server's
/// turn to be started.
#[derive(Clone)]
pub(super) struct Slot {
    present: watch::Sender<Option<ServerEntry>>,
    starts: Arc<Semaphore>,
}

impl Slot {
    pub(super) fn new(entry: ServerEntry, starts: Arc<Semaphore>) -> Self {
        Self { present: watch::channel(Some(entry)).0, starts }
    }

    /// Puts another entry in the place; none takes the server out of it for good.
    pub(super) fn put(&self, entry: Option<ServerEntry>) {
        self.present.send_replace(entry);
    }

    /// Whether this entry reaches the same server in the same way.
    pub(super) fn reaches_as(&self, entry: &ServerEntry) -> bool {
        self.present.borrow().as_ref().is_some_and(|present| present.reaches_as(entry))
    }

    pub(super) fn filter(&self) -> ToolFilter {
        self.present.borrow().as_ref().map(|present| present.filter.clone()).unwrap_or_default()
    }
}

#[async_trait]
impl Connector for Slot {
    /// An edit ends this at once; whoever asked asks again. One that comes just too late for that is noticed by
    /// the discovery ([`SupervisedDiscovery::renew`](mcp_discovery::SupervisedDiscovery::renew)).
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        // The semaphore is never closed.
        let _turn = self.starts.acquire().await.map_err(TransportError::other)?;
        let mut present = self.present.subscribe();
        let connector = present.borrow_and_update().as_ref().map(|entry| Arc::clone(&entry.connector));
        let Some(connector) = connector else {
            return Err(TransportError::other("the server was removed"));
        };
        tokio::select! {
            biased;
            connected = connector.connect() => connected,
            // The sender is this slot's own.
            _ = present.changed() => Err(TransportError::connect("the server's entry was edited")),
        }
    }

    fn identity(&self) -> ServerIdentity {
        match &*self.present.borrow() {
            Some(entry) => entry.connector.identity(),
            None => ServerIdentity::of([("removed", "")]),
        }
    }
}
