use std::sync::Arc;

use async_trait::async_trait;

use crate::{Catalog, DiscoveryError, Generation};

/// Knows which tools one server has now, and over which connection they are reached.
///
/// # Contract
///
/// An implementor must
/// - never give a partial list: a catalog is one complete listing over one connection, not from a cache;
/// - number catalogs so that a later listing has a higher [`Generation`];
/// - connect at most once at a time, and let all who wait share it;
/// - tear down a connection only on evidence of its own: an old generation that is reported again and
///   again never costs the newer connection;
/// - bound every wait, and end what it started when the last waiter has left: dropping a future of
///   [`catalog`](Self::catalog) or [`rebuild`](Self::rebuild) ends that wait and no other.
///
/// A caller may assume that a catalog stays usable for as long as it is held (a call over a connection
/// that has ended fails, proven unsent), and that all methods can be called concurrently.
#[async_trait]
pub trait Discovery: Send + Sync {
    /// The present catalog. Connects and lists when there is none or its connection has ended, and
    /// lists again first when it is [suspect](Self::suspect).
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or its tools cannot be listed.
    async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError>;

    /// A catalog from a listing whose first request left after this was called, for a caller who lost a
    /// call on generation `stale`.
    ///
    /// The present connection is used where it still answers. Where it does not, it is closed (which
    /// fences what it can) before the next one is made, and the catalog says so in
    /// [`predecessor_fence`](Catalog::predecessor_fence).
    ///
    /// # Errors
    ///
    /// As [`catalog`](Self::catalog).
    async fn rebuild(&self, stale: Generation) -> Result<Arc<Catalog>, DiscoveryError>;

    /// Says that something is wrong with this generation, so that the next
    /// [`catalog`](Self::catalog) lists again. Synchronous, idempotent, waits for nothing, and ignored for
    /// any but the present generation.
    fn suspect(&self, generation: Generation);

    /// Says that a call over this generation ended without an answer and without an error of its
    /// connection: it timed out. Provided: nothing, since a slow tool is no fault of the connection. A
    /// discovery that watches over its server overrides it and looks whether the server still answers.
    /// Synchronous, idempotent, waits for nothing.
    fn doubt(&self, generation: Generation) {
        let _ = generation;
    }
}

macro_rules! forward_discovery {
    ($pointer:ident) => {
        #[async_trait]
        impl<D: Discovery + ?Sized> Discovery for $pointer<D> {
            async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError> {
                (**self).catalog().await
            }
            async fn rebuild(&self, stale: Generation) -> Result<Arc<Catalog>, DiscoveryError> {
                (**self).rebuild(stale).await
            }
            fn suspect(&self, generation: Generation) {
                (**self).suspect(generation);
            }
            fn doubt(&self, generation: Generation) {
                (**self).doubt(generation);
            }
        }
    };
}

forward_discovery!(Arc);
forward_discovery!(Box);
