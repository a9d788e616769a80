use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use rmcp::model::{ProgressToken, RequestId};
use tokio::sync::oneshot;

use super::{Arrival, Asked, Questions, Tap};
use crate::{
    Event, EventSender, Events, ToolCall, TransportError,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The requests under way on one connection, and the connection's events.
#[derive(Default)]
pub(crate) struct Requests {
    taps: Mutex<Taps>,
    /// Takes no further request. Set under the lock of the taps; looked at without it, by every call.
    ended: AtomicBool,
    events: EventSender,
    /// The other direction: what the server asks meanwhile.
    questions: Arc<Questions>,
    #[cfg(feature = "http")]
    in_session: std::sync::OnceLock<()>,
    /// How much of that may be without an answer.
    asked: Arc<Asked>,
}

#[derive(Default)]
struct Taps {
    next: u64,
    /// In the order in which they were begun, which is also that in which they fail together.
    live: BTreeMap<u64, Entry>,
    by_id: HashMap<RequestId, u64>,
    by_token: HashMap<ProgressToken, u64>,
    /// The greatest number that rmcp has given to a request of ours; it counts up.
    last_id: i64,
}

struct Entry {
    tap: Arc<Tap>,
    /// Its answer has come, and waits to be found.
    answered: bool,
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

impl Requests {
    /// The server's own requests are taken in within these bounds.
    pub(crate) fn new(asked: Asked) -> Self {
        Self { asked: Arc::new(asked), ..Self::default() }
    }

    pub(crate) fn asked(&self) -> &Arc<Asked> {
        &self.asked
    }

    /// Begins to follow a request, before rmcp is asked to send it.
    pub(crate) fn open(
        &self,
        call: Option<ToolCall>,
    ) -> Result<(Arc<Tap>, oneshot::Receiver<Arrival>), TransportError> {
        let mut taps = self.taps();
        if self.is_ended() {
            return Err(TransportError::closed());
        }
        let key = taps.next;
        taps.next += 1;
        let (tap, arrival) = Tap::new(key, call);
        let tap = Arc::new(tap);
        taps.live.insert(key, Entry { tap: tap.clone(), answered: false, id: None, token: None });
        Ok((tap, arrival))
    }

    /// rmcp has given the request its id. False when it is followed no longer: it must not be sent.
    pub(crate) fn register(&self, tap: &Tap, id: &RequestId, token: Option<ProgressToken>) -> bool {
        let mut taps = self.taps();
        let Some(entry) = taps.live.get_mut(&tap.key) else {
            return false;
        };
        entry.id = Some(id.clone());
        entry.token = token.clone();
        if let RequestId::Number(number) = id {
            taps.last_id = taps.last_id.max(*number);
        }
        taps.by_id.insert(id.clone(), tap.key);
        if let Some(token) = token {
            taps.by_token.insert(token, tap.key);
        }
        true
    }

    /// Hands a request what came for it, and follows it no longer. Returns its id as we wrote it.
    ///
    /// None when nobody waits for this id, or when its request cannot have been read yet: then what came
    /// answers some other request, such as one of a session that a relay has replaced.
    ///
    /// Under the lock: whoever gives the request up afterwards finds the arrival.
    pub(crate) fn deliver(&self, id: &RequestId, arrival: impl FnOnce() -> Arrival) -> Option<RequestId> {
        let mut taps = self.taps();
        let key = self.asked_by(&taps, id)?;
        let entry = taps.remove(key)?;
        entry.tap.arrive(arrival());
        entry.id
    }

    /// The same for what came in answer to one request, of which rmcp is told next. Where it is that
    /// request's, it is found by whoever waits for rmcp; the request is followed until then, or until the
    /// connection ends.
    #[cfg(feature = "http")]
    pub(crate) fn deliver_with_rmcp(
        &self,
        id: &RequestId,
        to: &Tap,
        arrival: impl FnOnce() -> Arrival,
    ) -> Option<RequestId> {
        let mut taps = self.taps();
        let key = self.asked_by(&taps, id)?;
        let Entry { tap, id, .. } = taps.remove(key)?;
        if key == to.key {
            tap.arrive_with_rmcp(arrival());
            taps.live.insert(key, Entry { tap, answered: true, id: None, token: None });
        } else {
            tap.arrive(arrival());
        }
        id
    }

    /// Which request it is that an answer with this id is for.
    fn asked_by(&self, taps: &Taps, id: &RequestId) -> Option<u64> {
        let key = taps.key_of(id)?;
        if !taps.live.get(&key)?.tap.is_out() {
            return None;
        }
        self.questions.answered(key);
        Some(key)
    }

    /// Nobody waits for an answer with this id. One that was never given to a request may have been meant
    /// for any of those that are out; others only come late.
    pub(crate) fn stray(&self, id: &RequestId) {
        let taps = self.taps();
        let number = match id {
            RequestId::Number(number) => Some(*number),
            RequestId::String(text) => text.parse().ok(),
        };
        if number.is_none_or(|number| number < 0 || number > taps.last_id) {
            taps.live.values().for_each(|entry| entry.tap.stray());
        }
    }

    /// Follows a request no longer. Returns its id, if rmcp had given it one and it was not answered.
    pub(crate) fn forget(&self, tap: &Tap) -> Option<RequestId> {
        let entry = self.taps().remove(tap.key)?;
        if !entry.answered {
            self.questions.give_up(tap.key);
        }
        entry.id
    }

    /// The request that is under way with this progress token, if the server can have read it.
    pub(crate) fn by_token(&self, token: &ProgressToken) -> Option<Arc<Tap>> {
        let taps = self.taps();
        let key = taps.by_token.get(token)?;
        taps.live.get(key).map(|entry| entry.tap.clone()).filter(|tap| tap.is_out())
    }

    /// The connection has ended: every request under way fails now, each with its own evidence.
    pub(crate) fn end(&self) {
        let mut taps = self.taps();
        taps.by_id.clear();
        taps.by_token.clear();
        // Before anybody is told: who is sees it.
        let was_open = !self.ended.swap(true, Ordering::AcqRel);
        for entry in std::mem::take(&mut taps.live).into_values() {
            entry.tap.end();
        }
        drop(taps);
        self.questions.end();
        if was_open {
            self.events.send(Event::Closed);
        }
    }

    /// Takes no further request; those under way go on.
    #[cfg(feature = "http")]
    pub(crate) fn refuse_further(&self) {
        let was_open = {
            let _taps = self.taps();
            !self.ended.swap(true, Ordering::AcqRel)
        };
        if was_open {
            self.events.send(Event::Closed);
        }
    }

    /// The server has given this connection a session.
    #[cfg(feature = "http")]
    pub(crate) fn enter_session(&self) {
        self.in_session.get_or_init(|| ());
    }

    #[cfg(feature = "http")]
    pub(crate) fn is_in_session(&self) -> bool {
        self.in_session.get().is_some()
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    #[cfg(feature = "stdio")]
    pub(crate) fn is_empty(&self) -> bool {
        self.taps().live.is_empty()
    }

    pub(crate) fn questions(&self) -> &Arc<Questions> {
        &self.questions
    }

    pub(crate) fn events(&self) -> &EventSender {
        &self.events
    }

    /// The events from now on. Who asks after the end, or while it comes, is told of it all the same.
    pub(crate) fn subscribe(&self) -> Events {
        let events = self.events.subscribe();
        if self.is_ended() { Events::closed() } else { events }
    }

    /// Everything that is kept for requests: nothing, when none is under way.
    #[cfg(all(test, feature = "stdio"))]
    pub(crate) fn kept(&self) -> usize {
        let taps = self.taps();
        taps.live.len() + taps.by_id.len() + taps.by_token.len()
    }

    fn taps(&self) -> MutexGuard<'_, Taps> {
        self.taps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use std::{
        pin::pin,
        task::{Context, Wake, Waker},
    };

    use super::*;
    use crate::request::Answer;

    fn answer() -> Arrival {
        Ok(Answer::Result(serde_json::value::RawValue::from_string("{}".to_owned()).expect("it is JSON")))
    }

    /// Requests with one that is out, under the id 1.
    fn with_one_out() -> (Arc<Requests>, Arc<Tap>, oneshot::Receiver<Arrival>) {
        let requests = Arc::new(Requests::default());
        let (tap, arrival) = requests.open(None).unwrap();
        assert!(requests.register(&tap, &RequestId::Number(1), Some(ProgressToken(RequestId::Number(1)))));
        tap.sending().json_len = 1;
        tap.rule_out_proof();
        (requests, tap, arrival)
    }

    /// Looks whether the connection has ended when it is woken.
    struct Looks(Arc<Requests>, std::sync::Mutex<Option<bool>>);

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            *self.1.lock().unwrap() = Some(self.0.is_ended());
        }
    }

    #[test]
    fn whoever_is_told_of_the_end_sees_it() {
        let (requests, _, arrival) = with_one_out();
        let looks = Arc::new(Looks(requests.clone(), std::sync::Mutex::default()));
        let (waker, mut arrival) = (Waker::from(looks.clone()), pin!(arrival));
        assert!(arrival.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        requests.end();
        assert_eq!(*looks.1.lock().unwrap(), Some(true));
    }

    #[test]
    fn an_answer_that_waits_to_be_found_is_told_when_the_connection_ends() {
        let (requests, tap, mut arrival) = with_one_out();
        assert!(requests.deliver_with_rmcp(&RequestId::Number(1), &tap, answer).is_some());
        assert!(arrival.try_recv().is_err());
        requests.end();
        assert!(arrival.try_recv().unwrap().is_ok());
    }

    #[test]
    fn an_answer_that_waits_to_be_found_is_the_last_that_is_taken_for_its_request() {
        let (requests, tap, _arrival) = with_one_out();
        assert!(requests.deliver_with_rmcp(&RequestId::Number(1), &tap, answer).is_some());
        assert!(requests.deliver(&RequestId::Number(1), || Err(TransportError::cancelled())).is_none());
        assert!(requests.by_token(&ProgressToken(RequestId::Number(1))).is_none());
        assert!(requests.forget(&tap).is_none(), "nothing is left to be cancelled");
        assert!(tap.found().unwrap().is_ok());
        assert!(requests.taps().live.is_empty());
    }
    #[test]
    fn an_answer_to_a_number_that_was_never_given_may_be_meant_for_any_request_that_is_out() {
        let strayed = |id: RequestId| {
            let (requests, tap, _arrival) = with_one_out();
            requests.stray(&id);
            tap.has_strayed()
        };
        for number in [-1, 2, 100] {
            assert!(strayed(RequestId::Number(number)), "{number}");
            assert!(strayed(RequestId::String(number.to_string().into())), "\"{number}\"");
        }
        for number in [0, 1] {
            assert!(!strayed(RequestId::Number(number)), "{number} comes late");
        }
        assert!(strayed(RequestId::String("one".into())));
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_no_further_request_tells_of_its_end_at_once_and_loses_none() {
        let (requests, _tap, mut arrival) = with_one_out();
        let mut events = requests.subscribe();
        requests.refuse_further();
        assert!(requests.is_ended() && requests.open(None).is_err() && arrival.try_recv().is_err());
        let told = tokio::time::timeout(std::time::Duration::from_secs(1), events.next()).await;
        assert_eq!(told, Ok(Event::Closed));
        assert!(requests.deliver(&RequestId::Number(1), answer).is_some());
        assert!(arrival.try_recv().unwrap().is_ok());
    }

    #[test]
    fn a_session_is_entered_once_and_for_all() {
        let requests = Requests::default();
        assert!(!requests.is_in_session());
        requests.enter_session();
        requests.enter_session();
        assert!(requests.is_in_session());
    }
}
