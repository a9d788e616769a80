use std::{borrow::Cow, future::Future, io, sync::Arc};

use rmcp::{
    model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage},
    service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage},
};
use tokio::sync::mpsc;

use super::{
    last_words::LastWords,
    lines::{Line, Lines},
    outbox::Sent,
    wire::Wire,
};
use crate::{
    TransportError,
    request::{Sorted, nothing_for},
};

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

impl LineTransport {
    /// Takes the line that was read: for one of our requests, or else as a message for rmcp.
    fn accept(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = self.lines.line();
        match self.wire.sort(line) {
            Sorted::Delivered(id) => Some(nothing_for(id)),
            Sorted::Unasked | Sorted::Other => serde_json::from_slice(line).ok(),
            Sorted::Stray => None,
            Sorted::Request(id) => {
                let message = serde_json::from_slice(line).ok();
                if message.is_none() {
                    let error = ErrorData::invalid_request("the request could not be understood", None);
                    self.wire.send_own(&ClientJsonRpcMessage::error(error, Some(id)));
                }
                message
            }
        }
    }
}
