use std::{borrow::Cow, future::Future, io, sync::Arc, time::Duration};

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
    lines::{Line, Lines},
    outbox::Sent,
    tap::Arrival,
    wire::Wire,
};
use crate::{Event, TransportError};

/// How long the output of a dead child may stay quiet before it counts as ended, when some other
/// process still holds it open.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// One newline-delimited connection, as rmcp's service loop sees it.
///
/// Answers to our own requests never reach rmcp: they go to their caller as raw JSON, and rmcp gets an
/// empty result in their place, so that it forgets the request.
pub(super) struct LineTransport {
    pub(super) wire: Arc<Wire>,
    pub(super) lines: Lines,
    pub(super) released: mpsc::UnboundedReceiver<RequestId>,
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
            let wire = self.wire.clone();
            let line = tokio::select! {
                biased;
                Some(id) = self.released.recv() => return Some(nothing_for(id)),
                () = wire.stop.cancelled() => None,
                line = self.lines.next() => Some(line),
                () = last_words(&wire) => None,
            };
            match line {
                Some(Line::Whole) => {
                    if let Some(message) = self.accept() {
                        return Some(message);
                    }
                }
                Some(Line::Oversized(id)) => {
                    tracing::debug!("dropped a line over the limit");
                    if let Some((tap, id)) = id.and_then(|id| self.wire.take(&id)) {
                        tap.arrive(Arrival::Failed(TransportError::reply_too_large()));
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

async fn last_words(wire: &Wire) {
    wire.child_gone.cancelled().await;
    tokio::time::sleep(LAST_WORDS).await;
}

/// Lets rmcp forget a request that we have answered or given up ourselves.
fn nothing_for(id: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::response(ServerResult::EmptyResult(EmptyResult {}), id)
}

/// The outermost members of a message, whatever it is.
#[derive(Deserialize)]
struct Envelope<'a> {
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

impl LineTransport {
    /// Takes the line that was read: for one of our requests, or else as a message for rmcp. A line that
    /// is neither harms nothing.
    fn accept(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = self.lines.line();
        // Stray output, such as a banner or a log line on standard output.
        let envelope: Envelope<'_> = serde_json::from_slice(line).ok()?;
        match (&envelope.id, envelope.method.as_deref()) {
            (Some(id), None) => {
                if let Some((tap, id)) = self.wire.take(id) {
                    tap.hear();
                    tap.arrive(match (envelope.result, envelope.error) {
                        (Some(result), None) => Arrival::Result(result.to_owned()),
                        (None, Some(error)) => Arrival::Error(error.to_owned()),
                        _ => Arrival::Failed(TransportError::invalid_reply("neither a result nor an error")),
                    });
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
        if let Some(tap) = self.wire.by_token(&progress.progress_token) {
            tap.hear();
            if let Some(call) = &tap.call {
                call.progressed(progress);
            }
        }
    }
}
