use std::{borrow::Cow, future::Future, io, sync::Arc};

use rmcp::{
    model::{
        ClientJsonRpcMessage, EmptyResult, ErrorData, ProgressNotificationParam, RequestId,
        ServerJsonRpcMessage, ServerResult,
    },
    service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::{
    last_words::LastWords,
    lines::{Line, Lines},
    outbox::Sent,
    tap::{Answer, Arrival},
    wire::Wire,
};
use crate::{Event, TransportError};

/// One newline-delimited connection, as rmcp's service loop sees it.
///
/// Answers to our own requests never reach rmcp: they go to their caller as raw JSON, and rmcp gets an
/// empty result in their place, so that it forgets the request.
pub(super) struct LineTransport {
    wire: Arc<Wire>,
    lines: Lines,
    released: mpsc::UnboundedReceiver<RequestId>,
    last_words: LastWords,
}

impl LineTransport {
    pub(super) fn new(wire: Arc<Wire>, lines: Lines, released: mpsc::UnboundedReceiver<RequestId>) -> Self {
        let last_words = LastWords::of(wire.child_gone.clone());
        Self { wire, lines, released, last_words }
    }
}

impl rmcp::transport::Transport<RoleClient> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let sent = self.wire.send(message);
        async move {
            match sent {
                Sent::Now(result) => result,
                Sent::Later(result) => result.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = tokio::select! {
                biased;
                Some(id) = self.released.recv() => return Some(nothing_for(id)),
                () = self.wire.stop.cancelled() => None,
                line = self.lines.next(), if !self.last_words.are_overdue() => Some(line),
                () = self.last_words.spoken() => None,
            };
            self.last_words.heard();
            match line {
                Some(Line::Whole) => {
                    if let Some(message) = self.accept() {
                        return Some(message);
                    }
                }
                Some(Line::Oversized(id)) => {
                    tracing::debug!("dropped a line over the limit");
                    let too_large = || Err(TransportError::reply_too_large());
                    if let Some(id) = id.and_then(|id| self.wire.deliver(&id, too_large)) {
                        return Some(nothing_for(id));
                    }
                }
                None => {
                    self.wire.end();
                    return None;
                }
                Some(Line::End) => {
                    // An answer that only lacks its newline is an answer.
                    let last = self.accept();
                    self.wire.end();
                    return last;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.wire.end();
        Ok(())
    }

    fn name() -> Cow<'static, str> {
        "mcp-transport lines".into()
    }
}

impl Drop for LineTransport {
    fn drop(&mut self) {
        self.wire.end();
    }
}

/// Lets rmcp forget a request that we have answered or given up ourselves.
fn nothing_for(id: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::response(ServerResult::EmptyResult(EmptyResult {}), id)
}

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

impl<'a> Envelope<'a> {
    /// None for stray output, such as a banner or a log line on standard output, JSON or not.
    fn of(line: &'a [u8]) -> Option<Self> {
        let is_object = line.trim_ascii_start().first() == Some(&b'{');
        let envelope: Self = is_object.then(|| serde_json::from_slice(line).ok())??;
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

impl LineTransport {
    /// Takes the line that was read: for one of our requests, or else as a message for rmcp. A line that
    /// is neither harms nothing.
    fn accept(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = self.lines.line();
        let envelope = Envelope::of(line)?;
        match (&envelope.id, envelope.method.as_deref()) {
            (Some(id), None) => {
                if let Some(id) = self.wire.deliver(id, || envelope.arrival()) {
                    return Some(nothing_for(id));
                }
            }
            (None, Some("notifications/progress")) => {
                let progress = envelope.params.and_then(|params| serde_json::from_str(params.get()).ok());
                if let Some(progress) = progress {
                    self.progress(&progress);
                }
            }
            (None, Some("notifications/tools/list_changed")) => self.wire.events.send(Event::ToolsChanged),
            _ => {}
        }
        let message = serde_json::from_slice(line).ok();
        if let (None, Some(id), Some(_)) = (&message, envelope.id, envelope.method) {
            let error = ErrorData::invalid_request("the request could not be understood", None);
            self.wire.send_own(&ClientJsonRpcMessage::error(error, Some(id)));
        }
        message
    }

    fn progress(&self, progress: &ProgressNotificationParam) {
        let tap = self.wire.by_token(&progress.progress_token);
        if let Some(call) = tap.as_ref().and_then(|tap| tap.call.as_ref()) {
            call.progressed(progress);
        }
    }
}
