use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mcp_discovery::DiscoveryError;
use mcp_transport::{
    CallReply, ErrorClass, ErrorKind, ServerIdentity, TaskReply, TaskRequest, TransportError,
    rmcp::model::{DetailedTask, ErrorCode, InputRequiredResult, Task, TaskPayload},
};
use tokio::time::Instant;

use super::MadeBy;
use crate::{Reason, bridge, client::Shared};

/// How often a task is looked at whose server names no interval.
const INTERVAL: Duration = Duration::from_secs(1);
/// No server is asked more often, whatever it says.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
/// No server has its task forgotten here by a longer one.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// What all clones of a handle share.
pub(super) struct Followed {
    pub(super) shared: Arc<Shared>,
    pub(super) id: Arc<str>,
    pub(super) tool: Arc<str>,
    pub(super) identity: ServerIdentity,
    pub(super) made_by: MadeBy,
    known: Mutex<Known>,
}

/// What was last heard of the task.
pub(super) struct Known {
    pub(super) next_look: Instant,
    pub(super) interval: Duration,
    /// Questions that were answered; the server may take its time to notice.
    pub(super) answered: BTreeSet<String>,
}

/// Why a look at a task, or a word to its server, failed.
pub(super) struct Failure {
    pub(super) reason: Reason,
    pub(super) error: Option<TransportError>,
    pub(super) may_pass: bool,
}

impl Followed {
    pub(super) fn new(
        shared: Arc<Shared>,
        identity: ServerIdentity,
        tool: Arc<str>,
        id: Arc<str>,
        made_by: MadeBy,
    ) -> Self {
        let known = Known { next_look: Instant::now(), interval: INTERVAL, answered: BTreeSet::new() };
        Self { shared, id, tool, identity, made_by, known: Mutex::new(known) }
    }

    /// One look at the task; none when it is still under way.
    pub(super) async fn look(&self) -> Result<Option<CallReply>, Failure> {
        let TaskReply::State(state) = self.ask(TaskRequest::Get(self.id.clone())).await? else {
            return Err(Failure::of(TransportError::invalid_reply("not the state of a task")));
        };
        self.heard(&state.task);
        self.reply(*state)
    }

    /// Makes one request over the connection of the present catalog.
    pub(super) async fn ask(&self, request: TaskRequest) -> Result<TaskReply, Failure> {
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

    pub(super) fn heard(&self, task: &Task) {
        let mut known = self.known();
        let wished = task.poll_interval_ms.map_or(INTERVAL, Duration::from_millis);
        let interval = wished.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
        let wait = if task.status.is_terminal() { Duration::ZERO } else { interval };
        known.interval = interval;
        known.next_look = Instant::now() + wait;
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failure {
    pub(super) fn last(reason: Reason) -> Self {
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
