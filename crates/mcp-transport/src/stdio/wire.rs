use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    model::{
        CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage,
        Notification, ProgressToken, RequestId, RequestMetaObject,
    },
    service::{RoleClient, TxJsonRpcMessage},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    frame::CallFrame,
    outbox::{Outbox, Sent},
    tap::{Arrival, Extent, Tap},
};
use crate::{Event, EventSender, ToolCall, TransportError};

/// What the two directions of one connection share: the outbox, the requests under way, the events.
pub(super) struct Wire {
    pub(super) outbox: Outbox,
    pub(super) events: EventSender,
    taps: Mutex<Taps>,
    /// Ids whose entry rmcp may forget: we answered or gave up the request ourselves.
    releases: mpsc::UnboundedSender<RequestId>,
    /// Ends the reader.
    pub(super) stop: CancellationToken,
    /// The child has exited: what is still in the pipe is read, then the connection ends.
    pub(super) child_gone: CancellationToken,
    /// Cancelled when the last request under way has ended after the outbox broke.
    drained: CancellationToken,
}

#[derive(Default)]
struct Taps {
    next: u64,
    live: HashMap<u64, Entry>,
    by_id: HashMap<RequestId, u64>,
    by_token: HashMap<ProgressToken, u64>,
    ended: bool,
}

struct Entry {
    tap: Arc<Tap>,
    id: Option<RequestId>,
    token: Option<ProgressToken>,
}

impl Taps {
    fn remove(&mut self, key: u64) -> Option<Entry> {
        let entry = self.live.remove(&key)?;
        if let Some(id) = &entry.id {
            self.by_id.remove(id);
        }
        if let Some(token) = &entry.token {
            self.by_token.remove(token);
        }
        Some(entry)
    }

    fn key_of(&self, id: &RequestId) -> Option<u64> {
        // Some servers answer the number 1 with the string "1"; rmcp takes that, too.
        self.by_id.get(id).copied().or_else(|| match id {
            RequestId::String(text) => self.by_id.get(&RequestId::Number(text.parse().ok()?)).copied(),
            RequestId::Number(_) => None,
        })
    }
}

impl Wire {
    pub(super) fn new(outbox: Outbox) -> (Arc<Self>, mpsc::UnboundedReceiver<RequestId>) {
        let (releases, released) = mpsc::unbounded_channel();
        let wire = Self {
            outbox,
            events: EventSender::default(),
            taps: Mutex::default(),
            releases,
            stop: CancellationToken::new(),
            child_gone: CancellationToken::new(),
            drained: CancellationToken::new(),
        };
        (Arc::new(wire), released)
    }

    /// Begins to follow a request, before rmcp is asked to send it.
    pub(super) fn open(
        &self,
        call: Option<ToolCall>,
    ) -> Result<(Arc<Tap>, oneshot::Receiver<Arrival>), TransportError> {
        let mut taps = self.taps();
        if taps.ended || self.outbox.is_broken() {
            return Err(TransportError::closed());
        }
        let key = taps.next;
        taps.next += 1;
        let (tap, arrival) = Tap::new(key, call);
        let tap = Arc::new(tap);
        taps.live.insert(key, Entry { tap: tap.clone(), id: None, token: None });
        Ok((tap, arrival))
    }

    /// Hands a request what came for it, and follows it no longer. Returns its id as we wrote it.
    ///
    /// None when nobody waits for this id, or when its request cannot have been read yet: then what came
    /// answers some other request, such as one of a session that a relay has replaced.
    pub(super) fn deliver(&self, id: &RequestId, arrival: impl FnOnce() -> Arrival) -> Option<RequestId> {
        let mut taps = self.taps();
        let key = taps.key_of(id)?;
        if !taps.live.get(&key)?.tap.is_out() {
            return None;
        }
        let entry = taps.remove(key)?;
        // Under the lock: whoever gives the request up afterwards finds the arrival.
        entry.tap.arrive(arrival());
        self.after_removal(&taps);
        entry.id
    }

    /// Gives a request up: nothing more of it is sent, the server is told if it can have read it, and
    /// rmcp forgets it. Returns how much of it had been accepted.
    pub(super) fn give_up(&self, tap: &Arc<Tap>) -> Extent {
        let extent = tap.seal();
        self.outbox.cut(tap);
        let id = {
            let mut taps = self.taps();
            let entry = taps.remove(tap.key);
            self.after_removal(&taps);
            entry.and_then(|entry| entry.id)
        };
        if let Some(id) = id {
            if extent == Extent::Whole {
                self.tell_cancelled(id.clone());
            }
            // An error only says that the reader has ended, and rmcp with it.
            let _ = self.releases.send(id);
        }
        extent
    }

