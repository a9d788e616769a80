use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, InputResponses, JsonObject, JsonRpcMessage, RequestId,
    RequestMetaObject,
};
use serde::Serialize;
use serde_json::Value;

use super::{Requests, Tap};
use crate::ToolCall;

/// A request of ours on its way from rmcp to the wire.
pub(crate) struct Outgoing<'a> {
    pub(crate) tap: Arc<Tap>,
    id: &'a RequestId,
    meta: Option<&'a RequestMetaObject>,
    responses: Option<&'a InputResponses>,
}

impl<'a> Outgoing<'a> {
    /// None for everything that rmcp sends on its own.
    pub(crate) fn of(message: &'a ClientJsonRpcMessage) -> Option<Self> {
        let JsonRpcMessage::Request(message) = message else {
            return None;
        };
        let extensions = match &message.request {
            ClientRequest::CallToolRequest(request) => &request.extensions,
            ClientRequest::ListToolsRequest(request) => &request.extensions,
            ClientRequest::GetTaskRequest(request) => &request.extensions,
            ClientRequest::UpdateTaskRequest(request) => &request.extensions,
            ClientRequest::CancelTaskRequest(request) => &request.extensions,
            _ => return None,
        };
        let tap = extensions.get::<Arc<Tap>>()?.clone();
        let responses = extensions.get::<Responses>().and_then(|responses| responses.0.as_deref());
        Some(Self { tap, id: &message.id, meta: extensions.get::<RequestMetaObject>(), responses })
    }

    /// Now that it has its id. False when it is followed no longer: it must not be sent.
    pub(crate) fn register(&self, requests: &Requests) -> bool {
        let token = self.meta.and_then(RequestMetaObject::get_progress_token);
        requests.register(&self.tap, self.id, token)
    }

    /// The JSON text to send in place of rmcp's message.
    pub(crate) fn json(&self, message: &ClientJsonRpcMessage) -> serde_json::Result<Vec<u8>> {
        match (&self.tap.call, self.responses) {
            (Some(call), _) => {
                let arguments = call.arguments().map_or(0, |arguments| text_of_members(arguments));
                let mut json = Vec::with_capacity(BESIDE_ARGUMENTS + arguments);
                serde_json::to_writer(&mut json, &CallFrame::new(call, self.id, self.meta))?;
                Ok(json)
            }
            (None, Some(responses)) => {
                let mut message = serde_json::to_value(message)?;
                message["params"]["inputResponses"] = serde_json::to_value(responses)?;
                serde_json::to_vec(&message)
            }
            (None, None) => serde_json::to_vec(message),
        }
    }
}

/// Room for what stands beside the arguments in most calls: method, id, name, progress token, newline.
const BESIDE_ARGUMENTS: usize = 256;

/// How many bytes an object's members take at least, but for numbers: so that arguments of a megabyte are
/// written once, and not copied again and again as their frame grows.
fn text_of_members(members: &JsonObject) -> usize {
    members.iter().map(|(name, value)| name.len() + 4 + text_of(value)).sum()
}

fn text_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| text_of(item) + 1).sum::<usize>() + 2,
        Value::Object(members) => text_of_members(members) + 2,
    }
}

/// Answers to the questions of a task, on their way past rmcp.
#[derive(Clone)]
pub(super) struct Responses(pub(super) Option<Arc<InputResponses>>);

/// A `tools/call` as it goes on the wire. Written from the call itself: the arguments are copied
/// nowhere else, and rmcp, which logs the messages that it carries, never holds them.
#[derive(Serialize)]
struct CallFrame<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    method: &'static str,
    params: CallParams<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RequestMetaObject>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a JsonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_responses: Option<&'a InputResponses>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_state: Option<&'a str>,
}

impl<'a> CallFrame<'a> {
    fn new(call: &'a ToolCall, id: &'a RequestId, meta: Option<&'a RequestMetaObject>) -> Self {
        let arguments = call.arguments().map(AsRef::as_ref);
        let params = CallParams {
            meta,
            name: call.name(),
            arguments,
            input_responses: call.input_responses(),
            request_state: call.request_state(),
        };
        Self { jsonrpc: "2.0", id, method: "tools/call", params }
    }
}
