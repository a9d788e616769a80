//! What a front does for one message: the protocol decides, the front performs.
use super::{HttpFault, Stray, When};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One step. A front takes the steps of one message in order; those after a [`Wait`](Self::Wait) must
/// not hold up other messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Step {
    /// Sends one message.
    Send(Value),
    /// Sends one message that belongs to no request.
    Announce(Value),
    /// Sends the beginning of one message.
    SendPart(Value, Portion),
    /// Sends bytes as they are.
    Raw(Vec<u8>),
    /// Writes this many bytes of diagnostics, however long that takes.
    Diagnose(usize),
    /// Waits.
    Wait(When),
    /// Ends the process.
    Die,
    /// Gives up sending.
    CloseStdout,
    /// Gives up receiving, and says so to the peer.
    CloseStdin,
    /// Gives up receiving without a word.
    StopReading,
    /// Keeps the way back open for what is announced from now on, where a request has one of its own.
    Listen,
    /// Lets a fault of HTTP strike a call that deserves this answer.
    Http(HttpFault, Value),
}

/// How much of a message is sent, as it is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Portion {
    /// The first half.
    Half,
    /// All but the last byte, which says that it is complete.
    AllButTheEnd,
}

impl Portion {
    pub(super) fn of(self, framed: &[u8]) -> &[u8] {
        match self {
            Self::Half => &framed[..framed.len() / 2],
            Self::AllButTheEnd => &framed[..framed.len().saturating_sub(1)],
        }
    }
}

impl Step {
    /// One message as a line, with its newline.
    pub(super) fn line(message: &Value) -> Vec<u8> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        line
    }

    pub(super) fn stray(kind: Stray) -> Self {
        match kind {
            Stray::NotJson => Self::Raw(b"warning: cache is cold, warming up...\n".to_vec()),
            Stray::NotRpc => Self::Send(json!({"level": "info", "message": "a log line in the wrong place"})),
            Stray::NotUtf8 => Self::Raw(b"\xff\xfe\x80 not text\n".to_vec()),
            Stray::UnknownId => Self::Send(json!({
                "jsonrpc": "2.0",
                "id": NOBODYS_ID,
                "result": {"content": [{"type": "text", "text": "an answer to nobody"}]},
            })),
            Stray::UnknownProgress => Self::Send(json!({
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {"progressToken": "nobodys-token", "progress": 1},
            })),
            Stray::ErrorWithoutId => Self::Send(json!({
                "jsonrpc": "2.0",
                "error": {"code": -32600, "message": "an error about nothing"},
            })),
        }
    }
}

/// Far above every id that a client counts up to.
pub(super) const NOBODYS_ID: u64 = 4_000_000_007;
