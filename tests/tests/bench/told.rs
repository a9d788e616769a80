//! What the client says of one call.

use mcp_tool::{Answer, CallReply, Outcome, ToolError};

use crate::gate::End;

/// What one call brought.
pub(crate) struct Call {
    pub(crate) end: End,
    pub(crate) attempts: u32,
    pub(crate) replays: u32,
    pub(crate) unsent: u32,
    /// Whether its answer says that an earlier attempt may have run; none without an answer.
    pub(crate) earlier_unknown: Option<bool>,
}

pub(crate) fn told(outcome: Result<Answer, ToolError>) -> Call {
    match outcome {
        Ok(answer) => Call {
            end: match &answer.reply {
                CallReply::Error(_) => End::JsonRpcError,
                CallReply::Result(result) if result.is_error == Some(true) => End::ErrorResult,
                CallReply::Result(result) => {
                    let texts = result.content.iter().filter_map(|content| content.as_text());
                    End::Result(texts.map(|text| text.text.len()).sum())
                }
                other => panic!("no row is answered with {other:?}"),
            },
            attempts: answer.attempts,
            replays: answer.replays,
            unsent: answer.unsent,
            earlier_unknown: Some(answer.earlier_unknown),
        },
        Err(error) => Call {
            end: match error.outcome() {
                Outcome::NotExecuted => End::NotExecuted(error.reason().code()),
                Outcome::Unknown => End::Unknown(error.reason().code()),
            },
            attempts: error.attempts(),
            replays: error.replays(),
            unsent: error.unsent(),
            earlier_unknown: None,
        },
    }
}
