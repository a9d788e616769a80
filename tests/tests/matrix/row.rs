//! What goes wrong in a row, and which rows there are.

use crate::axes::{self, Hints, Trust};

pub(crate) type Row = axes::Row<Fault>;

/// What goes wrong with the first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Nothing,
    /// Stops reading, and dies once the call is under way.
    DieBeforeReading,
    /// Reads the beginning of the call and dies.
    DieWhileReading,
    DieBeforeCommit,
    DieAfterCommit,
    /// After the side effect, and lives on.
    CloseStdout,
    HalfALine,
    NoNewline,
    /// Until a deadline.
    Hang,
    /// After the deadline; then there is a second call, which the server answers with an error.
    LateAnswer,
    /// An application error with the wording of a lost connection.
    ErrorLikeALoss,
    /// The same as a result with `isError`.
    ResultLikeALoss,
    /// 20 MiB, over every limit.
    ReplyOverTheLimit,
    /// 11 MiB.
    LargeReply,
    FloodedStderr,
    /// Before the answer.
    Garbage,
    WrongId,
    NoToolResult,
    /// Before the call, while nothing was under way.
    DiedIdle,
    /// Before the call, and lives on.
    CloseStdin,
    /// Lives on, with both pipes open; the call fits into the pipe.
    StopReading,
    /// The same, and the call does not fit into the pipe.
    StopReadingLongCall,
    /// Dies after every commit, on every start.
    DieEveryTime,
    /// Dies after the commit and does not start again.
    NeverStartsAgain,
    /// The last ones die after the commit, and come back changed.
    AnnotationsLost,
    SchemaChanged,
    ToolVanished,
    ServerTrustWithdrawn,
    WorkspaceTrustWithdrawn,
    /// Like `CloseStdin`, and trust is gone when the server is back.
    UnsentAndTrustWithdrawn,
    /// Like `CloseStdin`, and the tool's description is another when the server is back.
    UnsentAndToolChanged,
}

impl Fault {
    pub(crate) const LOST: [Self; 8] = [
        Self::DieBeforeReading,
        Self::DieWhileReading,
        Self::DieBeforeCommit,
        Self::DieAfterCommit,
        Self::CloseStdout,
        Self::HalfALine,
        Self::DieEveryTime,
        Self::NeverStartsAgain,
    ];
    pub(crate) const CHANGED_BY_RESTART: [Self; 5] = [
        Self::AnnotationsLost,
        Self::SchemaChanged,
        Self::ToolVanished,
        Self::ServerTrustWithdrawn,
        Self::WorkspaceTrustWithdrawn,
    ];
    pub(crate) const NEVER_LEFT: [Self; 4] =
        [Self::DiedIdle, Self::CloseStdin, Self::UnsentAndTrustWithdrawn, Self::UnsentAndToolChanged];
    pub(crate) const ANSWERED: [Self; 7] = [
        Self::Nothing,
        Self::NoNewline,
        Self::ErrorLikeALoss,
        Self::ResultLikeALoss,
        Self::FloodedStderr,
        Self::Garbage,
        Self::NoToolResult,
    ];
    pub(crate) const OUT_OF_TIME: [Self; 5] =
        [Self::Hang, Self::LateAnswer, Self::WrongId, Self::StopReading, Self::StopReadingLongCall];
    pub(crate) const LARGE: [Self; 2] = [Self::ReplyOverTheLimit, Self::LargeReply];
    pub(crate) const BOTH_ERAS: [Self; 13] = [
        Self::Nothing,
        Self::DieBeforeReading,
        Self::DieAfterCommit,
        Self::CloseStdout,
        Self::NoNewline,
        Self::ErrorLikeALoss,
        Self::Garbage,
        Self::NoToolResult,
        Self::DiedIdle,
        Self::CloseStdin,
        Self::LateAnswer,
        Self::AnnotationsLost,
        Self::WorkspaceTrustWithdrawn,
    ];
}

impl Hints {
    /// One that lets pass, one that does not.
    pub(crate) const TELLING: [Self; 2] = [Self::Idempotent, Self::None];
}

impl Trust {
    pub(crate) const TELLING: [Self; 2] = [Self::Both, Self::Nobody];
}
