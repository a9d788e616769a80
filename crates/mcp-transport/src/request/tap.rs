use serde_json::value::RawValue;
#[cfg(feature = "http")]
use tokio::sync::Notify;
use tokio::sync::oneshot;

use crate::{
    Delivery, ToolCall, TransportError,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Follows one request of ours through rmcp to the wire and its answer back.
///
/// It travels to the transport in the extensions of rmcp's request, and is the one place where the bytes
/// of that request are counted and where sending it can be forbidden.
pub(crate) struct Tap {
    /// Its number on this connection.
    pub(crate) key: u64,
    /// The call, when the request is one: its arguments, guard and progress listener.
    pub(crate) call: Option<ToolCall>,
    sending: Mutex<Sending>,
    /// It asks for a page of the tools.
    lists: AtomicBool,
    /// While it was out, an answer came to a request that nobody had made.
    strayed: AtomicBool,
    waiting: Mutex<Waiting>,
    /// Told when it was sealed before the whole of it had left.
    #[cfg(feature = "http")]
    withheld: Notify,
}

/// Whoever waits for what comes of the request.
struct Waiting {
    /// Not dropped before it is told: that would tell, too.
    told: Option<oneshot::Sender<Arrival>>,
    /// What has come, to be found when rmcp's service is done with the request, too: one wake for both.
    finds: Option<Arrival>,
    /// Nobody waits for rmcp any more.
    has_looked: bool,
}

/// How far the request's frame has got. Whoever holds this lock decides whether a byte may leave.
#[derive(Default)]
pub(crate) struct Sending {
    /// Length of the JSON text, without the newline. Zero until there is a frame.
    pub(crate) json_len: usize,
    /// Bytes that the writer has accepted.
    pub(crate) accepted: usize,
    /// Where the JSON text ends among all bytes of its stream, counted from the stream's first. Zero
    /// until its first byte was accepted, and where streams are not counted.
    #[cfg(feature = "stdio")]
    pub(crate) ends_at: u64,
    /// No further byte may be accepted.
    pub(crate) sealed: bool,
}

/// What came of a request: the server's answer, or what ended the wait for it.
pub(crate) type Arrival = Result<Answer, TransportError>;

/// What the server answered, not yet read.
pub(crate) enum Answer {
    Result(Box<RawValue>),
    Error(Box<RawValue>),
}

/// What the seal found: how much of the request the writer had accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// At most a strict prefix of the JSON text, which is never itself a complete JSON text.
    Part,
    /// The whole JSON text; its newline may be missing.
    Whole,
}

impl Extent {
    pub(crate) fn delivery(self) -> Delivery {
        match self {
            Self::Part => Delivery::Unsent,
            Self::Whole => Delivery::Unknown,
        }
    }
}

impl Sending {
    fn extent(&self) -> Extent {
        if self.json_len > 0 && self.accepted >= self.json_len { Extent::Whole } else { Extent::Part }
    }
}

impl Waiting {
    fn tell(&mut self, arrival: Arrival) {
        if self.finds.is_none()
            && let Some(sender) = self.told.take()
        {
            // An error only says that the caller has left.
            let _ = sender.send(arrival);
        }
    }
}

impl Tap {
    pub(crate) fn new(key: u64, call: Option<ToolCall>) -> (Self, oneshot::Receiver<Arrival>) {
        let (arrival, receiver) = oneshot::channel();
        (
            Self {
                key,
                call,
                sending: Mutex::default(),
                lists: AtomicBool::new(false),
                strayed: AtomicBool::new(false),
                waiting: Mutex::new(Waiting { told: Some(arrival), finds: None, has_looked: false }),
                #[cfg(feature = "http")]
                withheld: Notify::new(),
            },
            receiver,
        )
    }

    /// Notes that it asks for a page of the tools.
    pub(crate) fn mark_listing(&self) {
        self.lists.store(true, Ordering::Relaxed);
    }

    /// Whether it asks for a page of the tools.
    #[cfg(feature = "http")]
    pub(crate) fn is_listing(&self) -> bool {
        self.lists.load(Ordering::Relaxed)
    }

    pub(crate) fn sending(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(all(test, feature = "stdio"))]
    pub(crate) fn is_locked(&self) -> bool {
        self.sending.try_lock().is_err()
    }

    /// Forbids any further byte and reads, in the same step, how much had been accepted.
    pub(crate) fn seal(&self) -> Extent {
        let mut sending = self.sending();
        sending.sealed = true;
        let extent = sending.extent();
        #[cfg(feature = "http")]
        if extent == Extent::Part {
            self.withheld.notify_one();
        }
        extent
    }

    /// Waits until it has been given up without having left: whoever is about to send it may stop.
    #[cfg(feature = "http")]
    pub(crate) async fn withheld(&self) {
        self.withheld.notified().await;
    }

