//! The facts of one row: what goes wrong, what the server declares, who is trusted, which way the call takes.

use std::{fmt, path::Path as File};

use mcp_tool_cli::fault_server::{self as server, Scenario, Startup, Stray, ToolSpec, When};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) fault: Fault,
    pub(crate) hints: Hints,
    pub(crate) trust: Trust,
    pub(crate) path: Path,
    pub(crate) era: Era,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, hints, trust, path, era } = self;
        write!(f, "{fault:?}-{hints:?}-{trust:?}-{path:?}-{era:?}")
    }
}

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

    /// The name under which the ledger has it, where it is the server's doing.
    pub(crate) fn in_ledger(self) -> Option<&'static str> {
        Some(match self {
            Self::Nothing | Self::DiedIdle => return None,
            Self::DieBeforeReading => "die_unread",
            Self::DieWhileReading => "die_mid_read",
            Self::DieBeforeCommit => "die_before_commit",
            Self::CloseStdout => "close_stdout",
            Self::HalfALine => "die_mid_answer",
            Self::NoNewline => "die_before_newline",
            Self::Hang => "hang",
            Self::LateAnswer => "answer_late",
            Self::ErrorLikeALoss => "answer_error",
            Self::ResultLikeALoss => "answer_is_error",
            Self::ReplyOverTheLimit | Self::LargeReply => "answer_huge",
            Self::FloodedStderr => "flood_stderr",
            Self::Garbage => "stray",
            Self::WrongId => "answer_wrong_id",
            Self::NoToolResult => "answer_no_tool_result",
            Self::CloseStdin | Self::UnsentAndTrustWithdrawn | Self::UnsentAndToolChanged => "close_stdin",
            Self::StopReading | Self::StopReadingLongCall => "stop_reading",
            Self::DieAfterCommit
            | Self::DieEveryTime
            | Self::NeverStartsAgain
            | Self::AnnotationsLost
            | Self::SchemaChanged
            | Self::ToolVanished
            | Self::ServerTrustWithdrawn
            | Self::WorkspaceTrustWithdrawn => "die_after_commit",
        })
    }
}

/// What the server declares of its tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hints {
    /// No annotations.
    None,
    /// `{}`.
    Empty,
    Idempotent,
    ReadOnly,
    NotIdempotent,
    ReadOnlyDestructive,
    ReadOnlyNotIdempotent,
    /// A string for a boolean.
    WrongType,
    /// A number for a boolean, beside a good one.
    HalfWrongType,
}

impl Hints {
    pub(crate) const ALL: [Self; 9] = [
        Self::None,
        Self::Empty,
        Self::Idempotent,
        Self::ReadOnly,
        Self::NotIdempotent,
        Self::ReadOnlyDestructive,
        Self::ReadOnlyNotIdempotent,
        Self::WrongType,
        Self::HalfWrongType,
    ];
    /// One that lets pass, one that does not.
    pub(crate) const TELLING: [Self; 2] = [Self::Idempotent, Self::None];

    fn annotations(self) -> Option<Value> {
        Some(match self {
            Self::None => return None,
            Self::Empty => json!({}),
            Self::Idempotent => json!({"idempotentHint": true}),
            Self::ReadOnly => json!({"readOnlyHint": true}),
            Self::NotIdempotent => json!({"idempotentHint": false}),
            Self::ReadOnlyDestructive => json!({"readOnlyHint": true, "destructiveHint": true}),
            Self::ReadOnlyNotIdempotent => json!({"readOnlyHint": true, "idempotentHint": false}),
            Self::WrongType => json!({"idempotentHint": "true"}),
            Self::HalfWrongType => json!({"readOnlyHint": true, "idempotentHint": 1}),
        })
    }
}

/// Who is trusted when the call begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    Nobody,
    Server,
    Workspace,
    Both,
}

impl Trust {
    pub(crate) const ALL: [Self; 4] = [Self::Nobody, Self::Server, Self::Workspace, Self::Both];
    pub(crate) const TELLING: [Self; 2] = [Self::Both, Self::Nobody];
}

/// Which way a call takes to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// Through this project's own connector.
    Direct,
    /// Through closures of a host.
    Callable,
}

impl Path {
    pub(crate) const ALL: [Self; 2] = [Self::Direct, Self::Callable];
}

