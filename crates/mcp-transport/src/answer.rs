//! The reading of answers: what the server said, without judging it.

#[cfg(any(feature = "http", feature = "stdio"))]
use rmcp::model::ErrorData;
use rmcp::model::{CallToolResult, ServerResult};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

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
        Ok(_) => {
            let other = serde_json::from_str(json.get()).map_err(TransportError::invalid_reply)?;
            reply_of(other).map_err(|_| TransportError::invalid_reply("not a result of tools/call"))
        }
        Err(_) => Err(TransportError::invalid_reply(parsed)),
    }
}

/// The same when rmcp has read it already.
pub(crate) fn read_call_result(result: ServerResult) -> Result<CallReply, TransportError> {
    reply_of(result).or_else(|other| call_result(&raw(&other)?))
}

/// The results that are replies to a call whatever else they hold.
fn reply_of(result: ServerResult) -> Result<CallReply, Box<ServerResult>> {
    match result {
        ServerResult::CallToolResult(result) => Ok(result.into()),
        ServerResult::InputRequiredResult(result) => Ok(CallReply::InputRequired(Box::new(result))),
        ServerResult::CreateTaskResult(result) => Ok(CallReply::Task(Box::new(result))),
        other => Err(Box::new(other)),
    }
}

/// What was read already, as JSON again.
pub(crate) fn raw(result: &impl Serialize) -> Result<Box<RawValue>, TransportError> {
    to_raw_value(result).map_err(TransportError::invalid_reply)
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
#[cfg(any(feature = "http", feature = "stdio"))]
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

/// The same when rmcp has read it already: what rmcp did not understand, it kept.
pub(crate) fn read_tool_page(result: &ServerResult) -> Result<ToolPage, TransportError> {
    tool_page(&raw(result)?)
}
