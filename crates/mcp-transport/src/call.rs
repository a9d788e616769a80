use std::{
    borrow::Cow,
    fmt,
    future::Future,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::model::{
    CallToolRequestParams, InputRequiredResult, InputResponses, JsonObject, ProgressNotificationParam,
    RequestMetaObject,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{CallReply, Guard, Progress, TransportError};

/// The default deadline over all attempts of one call.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(600);
/// The default time without an answer and without progress.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// Further than any deadline that anybody waits for; keeps `Instant` arithmetic from overflowing.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// One call of a tool: its name, its arguments and the bounds under which it may be attempted.
///
/// Cheap to clone: the arguments live once, behind an [`Arc`]. `Debug` prints neither arguments nor
/// metadata nor what was answered to a question.
///
/// ```
/// use std::time::Duration;
/// use mcp_transport::ToolCall;
///
/// let call = ToolCall::new("put")
///     .with_argument("key", "greeting")
///     .with_argument("value", "hello")
///     .with_deadline(Duration::from_secs(60));
/// assert_eq!(call.name(), "put");
/// ```
#[derive(Clone)]
pub struct ToolCall {
    name: Arc<str>,
    arguments: Option<Arc<JsonObject>>,
    meta: Option<Arc<RequestMetaObject>>,
    continuation: Option<Arc<Continuation>>,
    deadline: Deadline,
    idle_timeout: Option<Duration>,
    cancellation: Option<CancellationToken>,
    guard: Option<Guard>,
    progress: Option<Arc<ProgressListener>>,
    /// Which attempt of its invocation this is, counted from 1.
    attempt: u32,
    /// When the attempt last showed life; shared with the transport that observes it.
    life: Arc<Mutex<Option<Instant>>>,
}

type ProgressListener = dyn Fn(Progress<'_>) + Send + Sync;

/// What a continuation carries besides the call that it continues.
struct Continuation {
    state: Option<String>,
    responses: InputResponses,
}

#[derive(Clone, Copy, Debug)]
enum Deadline {
    Within(Duration),
    At(Instant),
}

/// Why [`ToolCall::bounded`] ended a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Cancelled,
    Deadline,
    Idle,
}

impl From<Cut> for TransportError {
    fn from(cut: Cut) -> Self {
        match cut {
            Cut::Cancelled => Self::cancelled(),
            Cut::Deadline => Self::deadline(),
            Cut::Idle => Self::idle_timeout(),
        }
    }
}

impl ToolCall {
    /// A call of the tool with exactly this name, without arguments; deadline 600 s, idle timeout 300 s.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            meta: None,
            continuation: None,
            deadline: Deadline::Within(DEFAULT_DEADLINE),
            idle_timeout: Some(DEFAULT_IDLE_TIMEOUT),
            cancellation: None,
            guard: None,
            progress: None,
            attempt: 1,
            life: Arc::default(),
        }
    }

    /// The same call of another tool.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// The arguments, an object. Default: none.
    #[must_use]
    pub fn with_arguments(mut self, arguments: impl Into<Arc<JsonObject>>) -> Self {
        self.arguments = Some(arguments.into());
        self
    }

    /// Adds one argument.
    #[must_use]
    pub fn with_argument(mut self, name: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        let arguments = self.arguments.get_or_insert_default();
        Arc::make_mut(arguments).insert(name.into(), value.into());
        self
    }

    /// Metadata for the request's `_meta` (a progress token in it is replaced by rmcp's). Default: none.
    #[must_use]
    pub fn with_meta(mut self, meta: RequestMetaObject) -> Self {
        self.meta = Some(Arc::new(meta));
        self
    }

    /// Makes this the continuation of the same call (same tool, same arguments), which the server answered
    /// with [`InputRequired`](crate::CallReply::InputRequired): `responses` answer the questions by their
    /// keys, and the server's state goes back to it as it came (2026-07-28, multi-round-trip requests).
    ///
    /// A continuation is a call of its own, and is never sent again once it may have been received: what
    /// was answered may have been acted upon. One that provably never left may be delivered over another
    /// connection, since the state is all that it refers to.
    #[must_use]
    pub fn continuing(mut self, asked: &InputRequiredResult, responses: InputResponses) -> Self {
        let state = asked.request_state.clone();
        self.continuation = Some(Arc::new(Continuation { state, responses }));
        self
    }

    /// The deadline over all attempts, from the beginning of the invocation. Default: 600 s.
    #[must_use]
    pub fn with_deadline(mut self, within: Duration) -> Self {
        self.deadline = Deadline::Within(within);
        self
    }

    /// How long one attempt may go without an answer and without progress. Default: 300 s.
    #[must_use]
    pub fn with_idle_timeout(mut self, idle: Duration) -> Self {
        self.idle_timeout = Some(idle);
        self
    }

    /// Lets an attempt be quiet up to the deadline.
    #[must_use]
    pub fn without_idle_timeout(mut self) -> Self {
        self.idle_timeout = None;
        self
    }

    /// Cancels the call when the token is cancelled: an abort, never followed by a replay. Default: none.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }

    /// A check directly before the first byte of an attempt. Default: none.
    #[must_use]
    pub fn with_guard(mut self, guard: Guard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Is told each progress notification of the call and which attempt it is about, from the task that
    /// reads the connection, so it must neither block nor panic. Default: nobody is told (the idle timeout
    /// is reset all the same).
    #[must_use]
    pub fn with_progress(mut self, listener: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(listener));
        self
    }

    /// Turns the deadline into a point in time, once: later attempts share it.
    #[must_use]
    pub fn started(mut self) -> Self {
        self.start();
        self
    }

    /// The same, in place.
    pub fn start(&mut self) {
        self.deadline = Deadline::At(self.deadline());
    }

    /// The same call for one more attempt: a life sign of an earlier attempt does not count for it.
    #[must_use]
    pub fn next_attempt(&self) -> Self {
        Self { life: Arc::default(), ..self.clone() }
    }

    /// Says which attempt of its invocation this is, counted from 1: its progress is told under this
    /// number, however late it comes. Default: 1. A client numbers its attempts itself.
    #[must_use]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    /// The exact name of the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The exact name, shared.
    pub fn shared_name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// The arguments.
    pub fn arguments(&self) -> Option<&Arc<JsonObject>> {
        self.arguments.as_ref()
    }

    /// The request's own metadata.
    pub fn meta(&self) -> Option<&RequestMetaObject> {
        self.meta.as_deref()
    }

    /// Whether this continues a call that the server answered with a request for input.
    pub fn is_continuation(&self) -> bool {
        self.continuation.is_some()
    }

    /// The server's own state, which a continuation brings back as it came.
    pub fn request_state(&self) -> Option<&str> {
        self.continuation.as_ref().and_then(|continuation| continuation.state.as_deref())
    }

    /// What a continuation answers to the server's questions.
    pub fn input_responses(&self) -> Option<&InputResponses> {
        self.continuation.as_ref().map(|continuation| &continuation.responses)
    }

    /// The point in time by which the call must have ended (from now, if it has not started yet).
    pub fn deadline(&self) -> Instant {
        match self.deadline {
            Deadline::At(at) => at,
            Deadline::Within(within) => Instant::now() + within.min(FAR),
        }
    }

    /// The check directly before the first byte.
    pub fn guard(&self) -> Option<&Guard> {
        self.guard.as_ref()
    }

    /// The token that aborts the call.
    pub fn cancellation(&self) -> Option<&CancellationToken> {
        self.cancellation.as_ref()
    }

    /// Whether the caller has cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// rmcp's form of the request. Copies the arguments.
    pub fn to_params(&self) -> CallToolRequestParams {
        let mut params = CallToolRequestParams::new(Cow::Owned(self.name.as_ref().to_owned()));
        params.arguments = self.arguments.as_deref().cloned();
        params.meta = self.meta.as_deref().cloned();
        params.request_state = self.request_state().map(str::to_owned);
        params.input_responses = self.input_responses().cloned();
        params
    }

    /// May the first byte of this call leave now? A transport asks directly before it sends.
    ///
    /// # Errors
    ///
    /// Cancelled, past the deadline, or withdrawn by the guard; each proven unsent.
    pub fn may_send(&self) -> Result<(), TransportError> {
        if self.is_cancelled() {
            return Err(TransportError::cancelled().proven_unsent());
        }
        if let Deadline::At(at) = self.deadline
            && Instant::now() >= at
        {
            return Err(TransportError::deadline().proven_unsent());
        }
        match &self.guard {
            Some(guard) => guard.check().map_err(|_| TransportError::withdrawn()),
            None => Ok(()),
        }
    }

    /// Tells the call that progress came: resets the idle timeout and tells the caller's listener.
    pub fn progressed(&self, progress: &ProgressNotificationParam) {
        self.alive();
        if let Some(listener) = &self.progress {
            listener(Progress::new(self.attempt, progress));
        }
    }

    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        self.idle_timeout
    }

    fn alive(&self) {
        *self.life.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn last_life(&self) -> Option<Instant> {
        *self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one attempt in two steps, under this call's deadline, idle timeout, cancellation and guard,
    /// so that a custom transport writes no timers.
    ///
    /// `prepare` waits for whatever sending needs (a slot, a connection, a token) and must not send:
    /// when it fails or is cut short, the call is proven unsent. Then the guard is asked, and from the
    /// first poll of `send` the delivery is unknown, unless the error of `send` itself claims more.
    /// Dropping `send` must end the sending; nothing may go out afterwards.
    ///
    /// An answer that is there wins over an abort; an abort wins over an error that races with it.
    ///
    /// # Errors
    ///
    /// What `prepare` or `send` returned, or the cut: cancelled, deadline, idle timeout, withdrawn.
    pub async fn attempt<P, F, Fut>(
        self,
        prepare: impl Future<Output = Result<P, TransportError>> + Send,
        send: F,
    ) -> Result<CallReply, TransportError>
    where
        P: Send,
        F: FnOnce(Self, P) -> Fut + Send,
        Fut: Future<Output = Result<CallReply, TransportError>> + Send,
    {
        let call = self.started();
        let prepared = {
            let prepare = pin!(prepare);
            call.bounded(prepare).await
        };
        let prepared = match prepared {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(error)) => return Err(call.or_abort(error).proven_unsent()),
            Err(cut) => return Err(TransportError::from(cut).proven_unsent()),
        };
        call.may_send()?;
        let reply = {
            let sending = pin!(send(call.clone(), prepared));
            call.bounded(sending).await
        };
        match reply {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(call.or_abort(error)),
            Err(cut) => Err(cut.into()),
        }
    }

    /// An abort wins over every error that races with it; the delivery stays what it was.
    pub(crate) fn or_abort(&self, error: TransportError) -> TransportError {
        if !self.is_cancelled() {
            return error;
        }
        match error.delivery() {
            crate::Delivery::Unsent => TransportError::cancelled().proven_unsent(),
            crate::Delivery::Refused => TransportError::cancelled().refused(),
            crate::Delivery::Unknown => TransportError::cancelled(),
        }
    }

    /// Runs `work` until it ends or this call's bounds end it. What is finished wins over a cut.
    ///
    /// It is pinned by whoever has it: a future that is handed over is kept twice, and each call in flight
    /// would hold that.
    pub(crate) async fn bounded<W: Future>(&self, work: Pin<&mut W>) -> Result<W::Output, Cut> {
        self.bounded_but_for(work, || None).await
    }

    /// The same where silence up to this moment means nothing.
    pub(crate) async fn bounded_but_for<W: Future>(
        &self,
        mut work: Pin<&mut W>,
        excused_until: impl Fn() -> Option<Instant>,
    ) -> Result<W::Output, Cut> {
        let last_life = || self.last_life().max(excused_until());
        let deadline = self.deadline();
        let began = Instant::now();
        loop {
            let idle_from = last_life().unwrap_or(began).max(began);
            let idle_at = self.idle_timeout.map(|idle| idle_from + idle.min(FAR));
            let until = idle_at.map_or(deadline, |idle_at| idle_at.min(deadline));
            tokio::select! {
                biased;
                output = work.as_mut() => return Ok(output),
                () = cancelled(self.cancellation.as_ref()) => return Err(Cut::Cancelled),
                () = sleep_until(until) => {
                    if Instant::now() >= deadline {
                        return Err(Cut::Deadline);
                    }
                    if last_life().is_none_or(|life| life <= idle_from) {
                        return Err(Cut::Idle);
                    }
                }
            }
        }
    }
}

async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("name", &self.name)
            .field("deadline", &self.deadline)
            .field("idle_timeout", &self.idle_timeout)
            .finish_non_exhaustive()
    }
}
