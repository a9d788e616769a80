//! What the model is told: the server's answer as it is, or fixed words and a stable code. Nothing of an
//! error's cause, which may hold a path, a URL or a token.

use mcp_tool::{
    Answer, CallReply, DiscoveryError, ToolError,
    rmcp::model::{CallToolResult, ContentBlock},
};

use crate::{Finding, ModelCall};

pub(crate) fn answer(answer: Answer) -> CallToolResult {
    let mut told = match answer.reply {
        // `isError: true` is the tool's own way to say that it failed. The model reads it like any result.
        CallReply::Result(result) => *result,
        CallReply::Error(error) => {
            failure(format!("The server answered: error {}, {}", error.code.0, error.message))
        }
        CallReply::InputRequired(_) => failure(
            "The server asks for input before it goes on, which this host cannot give. \
             Ask the user what to do; do not call the tool again.",
        ),
        CallReply::Task(task) => note(format!(
            "The server has accepted the call as task {}, and works on it. Do not call the tool again.",
            task.task.task_id,
        )),
        _ => failure(
            "The server gave an answer of a kind that this host does not know. Do not call the tool again.",
        ),
    };
    if answer.earlier_unknown {
        told.content.push(ContentBlock::text(
            "An earlier attempt of this very call may have run, too, so what the answer calls a repetition may \
             be that attempt's doing.",
        ));
    }
    told
}

pub(crate) fn not_executed(error: &ToolError) -> CallToolResult {
    failure(format!("Not executed ({}). You may call the tool again.", error.reason()))
}

pub(crate) fn unknown(error: &ToolError, finding: Finding) -> CallToolResult {
    let found = match finding {
        Finding::Ran => "The user has looked: it did run. Do not call it again.",
        Finding::DidNotRun => "The user has looked: it did not run. You may call it again.",
        Finding::CannotTell => {
            "The user could not tell. Do not call it again; find out first, or ask the user."
        }
    };
    failure(format!("Unknown ({}): the tool may have run. {found}", error.reason()))
}

pub(crate) fn unavailable(error: &DiscoveryError) -> CallToolResult {
    failure(format!("Not executed ({}). The server is not there; you may try later.", error.kind().code()))
}

pub(crate) fn cancelled() -> CallToolResult {
    failure("Not executed (cancelled). The user does not want it now.")
}

pub(crate) fn declined() -> CallToolResult {
    failure("Not executed (declined). The user said no. Do not call it again unless the user asks for it.")
}

pub(crate) fn no_server(call: &ModelCall) -> CallToolResult {
    failure(format!("Not executed (unknown_server). There is no server {:?}.", call.server))
}

pub(crate) fn no_tool(call: &ModelCall) -> CallToolResult {
    failure(format!("Not executed (unknown_tool). The server has no tool {:?}.", call.tool))
}

pub(crate) fn no_object() -> CallToolResult {
    failure("Not executed (invalid_arguments). The arguments must be one JSON object.")
}

fn failure(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn note(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}
