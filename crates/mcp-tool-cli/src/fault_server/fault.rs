//! What can go wrong with one `tools/call`.
use super::{HttpFault, Moment};
use serde::{Deserialize, Serialize};
use std::{fs, path::PathBuf, thread, time::Duration};

/// What a server does with one `tools/call` instead of simply running the tool and answering.
///
/// *Commit* means that the side effect is in the ledger. A fault that says nothing about it commits
/// first and then misbehaves, so that a second execution can never hide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// Stops reading once nothing but this call is due (see [`Scenario::on_call`]), and dies at `when`.
    /// The call stays in the pipe.
    ///
    /// [`Scenario::on_call`]: super::Scenario::on_call
    DieUnread {
        /// When the process ends, counted from the moment it stopped reading.
        when: When,
    },
    /// Reads the first `bytes` bytes of this call's line, at least as far as the method's name, and
    /// dies: the rest stays in the pipe.
    DieMidRead {
        /// How many bytes of the line are taken from the pipe.
        bytes: usize,
    },
    /// Once nothing but this call is due, takes exactly `bytes` bytes of it from the pipe and dies. Runs
    /// the call first if they are a complete JSON text, which they are not before the last brace.
    DieAfterBytes {
        /// How many bytes are taken from the pipe, whatever they are.
        bytes: usize,
    },
    /// Stops reading before this call and lives on, with both pipes open.
    StopReading,
    /// Closes its standard input before this call is read, and lives on. Answers that are still due
    /// are written. Unix only.
    CloseStdin,
    /// Reads the call and dies without a side effect.
    DieBeforeCommit,
    /// Reads the call and never answers; no side effect.
    HangBeforeCommit,
    /// Dies after the side effect, without a byte of an answer.
    DieAfterCommit,
    /// Closes its standard output after the side effect and lives on: it goes on reading, and runs
    /// what it reads. Unix only.
    CloseStdout,
    /// Writes half of the answer's line and dies.
    DieMidAnswer,
    /// Writes the complete answer, without the newline that ends it, and dies.
    DieBeforeNewline,
    /// Answers as it should and dies: what follows meets a server that died while idle.
    DieAfterAnswer,
    /// Leaves the side effect to a child of its own, which commits at `when`, and dies.
    DieAndCommitLate {
        /// When the child commits, counted from its start.
        when: When,
    },
    /// Never answers, but serves everything else.
    Hang,
    /// Answers at `when`, and serves everything else meanwhile.
    AnswerLate {
        /// When the answer leaves.
        when: When,
    },
    /// Answers twice.
    AnswerTwice,
    /// Answers, but only to an id that nobody used.
    AnswerWrongId,
    /// Answers with the id as a string.
    AnswerStringId,
    /// Answers with a result that is no `CallToolResult`.
    AnswerNoToolResult,
    /// Answers with a JSON-RPC error.
    AnswerError {
        /// The JSON-RPC error code.
        code: i64,
        /// The error's message.
        message: String,
    },
    /// Answers with a result that has `isError: true`.
    AnswerIsError {
        /// The text of the result.
        text: String,
    },
    /// Answers with a text of `bytes` bytes.
    AnswerHuge {
        /// The size of the text; the line is a little longer.
        bytes: usize,
    },
    /// Writes `bytes` bytes to standard error before it answers, and reads nothing meanwhile.
    FloodStderr {
        /// How much is written.
        bytes: usize,
    },
    /// Writes lines on standard output that answer nothing, then the answer.
    Stray {
        /// The lines, in this order.
        lines: Vec<Stray>,
    },
    /// Like [`Stray`](Self::Stray), but the answer never comes.
    StrayOnly {
        /// The lines, in this order.
        lines: Vec<Stray>,
    },
    /// Reports progress `times` times, every `every_ms` milliseconds, then answers. Without a progress
    /// token in the call it only waits.
    Progress {
        /// Milliseconds before each report.
        every_ms: u64,
        /// How many reports precede the answer.
        times: u32,
    },
    /// Answers `input_required` (2026-07-28) before any side effect.
    InputRequired,
    /// Answers with a task (`resultType: "task"`) after the side effect, and knows nothing of tasks when
    /// asked.
    Task,
    /// Answers with a task after the side effect. The first `looks` requests `tasks/get`, counted over the
    /// ledger, find it at work, later ones completed, or cancelled after a `tasks/cancel`.
    KeptTask {
        /// How often it is found at work.
        looks: u32,
        /// Who knows it.
        kept: Kept,
    },
    /// Answers, then lists `tools` instead of the former ones and says so with
    /// `notifications/tools/list_changed`.
    ChangeTools {
        /// The tools from now on, in this process.
        tools: super::Tools,
    },
    /// Asks the client something and answers once the client has replied.
    Ask {
        /// What is asked.
        what: Ask,
    },
    /// What only a server over Streamable HTTP can do.
    Http(HttpFault),
}