    /// The request that is under way with this progress token, if the server can have read it.
    pub(super) fn by_token(&self, token: &ProgressToken) -> Option<Arc<Tap>> {
        let taps = self.taps();
        let key = taps.by_token.get(token)?;
        taps.live.get(key).map(|entry| entry.tap.clone()).filter(|tap| tap.is_out())
    }

    /// The connection has ended: every request under way fails now, each with its own evidence.
    pub(super) fn end(&self) {
        self.outbox.stop();
        let mut taps = self.taps();
        taps.by_id.clear();
        taps.by_token.clear();
        for (_, entry) in taps.live.drain() {
            entry.tap.arrive(Err(TransportError::lost()));
        }
        let was_open = !std::mem::replace(&mut taps.ended, true);
        drop(taps);
        self.drained.cancel();
        if was_open {
            self.events.send(Event::Closed);
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.taps().ended
    }

    /// Whether nothing more can be sent.
    pub(super) fn is_closed(&self) -> bool {
        self.is_ended() || self.outbox.is_broken()
    }

    /// Waits until a connection that cannot send any more has no request under way. Each of them has a
    /// deadline, so this is bounded.
    pub(super) async fn drain(&self) {
        {
            let taps = self.taps();
            self.after_removal(&taps);
        }
        self.drained.cancelled().await;
    }

    /// Takes a message from rmcp: the bytes are accepted, or queued, before this returns.
    pub(super) fn send(&self, message: TxJsonRpcMessage<RoleClient>) -> Sent {
        let request = match &message {
            JsonRpcMessage::Request(request) => Some((&request.request, &request.id)),
            _ => None,
        };
        let Some((tap, id, meta)) = request.and_then(|(request, id)| {
            let extensions = match request {
                ClientRequest::CallToolRequest(request) => &request.extensions,
                ClientRequest::ListToolsRequest(request) => &request.extensions,
                _ => return None,
            };
            Some((extensions.get::<Arc<Tap>>()?.clone(), id, extensions.get::<RequestMetaObject>()))
        }) else {
            return match serde_json::to_vec(&message) {
                Ok(json) => self.outbox.push(json, None),
                Err(error) => Sent::Now(Err(error.into())),
            };
        };
        let token = meta.and_then(RequestMetaObject::get_progress_token);
        if !self.register(&tap, id, token) {
            return Sent::Now(Err(io::ErrorKind::NotConnected.into()));
        }
        let json = match &tap.call {
            Some(call) => serde_json::to_vec(&CallFrame::new(call, id, meta)),
            None => serde_json::to_vec(&message),
        };
        match json {
            Ok(json) => self.outbox.push(json, Some(tap)),
            Err(error) => {
                tap.arrive(Err(TransportError::other(error)));
                Sent::Now(Err(io::ErrorKind::InvalidData.into()))
            }
        }
    }

    /// Sends a message of our own.
    pub(super) fn send_own(&self, message: &ClientJsonRpcMessage) {
        if let Ok(json) = serde_json::to_vec(message) {
            drop(self.outbox.push(json, None));
        }
    }

    fn register(&self, tap: &Tap, id: &RequestId, token: Option<ProgressToken>) -> bool {
        let mut taps = self.taps();
        let Some(entry) = taps.live.get_mut(&tap.key) else {
            return false;
        };
        entry.id = Some(id.clone());
        entry.token = token.clone();
        taps.by_id.insert(id.clone(), tap.key);
        if let Some(token) = token {
            taps.by_token.insert(token, tap.key);
        }
        true
    }

    fn tell_cancelled(&self, id: RequestId) {
        let params = CancelledNotificationParam::new(Some(id), Some("the caller gave up".to_owned()));
        let notification = ClientNotification::CancelledNotification(Notification::new(params));
        self.send_own(&ClientJsonRpcMessage::notification(notification));
    }

    /// Everything that is kept for requests: nothing, when none is under way.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        let taps = self.taps();
        taps.live.len() + taps.by_id.len() + taps.by_token.len() + self.outbox.waiting()
    }

    fn after_removal(&self, taps: &Taps) {
        if taps.live.is_empty() && self.outbox.is_broken() {
            self.drained.cancel();
        }
    }

    fn taps(&self) -> MutexGuard<'_, Taps> {
        self.taps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
