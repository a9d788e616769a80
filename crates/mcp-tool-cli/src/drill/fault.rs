use std::{fmt, str::FromStr};

use serde_json::json;

use super::{DrillHints, TOOL};
use crate::fault_server::{
    Era, Fault, Http, HttpFault, Moment, PageFault, Reply, Response, Resumed, Scenario, ToolSpec, When,
};

/// How a client reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The client starts it, and speaks over its standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
}

impl Transport {
    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// What goes wrong, once, with a client's call. Whatever is started after that is healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrillFault {
    /// Nothing: the control.
    None,
    /// The server reads the call and dies.
    DieBeforeCommit,
    /// The server runs the tool and dies.
    DieAfterCommit,
    /// The server runs the tool, closes its output and lives on.
    StdoutClosed,
    /// The server runs the tool and dies, or ends the connection, after half of the answer.
    PartialResponse,
    /// The server runs the tool and never answers.
    Hang,
    /// The server dies once it has listed its tools.
    DiedIdle,
    /// The connection is reset after the tool ran.
    Reset,
    /// The event stream ends without the answer, after the tool ran.
    SseClosed,
    /// The same, and the rest can be fetched by the stream's last event id.
    SseClosedResumable,
    /// A proxy's 502, after the tool ran.
    BadGateway,
    /// 404, as for a session that is gone; the tool did not run.
    SessionLost,
    /// 404, as for a session that is gone, after the tool ran.
    SessionLostAfterCommit,
}

/// For how long nothing listens once an HTTP server died idle, in milliseconds. Longer than a client takes between its list
/// and its call, shorter than one that reconnects goes on trying.
const DOWN_MS: u64 = 800;