/// Which handshake the server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Row {
    /// What the server is told to do. `trigger` is the file that some faults wait for.
    pub(crate) fn scenario(&self, trigger: &File) -> Scenario {
        let now = || When::Trigger(trigger.to_owned());
        let die = server::Fault::DieAfterCommit;
        let (first, again) = (self.healthy(), self.healthy());
        let (first, again) = match self.fault {
            Fault::Nothing => (first, again),
            Fault::DiedIdle => (first.dies(now()), again),
            Fault::DieBeforeReading => (first.on_call(1, server::Fault::DieUnread { when: now() }), again),
            Fault::DieWhileReading => (first.on_call(1, server::Fault::DieMidRead { bytes: 60 }), again),
            Fault::DieBeforeCommit => (first.on_call(1, server::Fault::DieBeforeCommit), again),
            Fault::DieAfterCommit => (first.on_call(1, die), again),
            Fault::CloseStdout => (first.on_call(1, server::Fault::CloseStdout), again),
            Fault::HalfALine => (first.on_call(1, server::Fault::DieMidAnswer), again),
            Fault::NoNewline => (first.on_call(1, server::Fault::DieBeforeNewline), again),
            Fault::Hang => (first.on_call(1, server::Fault::Hang), again),
            Fault::LateAnswer => {
                let late = first.on_call(1, server::Fault::AnswerLate { when: now() });
                (late.on_call(2, server::Fault::lost_connection_error()), again)
            }
            Fault::ErrorLikeALoss => (first.on_call(1, server::Fault::lost_connection_error()), again),
            Fault::ResultLikeALoss => (first.on_call(1, server::Fault::lost_connection_result()), again),
            Fault::ReplyOverTheLimit => {
                (first.on_call(1, server::Fault::AnswerHuge { bytes: 20 << 20 }), again)
            }
            Fault::LargeReply => (first.on_call(1, server::Fault::AnswerHuge { bytes: 11 << 20 }), again),
            Fault::FloodedStderr => (first.on_call(1, server::Fault::FloodStderr { bytes: 1 << 20 }), again),
            Fault::Garbage => {
                let lines = Stray::ALL.to_vec();
                (first.on_call(1, server::Fault::Stray { lines }), again)
            }
            Fault::WrongId => (first.on_call(1, server::Fault::AnswerWrongId), again),
            Fault::NoToolResult => (first.on_call(1, server::Fault::AnswerNoToolResult), again),
            Fault::StopReading | Fault::StopReadingLongCall => {
                (first.on_call(1, server::Fault::StopReading), again)
            }
            Fault::CloseStdin | Fault::UnsentAndTrustWithdrawn => {
                (first.on_call(1, server::Fault::CloseStdin), again)
            }
            Fault::UnsentAndToolChanged => {
                let again = self.serving(self.tool().description("another"));
                (first.on_call(1, server::Fault::CloseStdin), again)
            }
            Fault::DieEveryTime => (first.on_every_call(die.clone()), again.on_every_call(die)),
            Fault::NeverStartsAgain => (first.on_call(1, die), again.startup(Startup::Exit { code: 1 })),
            Fault::AnnotationsLost => (first.on_call(1, die), self.serving(ToolSpec::new("put"))),
            Fault::SchemaChanged => {
                let schema = json!({"type": "object", "properties": {"key": {"type": "number"}}});
                (first.on_call(1, die), self.serving(self.tool().input_schema(schema)))
            }
            Fault::ToolVanished => (first.on_call(1, die), self.serving(ToolSpec::new("get"))),
            Fault::ServerTrustWithdrawn | Fault::WorkspaceTrustWithdrawn => (first.on_call(1, die), again),
        };
        first.from_start(2, again)
    }

    fn healthy(&self) -> Scenario {
        self.serving(self.tool())
    }

    fn serving(&self, tool: ToolSpec) -> Scenario {
        let era = match self.era {
            Era::Legacy => server::Era::Legacy,
            Era::Modern => server::Era::Modern,
        };
        Scenario::new().era(era).tool(tool)
    }

    fn tool(&self) -> ToolSpec {
        match self.hints.annotations() {
            Some(annotations) => ToolSpec::new("put").annotations(annotations),
            None => ToolSpec::new("put"),
        }
    }
}
