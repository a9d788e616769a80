use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, InputResponses, JsonObject, JsonRpcMessage, RequestId,
    RequestMetaObject,
};
use serde::Serialize;

use super::{Requests, Tap};
use crate::ToolCall;

/// A request of ours on its way from rmcp to the wire.
pub(crate) struct Outgoing<'a> {
    pub(crate) tap: Arc<Tap>,
    id: &'a RequestId,
    meta: Option<&'a RequestMetaObject>,
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
        Some(Self { tap, id: &message.id, meta: extensions.get::<RequestMetaObject>() })
    }

    /// Now that it has its id. False when it is followed no longer: it must not be sent.
    pub(crate) fn register(&self, requests: &Requests) -> bool {
        let token = self.meta.and_then(RequestMetaObject::get_progress_token);
        requests.register(&self.tap, self.id, token)
    }

    /// The JSON text to send in place of rmcp's message.
    pub(crate) fn json(&self, message: &ClientJsonRpcMessage) -> serde_json::Result<Vec<u8>> {
        match &self.tap.call {
            Some(call) => serde_json::to_vec(&CallFrame::new(call, self.id, self.meta)),
            None => serde_json::to_vec(message),
        }
    }
}

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
