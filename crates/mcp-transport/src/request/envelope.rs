use std::borrow::Cow;

use rmcp::model::{EmptyResult, ProgressNotificationParam, RequestId, ServerJsonRpcMessage, ServerResult};
use serde::Deserialize;
use serde_json::value::RawValue;

#[cfg(feature = "http")]
use super::Tap;
use super::{Answer, Arrival, Requests};
use crate::{Event, TransportError};

/// The outermost members of a message, whatever it is.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: Option<RequestId>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The server takes a request of its own back.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled {
    request_id: RequestId,
}

/// What a message that came in turned out to be.
pub(crate) enum Sorted {
    /// The answer to a request of ours, which has been handed over; its id as we wrote it.
    Delivered(RequestId),
    /// A request of the server with this id, for rmcp if it is admitted.
    Request(RequestId),
    /// The same, but no server ever asks this: it is what a client begins with, come back.
    Echo(RequestId),
    /// An answer that nobody waits for.
    Unasked,
    /// Some other message for rmcp.
    Other,
    /// No JSON-RPC at all, such as a banner or a log line, JSON or not.
    Stray,
}

impl<'a> Envelope<'a> {
    fn of(text: &'a [u8]) -> Option<Self> {
        let is_object = text.trim_ascii_start().first() == Some(&b'{');
        let envelope: Self = is_object.then(|| serde_json::from_slice(text).ok())??;
        (envelope.jsonrpc == "2.0").then_some(envelope)
    }

    fn arrival(&self) -> Arrival {
        match (self.result, self.error) {
            (Some(result), None) => Ok(Answer::Result(result.to_owned())),
            (None, Some(error)) => Ok(Answer::Error(error.to_owned())),
            _ => Err(TransportError::invalid_reply("neither a result nor an error")),
        }
    }
}

impl Requests {
    /// Takes a message that came in: hands an answer to whoever waits for it, and tells progress and
    /// events. Whatever it is, it harms nothing.
    pub(crate) fn sort(&self, text: &[u8]) -> Sorted {
        self.sort_by(text, |id, envelope| self.deliver(id, || envelope.arrival()))
    }

    /// The same for what came in answer to one request; see
    /// [`deliver_with_rmcp`](Self::deliver_with_rmcp).
    #[cfg(feature = "http")]
    pub(crate) fn sort_answer(&self, text: &[u8], to: &Tap) -> Sorted {
        self.sort_by(text, |id, envelope| self.deliver_with_rmcp(id, to, || envelope.arrival()))
    }

    fn sort_by(
        &self,
        text: &[u8],
        deliver: impl FnOnce(&RequestId, &Envelope<'_>) -> Option<RequestId>,
    ) -> Sorted {
        let Some(envelope) = Envelope::of(text) else {
            return Sorted::Stray;
        };
        match (&envelope.id, envelope.method.as_deref()) {
            (Some(id), None) => match deliver(id, &envelope) {
                Some(id) => Sorted::Delivered(id),
                None => {
                    self.stray(id);
                    Sorted::Unasked
                }
            },
            (Some(id), Some("initialize" | "server/discover")) => Sorted::Echo(id.clone()),
            (Some(id), Some(_)) => Sorted::Request(id.clone()),
            (None, Some("notifications/progress")) => {
                let progress = envelope.params.and_then(|params| serde_json::from_str(params.get()).ok());
                if let Some(progress) = progress {
                    self.progress(&progress);
                }
                Sorted::Other
            }
            (None, Some("notifications/tools/list_changed")) => {
                self.events().send(Event::ToolsChanged);
                Sorted::Other
            }
            (None, Some("notifications/cancelled")) => {
                let cancelled =
                    envelope.params.and_then(|params| serde_json::from_str::<Cancelled>(params.get()).ok());
                if let Some(Cancelled { request_id }) = cancelled {
                    self.asked().cancelled(&request_id);
                }
                Sorted::Other
            }
            (None, _) => Sorted::Other,
        }
    }

    fn progress(&self, progress: &ProgressNotificationParam) {
        let tap = self.by_token(&progress.progress_token);
        if let Some(call) = tap.as_ref().and_then(|tap| tap.call.as_ref()) {
            call.progressed(progress);
        }
    }
}

/// Lets rmcp forget a request that we have answered or given up ourselves.
pub(crate) fn nothing_for(id: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::response(ServerResult::EmptyResult(EmptyResult {}), id)
}
