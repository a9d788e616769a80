//! A call that became a task: its result is fetched, never made anew.

mod followed;

use std::{fmt, sync::Arc, time::Duration};

use mcp_discovery::ToolName;
use mcp_transport::{
    CallReply, CancellationToken, ServerIdentity, TaskRequest, ToolCall, rmcp::model::InputResponses,
};
use tokio::time::{Instant, sleep_until, timeout};

use self::followed::{Failure, Followed};
use crate::{Answer, Outcome, Reason, ToolError, client::Shared, driver::cancelled, error::Ending};

/// The default for how long [`TaskHandle::result`] waits.
pub const DEFAULT_TASK_DEADLINE: Duration = Duration::from_secs(60 * 60);
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

/// What it took to make the task.
#[derive(Clone, Copy, Default)]
pub(crate) struct MadeBy {
    pub(crate) attempts: u32,
    pub(crate) replays: u32,
    pub(crate) unsent: u32,
    pub(crate) earlier_unknown: bool,
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
        let task = Followed::new(shared.clone(), identity, tool, id, made_by);
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

impl fmt::Debug for TaskHandle {
    /// The id is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle")
            .field("server", &self.task.shared.name)
            .field("tool", &ToolName::from(self.task.tool.clone()))
            .finish_non_exhaustive()
    }
}
