//! A call that became a task: its result is fetched, never made anew.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mcp_discovery::{DiscoveryError, ToolName};
use mcp_transport::{
    CallReply, CancellationToken, ErrorClass, ErrorKind, ServerIdentity, TaskReply, TaskRequest, ToolCall,
    TransportError,
    rmcp::model::{DetailedTask, ErrorCode, InputRequiredResult, InputResponses, Task, TaskPayload},
};
use tokio::time::{Instant, sleep_until, timeout};

use crate::{Answer, Outcome, Reason, ToolError, bridge, client::Shared, error::Ending};

/// The default for how long [`TaskHandle::result`] waits.
pub const DEFAULT_TASK_DEADLINE: Duration = Duration::from_secs(60 * 60);
/// How often a task is looked at whose server names no interval.
const INTERVAL: Duration = Duration::from_secs(1);
/// No server is asked more often, whatever it says.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
/// No server has its task forgotten here by a longer one.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// So many looks may fail in a row.
const MAX_FAILURES: u32 = 5;
/// How long telling the server of a cancellation may take.
const CANCELLATION: Duration = Duration::from_secs(1);
/// Further than anybody waits; keeps `Instant` arithmetic from overflowing.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// A task that a server made of a call (the extension `io.modelcontextprotocol/tasks`).
///
/// The call has been answered, by the task, so it is never made again: what is lost is fetched anew, from
/// the same server, over whatever connection there is now. That holds for any tool, whatever it declares.
///
/// A handle ends nothing when it is dropped: the server works on. Clones are the same task.
///
/// ```no_run
/// # async fn f(client: mcp_tool::Client) -> Result<(), mcp_tool::ToolError> {
/// use mcp_tool::ToolCall;
///
/// let mut answer = client.call(ToolCall::new("render")).await?;
/// if let Some(task) = answer.task.take() {
///     answer = task.result().await?;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct TaskHandle {
    task: Arc<Followed>,
    deadline: Duration,
    cancellation: Option<CancellationToken>,
}

/// What all clones of a handle share.
struct Followed {
    shared: Arc<Shared>,
    id: Arc<str>,
    tool: Arc<str>,
    identity: ServerIdentity,
    made_by: MadeBy,
    known: Mutex<Known>,
}

/// What it took to make the task.
#[derive(Clone, Copy, Default)]
pub(crate) struct MadeBy {
    pub(crate) attempts: u32,
    pub(crate) replays: u32,
    pub(crate) unsent: u32,
    pub(crate) earlier_unknown: bool,
}

/// What was last heard of the task.
struct Known {
    next_look: Instant,
    interval: Duration,
    /// Questions that were answered; the server may take its time to notice.
    answered: BTreeSet<String>,
}

/// Why a look at a task, or a word to its server, failed.
struct Failure {
    reason: Reason,
    error: Option<TransportError>,
    may_pass: bool,
}

impl TaskHandle {
    /// The task that this reply speaks of, if it does.
    pub(crate) fn of(
        reply: &CallReply,
        shared: &Arc<Shared>,
        call: &ToolCall,
        identity: &ServerIdentity,
        made_by: MadeBy,
    ) -> Option<Self> {
        let CallReply::Task(made) = reply else {
            return None;
        };
        let mut handle = Self::known(
            shared,
            identity.clone(),
            call.shared_name(),
            made.task.task_id.as_str().into(),
            made_by,
        );
        handle.cancellation = call.cancellation().cloned();
        handle.task.heard(&made.task);
        Some(handle)
    }

    /// A task that is known by its id.
    pub(crate) fn known(
        shared: &Arc<Shared>,
        identity: ServerIdentity,
        tool: Arc<str>,
        id: Arc<str>,
        made_by: MadeBy,
    ) -> Self {
        let known = Known { next_look: Instant::now(), interval: INTERVAL, answered: BTreeSet::new() };
        let shared = shared.clone();
        let task = Followed { shared, id, tool, identity, made_by, known: Mutex::new(known) };
        Self { task: Arc::new(task), deadline: DEFAULT_TASK_DEADLINE, cancellation: None }
    }

    /// The task's id, as the server gave it. Who knows it may ask the server for the result.
    pub fn id(&self) -> &str {
        &self.task.id
    }

    /// The server's name, as the host chose it.
    pub fn server(&self) -> &str {
        &self.task.shared.name
    }

