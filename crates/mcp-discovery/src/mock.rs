use std::sync::Arc;

use async_trait::async_trait;

use crate::{Catalog, Discovery, DiscoveryError, Generation};

// `mock!` rather than `automock`: the provided methods are left out, so that their bodies run in mocks.
mockall::mock! {
    /// A mock of [`Discovery`].
    pub Discovery {}

    #[async_trait]
    impl Discovery for Discovery {
        async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError>;
        async fn rebuild(&self, stale: Generation) -> Result<Arc<Catalog>, DiscoveryError>;
        fn suspect(&self, generation: Generation);
    }
}
