use std::{error::Error, fmt, sync::Arc};

use mcp_discovery::ToolName;
use mcp_transport::TransportError;

use crate::Reason;

/// What is known of an invocation that ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Proven: the server cannot have run the tool. Call again freely.
    NotExecuted,
    /// The tool may have run. Verify first, never retry blindly.
    Unknown,
}

impl Outcome {
    /// The stable snake_case code.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotExecuted => "not_executed",
            Self::Unknown => "unknown",
        }
    }
}

/// An invocation ended without an answer.
///
/// `Display` is stable and safe to show to a model or a person: it holds fixed words and the reason's
/// code, nothing of the arguments, the server's text or the configuration.
#[derive(Clone)]
pub struct ToolError(Arc<Parts>);

struct Parts {
    outcome: Outcome,
    reason: Reason,
    attempts: u32,
    replays: u32,
    unsent: u32,
    server: Arc<str>,
    tool: Arc<str>,
    transport: Option<TransportError>,
}

/// What the driver knows at the end.
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) reason: Reason,
    pub(crate) attempts: u32,
    pub(crate) replays: u32,
    pub(crate) unsent: u32,
}

impl ToolError {
    pub(crate) fn new(
        ending: &Ending,
        server: Arc<str>,
        tool: Arc<str>,
        transport: Option<TransportError>,
    ) -> Self {
        let Ending { outcome, reason, attempts, replays, unsent } = *ending;
        Self(Arc::new(Parts { outcome, reason, attempts, replays, unsent, server, tool, transport }))
    }

    /// Whether the tool may have run.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// Why there is no answer.
    pub fn reason(&self) -> Reason {
        self.0.reason
    }

    /// Requests put on the wire, over all tries.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Replays of a request that may have run, those that proved unsent included.
    pub fn replays(&self) -> u32 {
        self.0.replays
    }

    /// Tries that were proven unsent.
    pub fn unsent(&self) -> u32 {
        self.0.unsent
    }

    /// The server's name, as the host chose it.
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// The tool's exact name.
    pub fn tool(&self) -> &str {
        &self.0.tool
    }

    /// The last error of the transport, if one was the cause.
    pub fn transport_error(&self) -> Option<&TransportError> {
        self.0.transport.as_ref()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.0.reason;
        match self.0.outcome {
            Outcome::NotExecuted => {
                write!(f, "the tool was not executed, so it is safe to call it again ({reason})")
            }
            Outcome::Unknown if self.0.attempts > 1 => write!(
                f,
                "the tool may have run, and more than once: it was run again as its declaration permits, and no \
                 answer came; do not retry automatically, verify its effect first ({reason})"
            ),
            Outcome::Unknown => write!(
                f,
                "the tool may have run: its answer was lost, and it was not run again because that could not be \
                 verified as safe; do not retry automatically, verify its effect first ({reason})"
            ),
        }
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError")
            .field("outcome", &self.0.outcome)
            .field("reason", &self.0.reason)
            .field("attempts", &self.0.attempts)
            .field("replays", &self.0.replays)
            .field("server", &self.0.server)
            .field("tool", &ToolName::from(self.0.tool.clone()))
            .finish_non_exhaustive()
    }
}

impl Error for ToolError {
    /// The transport's error, whose own text is fixed words only.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.transport_error().map(|error| error as _)
    }
}
