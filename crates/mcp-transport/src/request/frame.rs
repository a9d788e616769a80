use rmcp::model::{JsonObject, RequestId, RequestMetaObject};
use serde::Serialize;

use crate::ToolCall;

/// A `tools/call` as it goes on the wire. Written from the call itself: the arguments are copied
/// nowhere else, and rmcp, which logs the messages that it carries, never holds them.
#[derive(Serialize)]
pub(crate) struct CallFrame<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    method: &'static str,
    params: CallParams<'a>,
}

#[derive(Serialize)]
struct CallParams<'a> {
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RequestMetaObject>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a JsonObject>,
}

impl<'a> CallFrame<'a> {
    pub(crate) fn new(call: &'a ToolCall, id: &'a RequestId, meta: Option<&'a RequestMetaObject>) -> Self {
        let arguments = call.arguments().map(AsRef::as_ref);
        Self {
            jsonrpc: "2.0",
            id,
            method: "tools/call",
            params: CallParams { meta, name: call.name(), arguments },
        }
    }
}
