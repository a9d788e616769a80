use std::process::ExitCode;

/// How the command ends. Scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Exit {
    /// Completed.
    Completed = 0,
    /// Completed, and the answer is an error; for commands that ask a question: no.
    ErrorAnswer = 1,
    /// Usage or configuration.
    Problem = 2,
    /// Not executed: safe to run again.
    NotExecuted = 3,
    /// Outcome unknown: verify before running again.
    Unknown = 4,
    /// Cancelled.
    Cancelled = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