    /// The server that made the task: another one is never asked for it.
    pub fn identity(&self) -> &ServerIdentity {
        &self.task.identity
    }

    /// The exact name of the tool that was called.
    pub fn tool(&self) -> &str {
        &self.task.tool
    }

    /// How long [`result`](Self::result) waits. Its end ends nothing: it can be waited for again.
    /// Default: one hour.
    #[must_use]
    pub fn with_deadline(mut self, within: Duration) -> Self {
        self.deadline = within;
        self
    }

    /// Ends the waiting, and tells the server that the task is not wanted any more, when the token is
    /// cancelled. Default: the token of the call that became the task.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }

    /// Waits for what comes of the task: a result or a JSON-RPC error, or
    /// [`CallReply::InputRequired`] when the task has questions that were not [answered](Self::update)
    /// yet.
    ///
    /// The server is asked (`tasks/get`) as often as it wishes, but not more than ten times a second, and
    /// at least once a minute. When the connection is lost, the next one is asked, up to five failures in
    /// a row. Nothing but the task is asked for: the tool is not called. Dropping the future ends the
    /// waiting and nothing else.
    ///
    /// # Errors
    ///
    /// Always with [`Outcome::Unknown`], since the tool may have run: the server forgot the task
    /// (`task_forgotten`) or ended it (`task_cancelled`), it is another server (`server_changed`), it
    /// could not be reached, the deadline passed, the caller cancelled. After all but the first three the
    /// result can be asked for again.
    pub async fn result(&self) -> Result<Answer, ToolError> {
        let until = Instant::now() + self.deadline.min(FAR);
        let failure = tokio::select! {
            biased;
            ended = self.followed() => match ended {
                Ok(reply) => return Ok(self.answer(reply)),
                Err(failure) => failure,
            },
            () = cancelled(self.cancellation.as_ref()) => {
                // The server learns it or not: the waiting has ended either way.
                let _ = timeout(CANCELLATION, self.task.ask(TaskRequest::Cancel(self.task.id.clone()))).await;
                Failure::last(Reason::Cancelled)
            }
            () = sleep_until(until) => Failure::last(Reason::Deadline),
        };
        Err(self.error(failure))
    }

    /// Answers questions of the task (`tasks/update`), by the keys under which
    /// [`CallReply::InputRequired`] had them; then [`result`](Self::result) goes on.
    ///
    /// # Errors
    ///
    /// When the server did not take them in, or it is not known whether it did: if
    /// [`result`](Self::result) has the same questions again, it did not.
    pub async fn update(&self, responses: InputResponses) -> Result<(), ToolError> {
        let keys: Vec<_> = responses.keys().cloned().collect();
        self.tell(TaskRequest::Update(self.task.id.clone(), responses)).await?;
        self.task.known().answered.extend(keys);
        Ok(())
    }

    /// Tells the server that the task is not wanted any more (`tasks/cancel`). It may finish it all the
    /// same: [`result`](Self::result) says what came of it.
    ///
    /// # Errors
    ///
    /// When the server could not be told.
    pub async fn cancel(&self) -> Result<(), ToolError> {
        self.tell(TaskRequest::Cancel(self.task.id.clone())).await
    }

    async fn tell(&self, request: TaskRequest) -> Result<(), ToolError> {
        let failure = tokio::select! {
            biased;
            told = self.task.ask(request) => match told {
                Ok(_) => return Ok(()),
                Err(failure) => failure,
            },
            () = tokio::time::sleep(self.deadline.min(FAR)) => Failure::last(Reason::Deadline),
        };
        Err(self.error(failure))
    }

    async fn followed(&self) -> Result<CallReply, Failure> {
        let mut failures = 0;
        loop {
            let next_look = self.task.known().next_look;
            sleep_until(next_look).await;
            match self.task.look().await {
                Ok(Some(reply)) => return Ok(reply),
                Ok(None) => failures = 0,
                Err(failure) => {
                    failures += 1;
                    if !failure.may_pass || failures >= MAX_FAILURES {
                        return Err(failure);
                    }
                    // One lost connection says nothing of the next; a series of them is given time.
                    let mut known = self.task.known();
                    let pause = if failures == 1 { Duration::ZERO } else { known.interval };
                    known.next_look = Instant::now() + pause;
                }
            }
        }
    }

