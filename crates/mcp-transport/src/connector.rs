use std::{fmt, future::Future, sync::Arc};

use async_trait::async_trait;

use crate::{ServerIdentity, Transport, TransportError};

/// Knows how to reach one server, and reaches it once per call.
///
/// # Contract
///
/// - [`connect`](Self::connect) returns a connection whose handshake is complete, or an error after
///   everything that it started has been ended; dropping its future ends what it started, too.
/// - It has a bound of its own and never hangs. It does not retry: whoever asks does.
/// - [`identity`](Self::identity) is cheap and tells the present configuration.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Starts or reaches the server.
    ///
    /// # Errors
    ///
    /// Class `Connection` when trying again may help, `Other` when it cannot.
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError>;

    /// The fingerprint of what this reaches. Provided: unspecified.
    fn identity(&self) -> ServerIdentity {
        ServerIdentity::unspecified()
    }
}

macro_rules! forward_connector {
    ($pointer:ident) => {
        #[async_trait]
        impl<C: Connector + ?Sized> Connector for $pointer<C> {
            async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
                (**self).connect().await
            }
            fn identity(&self) -> ServerIdentity {
                (**self).identity()
            }
        }
    };
}

forward_connector!(Arc);
forward_connector!(Box);

/// A connector made by [`connector_fn`].
pub struct ConnectorFn<F> {
    connect: F,
    identity: ServerIdentity,
}

/// A connector from a closure that makes one connection each time it is called.
pub fn connector_fn<F, Fut>(connect: F) -> ConnectorFn<F>
where
    F: Fn() -> Fut + Send + Sync,
    Fut: Future<Output = Result<Arc<dyn Transport>, TransportError>> + Send,
{
    ConnectorFn { connect, identity: ServerIdentity::unspecified() }
}

impl<F> ConnectorFn<F> {
    /// Says what the closure reaches.
    #[must_use]
    pub fn with_identity(mut self, identity: ServerIdentity) -> Self {
        self.identity = identity;
        self
    }
}

#[async_trait]
impl<F, Fut> Connector for ConnectorFn<F>
where
    F: Fn() -> Fut + Send + Sync,
    Fut: Future<Output = Result<Arc<dyn Transport>, TransportError>> + Send,
{
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        (self.connect)().await
    }

    fn identity(&self) -> ServerIdentity {
        self.identity.clone()
    }
}

impl<F> fmt::Debug for ConnectorFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectorFn").field("identity", &self.identity).finish_non_exhaustive()
    }
}