    /// Whether the server can have read the request. Before that, nothing that it says is about it.
    pub(crate) fn is_out(&self) -> bool {
        self.sending().extent() == Extent::Whole
    }

    /// Something came for the request, so it counts as read by the server, whatever the count says.
    #[cfg(feature = "http")]
    pub(crate) fn rule_out_proof(&self) {
        let mut sending = self.sending();
        sending.accepted = sending.json_len;
    }

    /// Whether something has come.
    #[cfg(feature = "http")]
    pub(crate) fn has_arrived(&self) -> bool {
        let waiting = self.waiting();
        waiting.told.is_none() || waiting.finds.is_some()
    }

    /// Notes an answer to a request that nobody had made: it may have been meant for this one.
    pub(crate) fn stray(&self) {
        if self.is_out() {
            self.strayed.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn has_strayed(&self) -> bool {
        self.strayed.load(Ordering::Relaxed)
    }

    /// Hands over what came of the request. Only the first arrival counts.
    pub(crate) fn arrive(&self, arrival: Arrival) {
        self.waiting().tell(arrival);
    }

    /// The same where rmcp is told next that the request is over: whoever waits for that finds this.
    #[cfg(feature = "http")]
    pub(crate) fn arrive_with_rmcp(&self, arrival: Arrival) {
        let mut waiting = self.waiting();
        if waiting.has_looked {
            waiting.tell(arrival);
        } else if waiting.told.is_some() && waiting.finds.is_none() {
            waiting.finds = Some(arrival);
        }
    }

    /// What has come without being told. Whatever comes later is.
    pub(crate) fn found(&self) -> Option<Arrival> {
        let mut waiting = self.waiting();
        waiting.has_looked = true;
        waiting.finds.take()
    }

    /// The connection has ended, and rmcp may be told nothing more.
    pub(crate) fn end(&self) {
        let mut waiting = self.waiting();
        let arrival = waiting.finds.take();
        waiting.tell(arrival.unwrap_or_else(|| Err(TransportError::lost())));
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_which_something_came_is_out_whatever_was_counted() {
        let (tap, _arrival) = Tap::new(0, None);
        tap.sending().json_len = 100;
        assert!(!tap.is_out());
        tap.rule_out_proof();
        assert_eq!((tap.is_out(), tap.seal()), (true, Extent::Whole));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_sends_is_told_when_a_request_is_given_up_before_it_has_left_and_only_then() {
        let told = async |accepted: usize| {
            let (tap, _arrival) = Tap::new(0, None);
            let second = std::time::Duration::from_secs(1);
            tap.sending().json_len = 100;
            assert!(tokio::time::timeout(second, tap.withheld()).await.is_err(), "nobody has given it up");
            tap.sending().accepted = accepted;
            tap.seal();
            tokio::time::timeout(second, tap.withheld()).await.is_ok()
        };
        assert!(told(0).await && told(99).await);
        assert!(!told(100).await);
    }

    #[test]
    fn a_request_knows_what_it_asks_for_and_whether_something_came() {
        let (tap, mut arrival) = Tap::new(0, None);
        assert!(!tap.is_listing() && !tap.has_arrived());
        tap.mark_listing();
        tap.arrive(Err(TransportError::lost()));
        tap.arrive(Err(TransportError::cancelled()));
        assert!(tap.is_listing() && tap.has_arrived());
        assert!(arrival.try_recv().unwrap().is_err_and(|error| error.kind().code() == "connection_lost"));
    }

    #[test]
    fn what_rmcp_is_about_to_be_told_is_found_by_whoever_waits_for_that_and_wakes_nobody_before() {
        let (tap, mut arrival) = Tap::new(0, None);
        tap.arrive_with_rmcp(Err(TransportError::lost()));
        assert!(tap.has_arrived());
        tap.arrive(Err(TransportError::cancelled()));
        tap.arrive_with_rmcp(Err(TransportError::cancelled()));
        assert!(matches!(arrival.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
        assert!(tap.found().unwrap().is_err_and(|error| error.kind().code() == "connection_lost"));
    }

    #[test]
    fn what_comes_when_rmcp_is_done_already_is_told_at_once() {
        let (tap, mut arrival) = Tap::new(0, None);
        assert!(tap.found().is_none());
        tap.arrive_with_rmcp(Err(TransportError::lost()));
        assert!(tap.has_arrived() && arrival.try_recv().unwrap().is_err());
    }

    #[test]
    fn an_answer_to_nobody_may_be_meant_for_a_request_that_is_out_and_for_no_other() {
        let (tap, _arrival) = Tap::new(0, None);
        tap.sending().json_len = 100;
        tap.stray();
        assert!(!tap.has_strayed());
        tap.sending().accepted = 100;
        assert!(!tap.has_strayed());
        tap.stray();
        assert!(tap.has_strayed());
    }
}
