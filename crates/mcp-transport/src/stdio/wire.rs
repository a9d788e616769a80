use std::{
    io,
    sync::{Arc, atomic::AtomicBool},
};

use rmcp::{
    model::{
        CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ErrorData, Notification,
        RequestId,
    },
    service::{RoleClient, TxJsonRpcMessage},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::outbox::{Outbox, Sent};
use crate::{
    ToolCall, TransportError,
    request::{Arrival, Asked, Carrier, Extent, Outgoing, Questions, Requests, Sorted, Tap},
};

/// How many frames may wait for the server for one of our refusals to be added. They cost the server
/// nothing to provoke.
const MOST_WAITING: usize = 256;

/// What the two directions of one connection share: the outbox, and the requests under way.
pub(super) struct Wire {
    pub(super) outbox: Outbox,
    pub(super) requests: Requests,
    /// Ids whose entry rmcp may forget: we answered or gave up the request ourselves.
    releases: mpsc::UnboundedSender<RequestId>,
    /// Ends the reader.
    pub(super) stop: CancellationToken,
    /// The child has exited: what is still in the pipe is read, then the connection ends.
    pub(super) child_gone: CancellationToken,
    /// Until the handshake is done.
    pub(super) is_shaking_hands: AtomicBool,
    /// What came in then was a request of ours.
    pub(super) echoes: AtomicBool,
    /// Cancelled when the last request under way has ended after the outbox broke.
    drained: CancellationToken,
}

impl Wire {
    pub(super) fn new(outbox: Outbox, asked: Asked) -> (Arc<Self>, mpsc::UnboundedReceiver<RequestId>) {
        let (releases, released) = mpsc::unbounded_channel();
        let wire = Self {
            outbox,
            requests: Requests::new(asked),
            releases,
            stop: CancellationToken::new(),
            child_gone: CancellationToken::new(),
            is_shaking_hands: AtomicBool::new(true),
            echoes: AtomicBool::new(false),
            drained: CancellationToken::new(),
        };
        (Arc::new(wire), released)
    }

    /// Hands a request what came for it; see [`Requests::deliver`].
    pub(super) fn deliver(&self, id: &RequestId, arrival: impl FnOnce() -> Arrival) -> Option<RequestId> {
        let id = self.requests.deliver(id, arrival);
        self.after_removal();
        id
    }

    /// Takes a message that came in; see [`Requests::sort`].
    pub(super) fn sort(&self, text: &[u8]) -> Sorted {
        let sorted = self.requests.sort(text);
        self.after_removal();
        sorted
    }

    /// The connection has ended: every request under way fails now, each with its own evidence.
    pub(super) fn end(&self) {
        self.outbox.stop();
        self.requests.end();
        self.drained.cancel();
    }

    /// Whether it could still turn out that a request under way was never read.
    pub(super) fn may_prove_unread(&self) -> bool {
        !self.requests.is_empty() && self.outbox.may_yet_tell()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.requests.is_ended()
    }

    /// Whether nothing more can be sent.
    pub(super) fn is_closed(&self) -> bool {
        self.is_ended() || self.outbox.is_broken()
    }

    /// Waits until a connection that cannot send any more has no request under way. Each of them has a
    /// deadline, so this is bounded.
    pub(super) async fn drain(&self) {
        self.after_removal();
        self.drained.cancelled().await;
    }

    /// Takes a message from rmcp: the bytes are accepted, or queued, before this returns.
    pub(super) fn send(&self, message: TxJsonRpcMessage<RoleClient>) -> Sent {
        let Some(ours) = Outgoing::of(&message) else {
            return match serde_json::to_vec(&message) {
                Ok(json) => self.outbox.push(json, None),
                Err(error) => Sent::Now(Err(error.into())),
            };
        };
        if !ours.register(&self.requests) {
            return Sent::Now(Err(io::ErrorKind::NotConnected.into()));
        }
        match ours.json(&message) {
            Ok(json) => self.outbox.push(json, Some(ours.tap)),
            Err(error) => {
                ours.tap.arrive(Err(TransportError::other(error)));
                Sent::Now(Err(io::ErrorKind::InvalidData.into()))
            }
        }
    }

    /// Answers a request of the server with an error of our own, unless so much waits for the server that
    /// it can do without.
    pub(super) fn refuse(&self, id: RequestId, error: ErrorData) {
        if self.outbox.waiting() < MOST_WAITING {
            self.send_own(&ClientJsonRpcMessage::error(error, Some(id)));
        }
    }

    /// Sends a message of our own.
    fn send_own(&self, message: &ClientJsonRpcMessage) {
        if let Ok(json) = serde_json::to_vec(message) {
            drop(self.outbox.push(json, None));
        }
    }

    fn tell_cancelled(&self, id: RequestId) {
        let params = CancelledNotificationParam::new(Some(id), Some("the caller gave up".to_owned()));
        let notification = ClientNotification::CancelledNotification(Notification::new(params));
        self.send_own(&ClientJsonRpcMessage::notification(notification));
    }

    /// Everything that is kept for requests: nothing, when none is under way.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.requests.kept() + self.outbox.waiting()
    }

    fn after_removal(&self) {
        if self.outbox.is_broken() && self.requests.is_empty() {
            self.drained.cancel();
        }
    }
}

impl Carrier for Wire {
    fn questions(&self) -> &Questions {
        self.requests.questions()
    }

    fn open(&self, call: Option<ToolCall>) -> Result<(Arc<Tap>, oneshot::Receiver<Arrival>), TransportError> {
        if self.outbox.is_broken() {
            return Err(TransportError::closed());
        }
        self.requests.open(call)
    }

    fn give_up(&self, tap: &Arc<Tap>) -> Extent {
        let extent = match tap.seal() {
            Extent::Whole if !self.outbox.may_be_read(tap) => Extent::Part,
            extent => extent,
        };
        self.outbox.cut(tap);
        let id = self.requests.forget(tap);
        self.after_removal();
        if let Some(id) = id {
            if extent == Extent::Whole {
                self.tell_cancelled(id.clone());
            }
            // An error only says that the reader has ended, and rmcp with it.
            let _ = self.releases.send(id);
        }
        extent
    }
}
