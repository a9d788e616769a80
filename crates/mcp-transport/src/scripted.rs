use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use rmcp::model::{CallToolResult, ErrorCode, Tool};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    CallReply, Cursor, ErrorClass, Event, EventSender, Events, Fence, TaskReply, TaskRequest, ToolCall,
    ToolPage, Transport, TransportError,
};

/// What a [`ScriptedTransport`] does with one call.
#[derive(Debug)]
pub enum Step {
    /// The server answers.
    Answer(CallReply),
    /// The attempt fails. Class `Connection` ends the connection, too.
    Fail(TransportError),
    /// Like `Fail` with class `Connection`, but the connection stays open (a lost HTTP response).
    LoseResponse(TransportError),
    /// The request is out and nothing comes until the gate opens; then the next step is done.
    Hang(Gate),
}

/// Holds a scripted call until somebody opens it. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everybody through, now and later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    async fn pass(&self) {
        let mut state = self.0.subscribe();
        // The sender lives in `self`, so this only ends when the gate is open.
        let _ = state.wait_for(|open| *open).await;
    }
}

/// A transport that follows a script: for sequences and pending calls, which mocks cannot express.
///
/// Steps are taken in order, one per call (a [`Step::Hang`] takes the next one, too). When the script is
/// over, calls are answered with an empty success. Calls run under their own deadline, idle timeout,
/// cancellation and guard. What arrived is counted.
///
/// ```
/// use mcp_transport::{CallReply, ScriptedTransport, ToolCall, Transport, TransportError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let server = ScriptedTransport::new().lose();
/// let error = server.call_tool(ToolCall::new("put")).await.unwrap_err();
/// assert_eq!(error.kind().code(), "connection_lost");
/// assert!(server.is_closed());
/// assert_eq!(server.calls(), 1);
/// # }
/// ```
pub struct ScriptedTransport {
    state: Mutex<State>,
    changed: watch::Sender<()>,
    ended: CancellationToken,
    events: EventSender,
}

#[derive(Default)]
struct State {
    steps: VecDeque<Step>,
    pages: Vec<ToolPage>,
    received: Vec<ToolCall>,
    tasks: VecDeque<Result<TaskReply, TransportError>>,
    task_requests: Vec<TaskRequest>,
    lists: usize,
    closed: bool,
    fence: Fence,
}

impl Default for ScriptedTransport {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            changed: watch::channel(()).0,
            ended: CancellationToken::new(),
            events: EventSender::default(),
        }
    }
}

