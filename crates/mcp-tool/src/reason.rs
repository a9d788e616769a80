use std::fmt;

use mcp_transport::ErrorKind;

/// Why an invocation ended without an answer.
///
/// Each reason has a stable [`code`](Self::code) without content; docs/errors.md says what each means
/// and what to do.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The connection was lost and the policy refused to go on, for this reason.
    Denied(replay_policy::Reason),
    /// The server lists no tool of this name.
    UnknownTool,
    /// The tool is not the one that the caller saw.
    ToolChanged,
    /// The tool was there before the connection was lost and is not there any more.
    ToolVanished,
    /// The server behind this name is not the one that the invocation began with.
    ServerChanged,
    /// Trust was withdrawn before the first byte of a further attempt.
    TrustWithdrawn,
    /// The server could not be reached or did not list its tools.
    Unavailable,
    /// The caller cancelled.
    Cancelled,
    /// The call's future was dropped.
    Dropped,
    /// The deadline over all attempts passed.
    Deadline,
    /// Neither an answer nor progress came in time.
    IdleTimeout,
    /// No policy may try more often.
    AttemptLimit,
    /// The server had all the replays that it gets for now.
    RetryBudget,
    /// The call continues one that asked for input. It may have been received, and is never sent again.
    Continuation,
    /// The server does not know the task any more that it made of the call.
    TaskForgotten,
    /// The task that the server made of the call was cancelled.
    TaskCancelled,
    /// The attempt failed in another way.
    Transport(ErrorKind),
}

impl Reason {
    /// The stable snake_case code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Denied(reason) => reason.code(),
            Self::UnknownTool => "unknown_tool",
            Self::ToolChanged => "tool_changed",
            Self::ToolVanished => "tool_vanished",
            Self::ServerChanged => "server_changed",
            Self::TrustWithdrawn => "trust_withdrawn",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
            Self::Dropped => "dropped",
            Self::Deadline => "deadline",
            Self::IdleTimeout => "idle_timeout",
            Self::AttemptLimit => "attempt_limit",
            Self::RetryBudget => "retry_budget",
            Self::Continuation => "continuation",
            Self::TaskForgotten => "task_forgotten",
            Self::TaskCancelled => "task_cancelled",
            Self::Transport(kind) => kind.code(),
        }
    }

    /// The reason that an attempt's error stands for, where the error is not one of the connection.
    pub(crate) fn of_kind(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Cancelled => Self::Cancelled,
            ErrorKind::Deadline => Self::Deadline,
            ErrorKind::IdleTimeout => Self::IdleTimeout,
            ErrorKind::Withdrawn => Self::TrustWithdrawn,
            kind => Self::Transport(kind),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
