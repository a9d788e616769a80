use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_transport::{
    CallReply, Cursor, ErrorClass, Events, Fence, ServerIdentity, TaskReply, TaskRequest, ToolCall, ToolPage,
    Transport, TransportError,
};
use tokio::{sync::Notify, time::Instant};

use crate::hold::Hold;

/// Set beside the count of calls when the connection takes none any more.
const GIVEN_UP: usize = 1 << (usize::BITS - 1);

/// What goes over one connection: how many calls are in flight, and when one was answered last.
pub(super) struct Traffic {
    calls: AtomicUsize,
    /// Nanoseconds from `epoch`; 0 before the first answer.
    answered: AtomicU64,
    /// Somebody wants to know at once when an answer comes, or the last call ends.
    watched: AtomicBool,
    epoch: Instant,
    wake: Arc<Notify>,
}

impl Traffic {
    pub(super) fn new(epoch: Instant, wake: Arc<Notify>) -> Self {
        Self {
            calls: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            watched: AtomicBool::new(false),
            epoch,
            wake,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.calls.load(Ordering::SeqCst) & !GIVEN_UP > 0
    }

    /// When a call was answered last.
    pub(super) fn answered(&self) -> Option<Duration> {
        match self.answered.load(Ordering::SeqCst) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    /// Wakes whoever watches when an answer comes or the last call ends. To be set before looking.
    pub(super) fn watch(&self, watched: bool) {
        self.watched.store(watched, Ordering::SeqCst);
    }

    /// Lets no further call in. False, and nothing has changed, when a call is in flight.
    pub(super) fn give_up(&self) -> bool {
        let given_up = self.calls.compare_exchange(0, GIVEN_UP, Ordering::SeqCst, Ordering::SeqCst);
        matches!(given_up, Ok(_) | Err(GIVEN_UP))
    }

    /// Lets no further call in, whatever is in flight.
    pub(super) fn shut(&self) {
        self.calls.fetch_or(GIVEN_UP, Ordering::SeqCst);
    }

    fn is_given_up(&self) -> bool {
        self.calls.load(Ordering::SeqCst) & GIVEN_UP > 0
    }

    fn enter(self: &Arc<Self>) -> Option<InFlight> {
        let open = |calls| (calls & GIVEN_UP == 0).then_some(calls + 1);
        let entered = self.calls.fetch_update(Ordering::SeqCst, Ordering::SeqCst, open);
        entered.is_ok().then(|| InFlight(Arc::clone(self)))
    }

    fn tell(&self) {
        if self.watched.load(Ordering::SeqCst) {
            self.wake.notify_one();
        }
    }
}

/// One call in flight. Dropping this ends it.
struct InFlight(Arc<Traffic>);

impl InFlight {
    fn answered(&self) {
        let nanos = self.0.epoch.elapsed().as_nanos();
        self.0.answered.fetch_max(u64::try_from(nanos).unwrap_or(u64::MAX).max(1), Ordering::SeqCst);
        self.0.tell();
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.0.calls.fetch_sub(1, Ordering::SeqCst) & !GIVEN_UP == 1 {
            self.0.tell();
        }
    }
}

/// A connection whose traffic is counted. Everything else goes through as it is.
pub(super) struct Counted {
    inner: Arc<dyn Transport>,
    traffic: Arc<Traffic>,
    hold: Option<(Arc<Hold>, ServerIdentity)>,
}

impl Counted {
    pub(super) fn new(inner: Arc<dyn Transport>, traffic: Arc<Traffic>) -> Self {
        Self { inner, traffic, hold: None }
    }

    /// Notes for how long this server asks to be left alone.
    pub(super) fn noting(self, hold: Arc<Hold>, identity: ServerIdentity) -> Self {
        Self { hold: Some((hold, identity)), ..self }
    }

    fn note(&self, error: &TransportError) {
        if let Some((hold, identity)) = &self.hold {
            hold.note(identity, error);
        }
    }
}

impl Counted {
    fn counted<'f, T: Send + 'f>(
        &'f self,
        request: impl FnOnce(&'f dyn Transport) -> BoxFuture<'f, Result<T, TransportError>>,
    ) -> BoxFuture<'f, Result<T, TransportError>> {
        let Some(in_flight) = self.traffic.enter() else {
            return Box::pin(std::future::ready(Err(TransportError::closed())));
        };
        let request = request(&*self.inner);
        Box::pin(async move {
            let outcome = request.await;
            match &outcome {
                Ok(_) => in_flight.answered(),
                Err(error) => self.note(error),
            }
            outcome
        })
    }
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Written by hand rather than with `#[async_trait]`, so that forwarding allocates no second box.
impl Transport for Counted {
    fn call_tool<'s, 'f>(&'s self, call: ToolCall) -> BoxFuture<'f, Result<CallReply, TransportError>>
    where
        's: 'f,
        Self: 'f,
    {
        self.counted(|inner| inner.call_tool(call))
    }

    fn task<'s, 'f>(&'s self, request: TaskRequest) -> BoxFuture<'f, Result<TaskReply, TransportError>>
    where
        's: 'f,
        Self: 'f,
    {
        self.counted(|inner| inner.task(request))
    }

    fn list_tools<'s, 'f>(&'s self, cursor: Option<Cursor>) -> BoxFuture<'f, Result<ToolPage, TransportError>>
    where
        's: 'f,
        Self: 'f,
    {
        self.inner.list_tools(cursor)
    }

    fn is_closed(&self) -> bool {
        self.traffic.is_given_up() || self.inner.is_closed()
    }

    fn close<'s, 'f>(&'s self) -> BoxFuture<'f, Fence>
    where
        's: 'f,
        Self: 'f,
    {
        self.inner.close()
    }

    fn retire<'s, 'f>(&'s self) -> BoxFuture<'f, Fence>
    where
        's: 'f,
        Self: 'f,
    {
        self.inner.retire()
    }

    fn classify(&self, error: &TransportError) -> ErrorClass {
        self.inner.classify(error)
    }

    fn probe<'s, 'f>(&'s self) -> BoxFuture<'f, Result<(), TransportError>>
    where
        's: 'f,
        Self: 'f,
    {
        let probe = self.inner.probe();
        Box::pin(async move { probe.await.inspect_err(|error| self.note(error)) })
    }

    fn is_probed(&self) -> bool {
        self.inner.is_probed()
    }

    fn events(&self) -> Events {
        self.inner.events()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use mcp_transport::{Delivery, ErrorKind, Gate, ScriptedTransport};

    use super::*;

    fn traffic() -> Arc<Traffic> {
        Arc::new(Traffic::new(Instant::now(), Arc::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_given_up_only_when_nothing_is_in_flight_and_takes_nothing_then() {
        let (traffic, gate) = (traffic(), Gate::new());
        let server = Arc::new(ScriptedTransport::new().hang(&gate).answer());
        let counted = Counted::new(Arc::clone(&server) as _, Arc::clone(&traffic));
        let mut call = counted.call_tool(ToolCall::new("put").started());
        assert!((&mut call).now_or_never().is_none() && traffic.is_busy());
        assert!(!traffic.give_up() && !counted.is_closed());
        gate.open();
        assert!(call.await.is_ok());
        assert!(!traffic.is_busy() && traffic.give_up() && traffic.give_up());
        assert!(counted.is_closed() && !server.is_closed());
        let error = counted.call_tool(ToolCall::new("put").started()).await.unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Closed, Delivery::Unsent));
        assert_eq!(server.calls(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_dropped_is_in_flight_no_more_and_a_shut_connection_lets_its_calls_end() {
        let (traffic, gate) = (traffic(), Gate::new());
        let server = ScriptedTransport::new().hang(&gate).hang(&gate).answer();
        let counted = Counted::new(Arc::new(server), Arc::clone(&traffic));
        let mut dropped = counted.call_tool(ToolCall::new("put").started());
        assert!((&mut dropped).now_or_never().is_none());
        drop(dropped);
        assert!(!traffic.is_busy());
        let mut call = counted.call_tool(ToolCall::new("put").started());
        assert!((&mut call).now_or_never().is_none());
        traffic.shut();
        assert!(traffic.is_busy() && counted.is_closed() && !traffic.give_up());
        assert!(counted.call_tool(ToolCall::new("put").started()).await.is_err());
        gate.open();
        assert!(call.await.is_ok() && !traffic.is_busy() && traffic.give_up());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_watches_is_woken_by_an_answer_and_by_the_end_of_the_last_call() {
        for watched in [true, false] {
            for answers in [true, false] {
                let (traffic, gate) = (traffic(), Gate::new());
                let server = ScriptedTransport::new().hang(&gate);
                let server = if answers { server.answer() } else { server.lose() };
                let counted = Counted::new(Arc::new(server), Arc::clone(&traffic));
                let call = counted.call_tool(ToolCall::new("put").started());
                tokio::time::sleep(Duration::from_secs(1)).await;
                traffic.watch(watched);
                gate.open();
                assert_eq!(call.await.is_ok(), answers);
                assert_eq!(traffic.wake.notified().now_or_never().is_some(), watched);
                assert_eq!(traffic.answered(), answers.then(|| Duration::from_secs(1)));
            }
        }
    }

    /// Answers nothing as the provided methods would.
    struct Odd;

    #[async_trait::async_trait]
    impl Transport for Odd {
        async fn call_tool(&self, _: ToolCall) -> Result<CallReply, TransportError> {
            Err(TransportError::unsupported())
        }
        async fn list_tools(&self, _: Option<Cursor>) -> Result<ToolPage, TransportError> {
            Ok(ToolPage::default().with_next("odd"))
        }
        fn is_closed(&self) -> bool {
            true
        }
        async fn close(&self) -> Fence {
            Fence::None
        }
        async fn retire(&self) -> Fence {
            Fence::GroupGone
        }
        fn classify(&self, _: &TransportError) -> ErrorClass {
            ErrorClass::Abort
        }
        async fn probe(&self) -> Result<(), TransportError> {
            Err(TransportError::unsupported())
        }
        fn is_probed(&self) -> bool {
            false
        }
        fn events(&self) -> Events {
            Events::closed()
        }
    }

    #[tokio::test]
    async fn everything_else_goes_through_as_it_is() {
        let counted = Counted::new(Arc::new(Odd), traffic());
        assert!(counted.call_tool(ToolCall::new("put")).await.is_err());
        assert_eq!(counted.list_tools(None).await.unwrap().next, Some(Cursor::new("odd")));
        assert!(counted.is_closed() && !counted.is_probed());
        assert_eq!((counted.close().await, counted.retire().await), (Fence::None, Fence::GroupGone));
        assert_eq!(counted.classify(&TransportError::lost()), ErrorClass::Abort);
        assert_eq!(counted.probe().await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(counted.events().next().await, mcp_transport::Event::Closed);
    }
}
