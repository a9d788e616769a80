use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId};
use tokio::{sync::Notify, time::Instant};

/// How many requests of the server may be without an answer at a time, where nobody says otherwise.
pub(crate) const DEFAULT_MAX_UNANSWERED: usize = 256;
/// How long a request may be on its way to its handler before it counts as lost there: rmcp takes none
/// up before the handshake is done, nor what waits for a stream that it drops.
const ON_ITS_WAY: Duration = Duration::from_secs(10);

/// The server's own requests (a ping, a question to the user) that are not answered yet.
///
/// Each costs memory until its answer has left, and the server decides how many there are: it may never
/// read an answer. So their number and their text have bounds.
pub(crate) struct Asked {
    max: usize,
    max_bytes: usize,
    open: Mutex<Open>,
    /// Told when there is room again.
    room: Notify,
}

#[derive(Default)]
struct Open {
    requests: HashMap<RequestId, Request>,
    bytes: usize,
}

struct Request {
    bytes: usize,
    since: Instant,
    stage: Stage,
    /// The server wants no answer any more; rmcp gives none unless it is already on its way.
    cancelled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not yet with its handler.
    OnItsWay,
    /// With its handler.
    Attended,
    /// Its handler has ended.
    Handled,
    /// Its answer waits for the server to take it.
    Answering,
}

/// What becomes of a request of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Admitted,
    /// Too much is unanswered.
    Full,
    /// Its id is that of a request that is not answered yet.
    Repeated,
}

impl Default for Asked {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_UNANSWERED, usize::MAX)
    }
}

impl Asked {
    /// At most this many requests, of at most this many bytes together. One alone may have more.
    pub(crate) fn new(max: usize, max_bytes: usize) -> Self {
        Self { max, max_bytes, open: Mutex::default(), room: Notify::new() }
    }

    /// Takes a request in, if there is room for it.
    pub(crate) fn admit(&self, id: &RequestId, bytes: usize) -> Admission {
        let mut open = self.open();
        if open.requests.contains_key(id) {
            return Admission::Repeated;
        }
        if !open.has_room(self.max, self.max_bytes, bytes) {
            open.forget_lost();
            if !open.has_room(self.max, self.max_bytes, bytes) {
                return Admission::Full;
            }
        }
        let request = Request { bytes, since: Instant::now(), stage: Stage::OnItsWay, cancelled: false };
        open.requests.insert(id.clone(), request);
        open.bytes += bytes;
        Admission::Admitted
    }

    /// Waits until there is room for a request. False when it is to be dropped. Safe to cancel.
    #[cfg(feature = "http")]
    pub(crate) async fn admitted(&self, id: &RequestId, bytes: usize) -> bool {
        loop {
            let room = self.room.notified();
            match self.admit(id, bytes) {
                Admission::Admitted => return true,
                Admission::Repeated => return false,
                // What was lost on its way makes room without being told of.
                Admission::Full => drop(tokio::time::timeout(ON_ITS_WAY, room).await),
            }
        }
    }

    /// The server takes a request back.
    pub(crate) fn cancelled(&self, id: &RequestId) {
        self.change(id, |request| request.cancelled = true);
    }

    /// rmcp gives a request to its handler.
    pub(crate) fn attend(&self, id: &RequestId) -> Attending<'_> {
        self.change(id, |request| request.stage = Stage::Attended);
        Attending { asked: self, id: id.clone() }
    }

    fn change(&self, id: &RequestId, change: impl FnOnce(&mut Request)) {
        let mut open = self.open();
        if let Some(request) = open.requests.get_mut(id) {
            change(request);
            if request.cancelled && request.stage == Stage::Handled {
                self.forget(&mut open, id);
            }
        }
    }

    /// rmcp hands over the answer.
    pub(crate) fn answering(self: &Arc<Self>, message: &ClientJsonRpcMessage) -> Option<Answering> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        }?;
        // One whose request was thought to be over counts again.
        let late = || Request { bytes: 0, since: Instant::now(), stage: Stage::Answering, cancelled: false };
        self.open().requests.entry(id.clone()).or_insert_with(late).stage = Stage::Answering;
        Some(Answering { asked: Arc::clone(self), id: id.clone() })
    }

    fn forget(&self, open: &mut Open, id: &RequestId) {
        if let Some(request) = open.requests.remove(id) {
            open.bytes -= request.bytes;
            self.room.notify_waiters();
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn has_room(&self, max: usize, max_bytes: usize, bytes: usize) -> bool {
        self.requests.is_empty() || self.requests.len() < max && self.bytes.saturating_add(bytes) <= max_bytes
    }

    fn forget_lost(&mut self) {
        let mut lost = 0;
        self.requests.retain(|_, request| {
            let is_lost = request.stage == Stage::OnItsWay && request.since.elapsed() >= ON_ITS_WAY;
            lost += if is_lost { request.bytes } else { 0 };
            !is_lost
        });
        self.bytes -= lost;
    }
}

/// The answer to a request is being sent. However that ends, the request is over.
pub(crate) struct Answering {
    asked: Arc<Asked>,
    id: RequestId,
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut open = self.asked.open();
        self.asked.forget(&mut open, &self.id);
    }
}