impl DrillFault {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 13] = [
        Self::None,
        Self::DieBeforeCommit,
        Self::DieAfterCommit,
        Self::StdoutClosed,
        Self::PartialResponse,
        Self::Hang,
        Self::DiedIdle,
        Self::Reset,
        Self::SseClosed,
        Self::SseClosedResumable,
        Self::BadGateway,
        Self::SessionLost,
        Self::SessionLostAfterCommit,
    ];

    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::DieBeforeCommit => "die-before-commit",
            Self::DieAfterCommit => "die-after-commit",
            Self::StdoutClosed => "stdout-closed",
            Self::PartialResponse => "partial-response",
            Self::Hang => "hang",
            Self::DiedIdle => "died-idle",
            Self::Reset => "reset",
            Self::SseClosed => "sse-closed",
            Self::SseClosedResumable => "sse-closed-resumable",
            Self::BadGateway => "502",
            Self::SessionLost => "404-restart",
            Self::SessionLostAfterCommit => "404-after-commit",
        }
    }

    /// What happens, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::None => "nothing goes wrong",
            Self::DieBeforeCommit => "reads the call and dies",
            Self::DieAfterCommit => "runs the tool and dies",
            Self::StdoutClosed => "runs the tool, closes its output, lives on",
            Self::PartialResponse => "runs the tool, ends after half of the answer",
            Self::Hang => "runs the tool and never answers",
            Self::DiedIdle => "dies once the tools are listed",
            Self::Reset => "runs the tool and resets the connection",
            Self::SseClosed => "runs the tool, ends the event stream",
            Self::SseClosedResumable => "the same; the stream can be resumed",
            Self::BadGateway => "runs the tool; a 502 comes back",
            Self::SessionLost => "404 for the session; the tool does not run",
            Self::SessionLostAfterCommit => "runs the tool; 404 for the session",
        }
    }

    /// What the client has to do for it to strike; nothing for the control.
    pub fn waits_for(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::DiedIdle => Some("the tools to be listed"),
            Self::DieBeforeCommit
            | Self::DieAfterCommit
            | Self::StdoutClosed
            | Self::PartialResponse
            | Self::Hang
            | Self::Reset
            | Self::SseClosed
            | Self::SseClosedResumable
            | Self::BadGateway
            | Self::SessionLost
            | Self::SessionLostAfterCommit => Some("a call"),
        }
    }

    /// Whether it can happen over this transport.
    pub fn is_possible_over(self, transport: Transport) -> bool {
        match self {
            Self::None
            | Self::DieBeforeCommit
            | Self::DieAfterCommit
            | Self::PartialResponse
            | Self::Hang
            | Self::DiedIdle => true,
            Self::StdoutClosed => transport == Transport::Stdio,
            Self::Reset
            | Self::SseClosed
            | Self::SseClosedResumable
            | Self::BadGateway
            | Self::SessionLost
            | Self::SessionLostAfterCommit => transport == Transport::Http,
        }
    }

    /// Whether it is a lost connection, after which a tool that is declared safe may be called again. After a timeout or an
    /// error status nothing is.
    pub(super) fn is_a_lost_connection(self) -> bool {
        match self {
            Self::None | Self::Hang | Self::BadGateway => false,
            Self::DieBeforeCommit
            | Self::DieAfterCommit
            | Self::StdoutClosed
            | Self::PartialResponse
            | Self::DiedIdle
            | Self::Reset
            | Self::SseClosed
            | Self::SseClosedResumable
            | Self::SessionLost
            | Self::SessionLostAfterCommit => true,
        }
    }

    /// Whether the answer can be had without another call.
    pub(super) fn can_be_resumed(self) -> bool {
        self == Self::SseClosedResumable
    }

    /// The server that plays it.
    pub fn scenario(self, transport: Transport, hints: &DrillHints, era: Era) -> Scenario {
        let healthy = server(hints, era);
        let lost = |moment| {
            let gone = Response::new(404).rpc_error_without_id(-32001, "session not found");
            HttpFault::Respond(moment, gone)
        };
        match self {
            Self::None => healthy,
            Self::DieBeforeCommit => healthy.on_call(1, Fault::DieBeforeCommit),
            Self::DieAfterCommit => healthy.on_call(1, Fault::DieAfterCommit),
            Self::StdoutClosed => healthy.on_call(1, Fault::CloseStdout),
            Self::PartialResponse => match transport {
                Transport::Stdio => healthy.on_call(1, Fault::DieMidAnswer),
                Transport::Http => healthy.on_call(1, HttpFault::JsonCut),
            },
            Self::Hang => healthy.on_call(1, Fault::Hang),
            Self::DiedIdle => {
                let later = healthy.clone().http(Http::new().listens(When::Millis(DOWN_MS)));
                healthy.on_page(1, PageFault::DieAfterAnswer).from_start(2, later)
            }
            Self::Reset => healthy.on_call(1, HttpFault::Reset(Moment::AfterCommit)),
            Self::SseClosed => healthy.on_call(1, HttpFault::SseEnds),
            Self::SseClosedResumable => healthy
                .http(Http::new().reply(Reply::SseWithIds).retry_ms(200))
                .on_call(1, HttpFault::SseEndsAfterId { resumed: Resumed::Answer }),
            Self::BadGateway => {
                healthy.on_call(1, HttpFault::Respond(Moment::AfterCommit, Response::new(502)))
            }
            Self::SessionLost => healthy.on_call(1, lost(Moment::BeforeCommit)),
            Self::SessionLostAfterCommit => healthy.on_call(1, lost(Moment::AfterCommit)),
        }
    }
}

fn server(hints: &DrillHints, era: Era) -> Scenario {
    let string = json!({"type": "string"});
    let write = ToolSpec::new(TOOL).description("Writes a value under a key").input_schema(json!({
        "type": "object",
        "properties": {"key": string, "value": string},
        "required": ["key", "value"],
    }));
    Scenario::new().era(era).tool(match hints.annotations() {
        Some(annotations) => write.annotations(annotations.clone()),
        None => write,
    })
}

impl fmt::Display for DrillFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Not the name of a [`DrillFault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such fault")]
pub struct NoSuchFault;

impl FromStr for DrillFault {
    type Err = NoSuchFault;

    fn from_str(name: &str) -> Result<Self, NoSuchFault> {
        Self::ALL.into_iter().find(|fault| fault.name() == name).ok_or(NoSuchFault)
    }
}