    fn answer(&self, reply: CallReply) -> Answer {
        let MadeBy { attempts, replays, unsent, earlier_unknown } = self.task.made_by;
        let task = matches!(reply, CallReply::InputRequired(_)).then(|| self.clone());
        Answer { reply, attempts, replays, unsent, earlier_unknown, task }
    }

    fn error(&self, failure: Failure) -> ToolError {
        let MadeBy { attempts, replays, unsent, .. } = self.task.made_by;
        let ending = Ending { outcome: Outcome::Unknown, reason: failure.reason, attempts, replays, unsent };
        ToolError::new(&ending, self.task.shared.name.clone(), self.task.tool.clone(), failure.error)
    }
}

impl Followed {
    /// One look at the task; none when it is still under way.
    async fn look(&self) -> Result<Option<CallReply>, Failure> {
        let TaskReply::State(state) = self.ask(TaskRequest::Get(self.id.clone())).await? else {
            return Err(Failure::of(TransportError::invalid_reply("not the state of a task")));
        };
        self.heard(&state.task);
        self.reply(*state)
    }

    /// Makes one request over the connection of the present catalog.
    async fn ask(&self, request: TaskRequest) -> Result<TaskReply, Failure> {
        let catalog = self.shared.discovery.catalog().await.map_err(|error| Failure::of_discovery(&error))?;
        if *catalog.identity() != self.identity {
            return Err(Failure::last(Reason::ServerChanged));
        }
        let transport = catalog.transport();
        transport.task(request).await.map_err(|error| {
            let class = transport.classify(&error);
            let failure = Failure::of_class(error, class);
            match failure.reason {
                _ if !failure.may_pass => {}
                Reason::Deadline => self.shared.discovery.doubt(catalog.generation()),
                _ => self.shared.discovery.suspect(catalog.generation()),
            }
            failure
        })
    }

    fn reply(&self, state: DetailedTask) -> Result<Option<CallReply>, Failure> {
        match state.payload {
            TaskPayload::Working => Ok(None),
            TaskPayload::Cancelled => Err(Failure::last(Reason::TaskCancelled)),
            TaskPayload::InputRequired { input_requests: mut questions } => {
                let answered = &self.known().answered;
                questions.retain(|key, _| !answered.contains(key));
                let asks = InputRequiredResult::from_input_requests(questions);
                let is_new = asks.input_requests.as_ref().is_some_and(|questions| !questions.is_empty());
                Ok(is_new.then(|| CallReply::InputRequired(Box::new(asks))))
            }
            ended => CallReply::of_task(ended).map(Some).map_err(Failure::of),
        }
    }

    fn heard(&self, task: &Task) {
        let mut known = self.known();
        let wished = task.poll_interval_ms.map_or(INTERVAL, Duration::from_millis);
        let interval = wished.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
        let wait = if task.status.is_terminal() { Duration::ZERO } else { interval };
        known.interval = interval;
        known.next_look = Instant::now() + wait;
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failure {
    fn last(reason: Reason) -> Self {
        Self { reason, error: None, may_pass: false }
    }

    fn of(error: TransportError) -> Self {
        Self { reason: Reason::of_kind(error.kind()), error: Some(error), may_pass: false }
    }

    fn of_class(error: TransportError, class: ErrorClass) -> Self {
        match error.kind() {
            // SEP-2663, protocol errors: the first is said of a task that the server does not know.
            ErrorKind::Rejected(code)
                if code == ErrorCode::INVALID_PARAMS.0 || code == ErrorCode::METHOD_NOT_FOUND.0 =>
            {
                Self { reason: Reason::TaskForgotten, ..Self::of(error) }
            }
            ErrorKind::Rejected(_) | ErrorKind::HttpStatus(_) | ErrorKind::Deadline => {
                Self { may_pass: true, ..Self::of(error) }
            }
            _ => Self { may_pass: class == ErrorClass::Connection, ..Self::of(error) },
        }
    }

    fn of_discovery(error: &DiscoveryError) -> Self {
        let reason = bridge::unavailable(error);
        Self { reason, error: error.transport_error().cloned(), may_pass: reason == Reason::Unavailable }
    }
}

async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

impl fmt::Debug for TaskHandle {
    /// The id is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle")
            .field("server", &self.task.shared.name)
            .field("tool", &ToolName::from(self.task.tool.clone()))
            .finish_non_exhaustive()
    }
}
