//! What the fault server is told to do in a row.

use std::path::Path as File;

use mcp_tool_cli::fault_server::{self as server, Scenario, Startup, Stray, ToolSpec, When};
use serde_json::json;

use crate::row::{Fault, Row};

impl Row {
    /// The server's life and its next one. `trigger` is the file that some faults wait for.
    pub(crate) fn scenario(&self, trigger: &File) -> Scenario {
        let strikes = self.fault.strikes(trigger);
        let first = match (self.fault, strikes) {
            (Fault::DiedIdle, _) => self.healthy().dies(When::Trigger(trigger.to_owned())),
            (Fault::DieEveryTime, Some(fault)) => self.healthy().on_every_call(fault),
            (Fault::LateAnswer, Some(fault)) => {
                self.healthy().on_call(1, fault).on_call(2, server::Fault::lost_connection_error())
            }
            (_, Some(fault)) => self.healthy().on_call(1, fault),
            (_, None) => self.healthy(),
        };
        first.from_start(2, self.next_life())
    }

    fn next_life(&self) -> Scenario {
        match self.fault {
            Fault::DieEveryTime => self.healthy().on_every_call(server::Fault::DieAfterCommit),
            Fault::NeverStartsAgain => self.healthy().startup(Startup::Exit { code: 1 }),
            Fault::AnnotationsLost => self.serving(ToolSpec::new("put")),
            Fault::ToolVanished => self.serving(ToolSpec::new("get")),
            Fault::UnsentAndToolChanged => self.serving(self.tool().description("another")),
            Fault::SchemaChanged => {
                let schema = json!({"type": "object", "properties": {"key": {"type": "number"}}});
                self.serving(self.tool().input_schema(schema))
            }
            _ => self.healthy(),
        }
    }

    fn healthy(&self) -> Scenario {
        self.serving(self.tool())
    }

    fn serving(&self, tool: ToolSpec) -> Scenario {
        Scenario::new().era(self.era.of_server()).tool(tool)
    }

    fn tool(&self) -> ToolSpec {
        self.hints.tool()
    }
}

impl Fault {
    /// What strikes the first call; none when nothing does.
    pub(crate) fn strikes(self, trigger: &File) -> Option<server::Fault> {
        let when = || When::Trigger(trigger.to_owned());
        Some(match self {
            Self::Nothing | Self::DiedIdle => return None,
            Self::DieBeforeReading => server::Fault::DieUnread { when: when() },
            Self::DieWhileReading => server::Fault::DieMidRead { bytes: 60 },
            Self::DieBeforeCommit => server::Fault::DieBeforeCommit,
            Self::CloseStdout => server::Fault::CloseStdout,
            Self::HalfALine => server::Fault::DieMidAnswer,
            Self::NoNewline => server::Fault::DieBeforeNewline,
            Self::Hang => server::Fault::Hang,
            Self::LateAnswer => server::Fault::AnswerLate { when: when() },
            Self::ErrorLikeALoss => server::Fault::lost_connection_error(),
            Self::ResultLikeALoss => server::Fault::lost_connection_result(),
            Self::ReplyOverTheLimit => server::Fault::AnswerHuge { bytes: 20 << 20 },
            Self::LargeReply => server::Fault::AnswerHuge { bytes: 11 << 20 },
            Self::FloodedStderr => server::Fault::FloodStderr { bytes: 1 << 20 },
            Self::Garbage => server::Fault::Stray { lines: Stray::ALL.to_vec() },
            Self::WrongId => server::Fault::AnswerWrongId,
            Self::NoToolResult => server::Fault::AnswerNoToolResult,
            Self::CloseStdin | Self::UnsentAndTrustWithdrawn | Self::UnsentAndToolChanged => {
                server::Fault::CloseStdin
            }
            Self::StopReading | Self::StopReadingLongCall => server::Fault::StopReading,
            Self::DieAfterCommit
            | Self::DieEveryTime
            | Self::NeverStartsAgain
            | Self::AnnotationsLost
            | Self::SchemaChanged
            | Self::ToolVanished
            | Self::ServerTrustWithdrawn
            | Self::WorkspaceTrustWithdrawn => server::Fault::DieAfterCommit,
        })
    }
}
