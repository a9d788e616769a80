use std::{fmt, sync::Arc};

/// A synchronous check that is made immediately before the first byte of a request may leave.
///
/// A call can wait in queues; what was allowed when it was handed over may be forbidden when its turn
/// comes. The guard closes that gap: our transports evaluate it under the lock that also seals the
/// request, so nothing goes out on a permission that is gone. A guard that says no is proof of unsent.
///
/// # Contract
///
/// - It is called with internal locks held: it must be quick, must not block and must not call back
///   into the transport or the client.
/// - It may be called more than once for one attempt; only the last answer before the first byte counts.
#[derive(Clone)]
pub struct Guard(Arc<dyn Fn() -> Result<(), Withdrawn> + Send + Sync>);

/// The guard's no: the permission to send is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withdrawn;

impl Guard {
    /// A guard from a closure.
    pub fn new(check: impl Fn() -> Result<(), Withdrawn> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Asks.
    ///
    /// # Errors
    ///
    /// [`Withdrawn`] when the request must not be sent any more.
    pub fn check(&self) -> Result<(), Withdrawn> {
        (self.0)()
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}