impl ScriptedTransport {
    /// An open connection to a server without tools and without a script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lists these tools, on one page.
    #[must_use]
    pub fn with_tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.with_pages([ToolPage::of(tools)])
    }

    /// Lists these pages: a page's `next` leads to the page after it.
    #[must_use]
    pub fn with_pages(self, pages: impl IntoIterator<Item = ToolPage>) -> Self {
        self.state().pages = pages.into_iter().collect();
        self
    }

    /// Says what closing reports. Default: [`Fence::None`].
    #[must_use]
    pub fn with_fence(self, fence: Fence) -> Self {
        self.state().fence = fence;
        self
    }

    /// Adds a step.
    #[must_use]
    pub fn then(self, step: Step) -> Self {
        self.state().steps.push_back(step);
        self
    }

    /// Adds an empty successful answer.
    #[must_use]
    pub fn answer(self) -> Self {
        self.then(Step::Answer(CallToolResult::success(vec![]).into()))
    }

    /// Adds a loss in flight: class `Connection`, delivery unknown.
    #[must_use]
    pub fn lose(self) -> Self {
        self.then(Step::Fail(TransportError::lost()))
    }

    /// Adds a loss that is proven unsent.
    #[must_use]
    pub fn lose_unsent(self) -> Self {
        self.then(Step::Fail(TransportError::lost().proven_unsent()))
    }

    /// Adds a wait in flight until the gate opens.
    #[must_use]
    pub fn hang(self, gate: &Gate) -> Self {
        self.then(Step::Hang(gate.clone()))
    }

    /// Adds what comes of the next request about a task; when no more of these are left, the server knows
    /// no task. An error of class `Connection` ends the connection, too.
    #[must_use]
    pub fn then_task(self, reply: Result<TaskReply, TransportError>) -> Self {
        self.state().tasks.push_back(reply);
        self
    }

    /// The requests about tasks that arrived, in order.
    pub fn task_requests(&self) -> Vec<TaskRequest> {
        self.state().task_requests.clone()
    }

    /// How many calls arrived.
    pub fn calls(&self) -> usize {
        self.state().received.len()
    }

    /// The calls that arrived, in order.
    pub fn received(&self) -> Vec<ToolCall> {
        self.state().received.clone()
    }

    /// How many pages were asked for.
    pub fn lists(&self) -> usize {
        self.state().lists
    }

    /// Waits until this many calls have arrived.
    pub async fn wait_for_calls(&self, calls: usize) {
        let mut changed = self.changed.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = changed.wait_for(|()| self.calls() >= calls).await;
    }

    /// Lists these tools from now on.
    pub fn set_tools(&self, tools: impl IntoIterator<Item = Tool>) {
        self.state().pages = vec![ToolPage::of(tools)];
    }

    /// Ends the connection from the server's side: calls that hang are lost.
    pub fn disconnect(&self) {
        let was_open = !std::mem::replace(&mut self.state().closed, true);
        self.ended.cancel();
        if was_open {
            self.events.send(Event::Closed);
        }
    }

    /// Tells an event.
    pub fn tell(&self, event: Event) {
        self.events.send(event);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn play(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        self.state().received.push(call);
        self.changed.send_replace(());
        loop {
            let step = self.state().steps.pop_front();
            match step {
                None => return Ok(CallToolResult::success(vec![]).into()),
                Some(Step::Answer(reply)) => return Ok(reply),
                Some(Step::LoseResponse(error)) => return Err(error),
                Some(Step::Fail(error)) => {
                    if error.class() == ErrorClass::Connection {
                        self.disconnect();
                    }
                    return Err(error);
                }
                Some(Step::Hang(gate)) => tokio::select! {
                    biased;
                    () = gate.pass() => {}
                    () = self.ended.cancelled() => return Err(TransportError::lost()),
                },
            }
        }
    }
}

#[async_trait]
impl Transport for ScriptedTransport {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let open = async { if self.is_closed() { Err(TransportError::closed()) } else { Ok(()) } };
        call.attempt(open, |call, ()| self.play(call)).await
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        let mut state = self.state();
        if state.closed {
            return Err(TransportError::closed());
        }
        state.lists += 1;
        let page = match cursor {
            None => state.pages.first(),
            Some(cursor) => {
                let before = state.pages.iter().position(|page| page.next.as_ref() == Some(&cursor));
                before.and_then(|before| state.pages.get(before + 1))
            }
        };
        Ok(page.cloned().unwrap_or_default())
    }

    async fn task(&self, request: TaskRequest) -> Result<TaskReply, TransportError> {
        if self.is_closed() {
            return Err(TransportError::closed());
        }
        let mut state = self.state();
        state.task_requests.push(request);
        let reply = state.tasks.pop_front();
        drop(state);
        self.changed.send_replace(());
        let reply = reply.unwrap_or_else(|| Err(TransportError::rejected(ErrorCode::INVALID_PARAMS.0)));
        if reply.as_ref().is_err_and(|error| error.class() == ErrorClass::Connection) {
            self.disconnect();
        }
        reply
    }

    fn is_closed(&self) -> bool {
        self.state().closed
    }

    async fn close(&self) -> Fence {
        self.disconnect();
        self.state().fence
    }

    fn events(&self) -> Events {
        let events = self.events.subscribe();
        if self.is_closed() { Events::closed() } else { events }
    }
}

impl fmt::Debug for ScriptedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedTransport").field("calls", &self.calls()).finish_non_exhaustive()
    }
}