impl From<HttpFault> for Fault {
    fn from(fault: HttpFault) -> Self {
        Self::Http(fault)
    }
}

/// How far a call comes before its fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// No byte of the call, or not all of it, is read.
    Reading,
    /// The call is read; the side effect does not happen.
    Received,
    /// The side effect happened.
    Committed,
}

impl Fault {
    /// A JSON-RPC error whose wording looks like a lost connection.
    pub fn lost_connection_error() -> Self {
        Self::AnswerError { code: -32603, message: LOST_CONNECTION.to_owned() }
    }

    /// A result with `isError: true` whose wording looks like a lost connection.
    pub fn lost_connection_result() -> Self {
        Self::AnswerIsError { text: LOST_CONNECTION.to_owned() }
    }

    /// The name that the ledger uses, such as `die_after_commit`.
    pub fn name(&self) -> String {
        if let Self::Http(fault) = self {
            return fault.name();
        }
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            Ok(serde_json::Value::Object(fields)) => fields.keys().cloned().collect(),
            _ => String::new(),
        }
    }

    pub(super) fn stage(&self) -> Stage {
        match self {
            Self::DieUnread { .. } | Self::DieMidRead { .. } | Self::StopReading | Self::CloseStdin => {
                Stage::Reading
            }
            Self::DieBeforeCommit
            | Self::DieAndCommitLate { .. }
            | Self::HangBeforeCommit
            | Self::InputRequired => Stage::Received,
            Self::DieAfterBytes { .. }
            | Self::DieAfterCommit
            | Self::CloseStdout
            | Self::DieMidAnswer
            | Self::DieBeforeNewline
            | Self::DieAfterAnswer
            | Self::Hang
            | Self::AnswerLate { .. }
            | Self::AnswerTwice
            | Self::AnswerWrongId
            | Self::AnswerStringId
            | Self::AnswerNoToolResult
            | Self::AnswerError { .. }
            | Self::AnswerIsError { .. }
            | Self::AnswerHuge { .. }
            | Self::FloodStderr { .. }
            | Self::Stray { .. }
            | Self::StrayOnly { .. }
            | Self::Progress { .. }
            | Self::Task
            | Self::KeptTask { .. }
            | Self::ChangeTools { .. }
            | Self::Ask { .. } => Stage::Committed,
            Self::Http(fault) => match fault.moment() {
                Moment::BeforeCommit => Stage::Received,
                Moment::AfterCommit => Stage::Committed,
            },
        }
    }

    /// Whether it strikes before the call is read as a message.
    pub(super) fn is_about_reading(&self) -> bool {
        self.stage() == Stage::Reading || matches!(self, Self::DieAfterBytes { .. })
    }

    /// Whether it is about standard input or output itself.
    pub(super) fn needs_pipes(&self) -> bool {
        self.is_about_reading() || matches!(self, Self::CloseStdout)
    }
}

/// Who knows a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// The process that made it.
    ByProcess,
    /// Every process with the same ledger: it outlives a restart.
    ByLedger,
}

const LOST_CONNECTION: &str = "database connection lost: ECONNRESET, socket hang up";

/// A moment that a fault waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// This many milliseconds later.
    Millis(u64),
    /// As soon as this file exists. The server removes the file, so one file triggers once.
    Trigger(PathBuf),
}

impl When {
    pub(super) fn wait(&self) {
        match self {
            Self::Millis(millis) => thread::sleep(Duration::from_millis(*millis)),
            // Removing it tells whether it was there, and lets one file trigger once.
            Self::Trigger(file) => {
                while fs::remove_file(file).is_err() {
                    thread::sleep(Duration::from_millis(2));
                }
            }
        }
    }
}

/// A line on standard output that belongs to no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stray {
    /// Text that is no JSON.
    NotJson,
    /// JSON that is no JSON-RPC.
    NotRpc,
    /// Bytes that are no UTF-8.
    NotUtf8,
    /// A result for an id that the client never used.
    UnknownId,
    /// A progress notification for a token that the client never used.
    UnknownProgress,
    /// A JSON-RPC error without an id.
    ErrorWithoutId,
}

impl Stray {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::NotJson,
        Self::NotRpc,
        Self::NotUtf8,
        Self::UnknownId,
        Self::UnknownProgress,
        Self::ErrorWithoutId,
    ];
}

/// What a server asks its client in the middle of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ask {
    /// `roots/list`.
    Roots,
    /// `elicitation/create`, a form with one text field.
    Elicitation,
    /// `sampling/createMessage`.
    Sampling,
    /// `ping`.
    Ping,
}
