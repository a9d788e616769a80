use std::future::Future;

use crate::ModelCall;

/// Whoever sits in front of the host.
pub trait Person: Send + Sync + 'static {
    /// Whether this call may be made.
    fn confirm(&self, call: &ModelCall, why: &Why) -> impl Future<Output = bool> + Send;

    /// The call may have run and nobody knows. The person looks (at the file, the account, the calendar)
    /// and says what there is to see. The code says why there is no answer.
    fn look(&self, call: &ModelCall, code: &str) -> impl Future<Output = Finding> + Send;

    /// How far the call has come, in the server's own units.
    fn progress(&self, progress: f64, total: Option<f64>);
}

/// Why a call has to be confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The server, the workspace or both are not trusted.
    Untrusted,
    /// The very same call may have run before.
    InDoubt,
    /// The trust by which nobody was asked is gone. The call has not run.
    TrustWithdrawn,
    /// The tool is not the one that the model was shown; this is how the server defines it now. The call
    /// has not run.
    ToolChanged(String),
}

/// What a person saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    Ran,
    DidNotRun,
    CannotTell,
}
