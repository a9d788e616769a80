use std::sync::Arc;

use mcp_transport::Transport;

use crate::{Catalog, ConnectionId, DiscoveryError, DiscoveryErrorKind};

/// Somebody who watches over the flights of a discovery. Everything is synchronous and takes no lock of the
/// discovery's. Provided: nobody, who permits everything.
pub(crate) trait Oversight: Send + Sync {
    /// Asked directly before the server is started or reached; an error keeps that from happening. What
    /// was permitted ends with [`landed`](Self::landed).
    fn permit(&self) -> Result<(), DiscoveryErrorKind> {
        Ok(())
    }

    /// A connection was made. What is returned is used in its place.
    fn made(&self, transport: Arc<dyn Transport>) -> Arc<dyn Transport> {
        transport
    }

    /// This is the present catalog now.
    fn listed(&self, catalog: &Catalog) {
        let _ = catalog;
    }

    /// The present connection is of no use any more, and is about to be replaced.
    fn lost(&self, connection: ConnectionId) {
        let _ = connection;
    }

    /// A try came to nothing.
    fn failed(&self, error: &DiscoveryError) {
        let _ = error;
    }

    /// Whether another try may follow one that failed.
    fn permits_another(&self) -> bool {
        true
    }

    /// The flight that was permitted a start is over, however it ended.
    fn landed(&self) {}
}

/// Nobody watches.
pub(crate) struct Nobody;

impl Oversight for Nobody {}

/// Tells of the landing when it is dropped.
pub(crate) struct Landing<'a>(pub(crate) &'a dyn Oversight);

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        self.0.landed();
    }
}
