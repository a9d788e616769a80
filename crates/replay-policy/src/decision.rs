use crate::Reason;

/// The answer of a policy.
///
/// Exhaustive: a further decision must stop callers from compiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a decision that nobody reads is a call that nobody gates"]
pub enum Decision {
    /// Go on. Before reconnecting: reconnect, list the tools again and ask again. Before
    /// replaying: send the call.
    Replay,
    /// Send nothing more for this invocation.
    Deny(Reason),
}