/// A request is with its handler.
pub(crate) struct Attending<'a> {
    asked: &'a Asked,
    id: RequestId,
}

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        self.asked.change(&self.id, |request| {
            if request.stage == Stage::Attended {
                request.stage = Stage::Handled;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_text_of_what_is_unanswered_has_a_bound_but_one_request_is_always_taken() {
        let asked = Arc::new(Asked::new(10, 100));
        let [first, second, third] = [1, 2, 3].map(RequestId::Number);
        assert_eq!(asked.admit(&first, 1_000), Admission::Admitted);
        assert_eq!(asked.admit(&second, 0), Admission::Full);
        asked.cancelled(&first);
        drop(asked.attend(&first));
        assert_eq!(asked.admit(&first, 40), Admission::Admitted);
        assert_eq!(asked.admit(&second, 60), Admission::Admitted);
        assert_eq!(asked.admit(&third, 1), Admission::Full);
        // Nobody has taken them up for so long that they count as lost.
        tokio::time::advance(ON_ITS_WAY).await;
        assert_eq!(asked.admit(&third, 100), Admission::Admitted);
        assert_eq!(asked.admit(&second, 1), Admission::Full);
        // Neither what was lost nor what is over is counted any more.
        asked.cancelled(&third);
        drop(asked.attend(&third));
        assert_eq!(asked.admit(&first, 40), Admission::Admitted);
        assert_eq!(asked.admit(&second, 60), Admission::Admitted);
    }

    #[test]
    fn a_request_that_was_taken_back_is_over_when_its_handler_is_and_another_when_its_answer_left() {
        let asked = Arc::new(Asked::new(1, usize::MAX));
        let [first, second] = [1, 2].map(RequestId::Number);
        assert_eq!(asked.admit(&first, 1), Admission::Admitted);
        asked.cancelled(&first);
        assert_eq!(asked.admit(&second, 1), Admission::Full, "it is on its way to its handler");
        let attending = asked.attend(&first);
        assert_eq!(asked.admit(&second, 1), Admission::Full, "it is with its handler");
        drop(attending);
        assert_eq!(asked.admit(&second, 1), Admission::Admitted);
        drop(asked.attend(&second));
        assert_eq!(asked.admit(&first, 1), Admission::Full, "its answer is still to leave");
    }

    #[cfg(feature = "http")]
    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_room_and_a_repeated_one_does_not_wait() {
        let asked = Arc::new(Asked::new(1, usize::MAX));
        let [first, second, third] = [1, 2, 3].map(RequestId::Number);
        assert!(asked.admitted(&first, 1).await);
        assert!(!asked.admitted(&first, 1).await);
        let attending = asked.attend(&first);
        let waiting = tokio::spawn({
            let (asked, second) = (Arc::clone(&asked), second.clone());
            async move { (asked.admitted(&second, 1).await, Instant::now()) }
        });
        let (until, half) = (Instant::now() + ON_ITS_WAY * 5 / 2, ON_ITS_WAY / 2);
        while Instant::now() < until {
            tokio::time::sleep(half).await;
            assert!(!waiting.is_finished());
        }
        let told = Instant::now();
        asked.cancelled(&first);
        drop(attending);
        assert_eq!(waiting.await.unwrap(), (true, told));
        // Nobody tells that the second one is lost.
        let admitted = tokio::time::timeout(10 * ON_ITS_WAY, asked.admitted(&third, 1));
        assert_eq!(admitted.await, Ok(true));
        assert!(told.elapsed() >= ON_ITS_WAY);
    }
}
