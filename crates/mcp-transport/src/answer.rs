//! The reading of answers: what the server said, without judging it.

use rmcp::model::{CallToolResult, ErrorData, ServerResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{CallReply, Cursor, RawTool, ToolPage, TransportError};

/// A `result` of `tools/call`, in any of its forms.
pub(crate) fn call_result(json: &RawValue) -> Result<CallReply, TransportError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        result_type: Option<String>,
    }
    let parsed = match serde_json::from_str::<CallToolResult>(json.get()) {
        Ok(result) => return Ok(result.into()),
        Err(error) => error,
    };
    // No known member at all is an empty success; another result type is another form of answer.
    match serde_json::from_str::<Kind>(json.get()) {
        Ok(kind) if kind.result_type.as_deref().unwrap_or("complete") == "complete" => {
            match empty_result(json) {
                Some(result) => Ok(result.into()),
                None => Err(TransportError::invalid_reply(parsed)),
            }
        }
        Ok(_) => call_reply(serde_json::from_str(json.get()).map_err(TransportError::invalid_reply)?),
        Err(_) => Err(TransportError::invalid_reply(parsed)),
    }
}

/// rmcp's form of a result of `tools/call`.
pub(crate) fn call_reply(result: ServerResult) -> Result<CallReply, TransportError> {
    match result {
        ServerResult::CallToolResult(result) => Ok(result.into()),
        ServerResult::InputRequiredResult(result) => Ok(CallReply::InputRequired(Box::new(result))),
        ServerResult::CreateTaskResult(result) => Ok(CallReply::Task(Box::new(result))),
        ServerResult::EmptyResult(_) => Ok(CallToolResult::default().into()),
        _ => Err(TransportError::invalid_reply("not a result of tools/call")),
    }
}

/// An object that holds nothing but `_meta` and the result type.
fn empty_result(json: &RawValue) -> Option<CallToolResult> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Empty {
        #[serde(rename = "_meta")]
        meta: Option<rmcp::model::MetaObject>,
        #[expect(dead_code, reason = "named so that it is no unknown member")]
        result_type: Option<String>,
    }
    let empty: Empty = serde_json::from_str(json.get()).ok()?;
    let mut result = CallToolResult::default();
    result.meta = empty.meta;
    Some(result)
}

/// The `error` of a JSON-RPC answer.
pub(crate) fn error(json: &RawValue) -> Result<ErrorData, TransportError> {
    serde_json::from_str(json.get()).map_err(TransportError::invalid_reply)
}

/// A `result` of `tools/list`: every tool as it came.
pub(crate) fn tool_page(json: &RawValue) -> Result<ToolPage, TransportError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Page {
        tools: Vec<Box<RawValue>>,
        next_cursor: Option<String>,
    }
    let page: Page = serde_json::from_str(json.get()).map_err(TransportError::invalid_reply)?;
    Ok(ToolPage {
        tools: page.tools.into_iter().map(RawTool::new).collect(),
        next: page.next_cursor.map(Cursor::new),
    })
}
