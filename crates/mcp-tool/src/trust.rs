use std::fmt;

use mcp_transport::ServerIdentity;
use replay_policy::Trust;

/// Tells whether a server and the workspace are trusted, now.
///
/// # Contract
///
/// - It is read live: when an invocation begins, at each of the two checkpoints, and by the guard directly
///   before the first byte of a further attempt, with internal locks held. It must be quick, must not
///   block and must not call back into the client.
/// - It fails closed: what is not known is untrusted.
/// - Trust belongs to the server's identity (its command, its URL), not to the name it goes by.
pub trait TrustSource: Send + Sync {
    /// The trust in the server of this name and identity, and in the present workspace.
    fn trust(&self, server: &str, identity: &ServerIdentity) -> Trust;
}

/// A fixed answer.
impl TrustSource for Trust {
    fn trust(&self, _: &str, _: &ServerIdentity) -> Trust {
        *self
    }
}

/// A source made by [`trust_fn`].
pub struct TrustFn<F>(F);

/// A source from a closure.
pub fn trust_fn<F>(trust: F) -> TrustFn<F>
where
    F: Fn(&str, &ServerIdentity) -> Trust + Send + Sync,
{
    TrustFn(trust)
}

impl<F> TrustSource for TrustFn<F>
where
    F: Fn(&str, &ServerIdentity) -> Trust + Send + Sync,
{
    fn trust(&self, server: &str, identity: &ServerIdentity) -> Trust {
        (self.0)(server, identity)
    }
}

impl<T: TrustSource + ?Sized> TrustSource for std::sync::Arc<T> {
    fn trust(&self, server: &str, identity: &ServerIdentity) -> Trust {
        (**self).trust(server, identity)
    }
}

impl<F> fmt::Debug for TrustFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrustFn")
    }
}
