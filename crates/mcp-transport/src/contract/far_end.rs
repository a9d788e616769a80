use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::model::{CallToolResult, ContentBlock, ErrorData, JsonObject};
use tokio::sync::watch;

use crate::CallReply;

/// How a far end behaves.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Behaviour {
    /// Reads, and answers with a result.
    Answers,
    /// Reads, and answers with a result that says `isError`.
    AnswersWithFailure,
    /// Reads, and answers with a JSON-RPC error.
    AnswersWithError,
    /// Reads, and sends a result for an id that nobody waits for before it answers. The bench sees to
    /// that; where answers have no ids, it is [`Unsupported`](super::Unsupported).
    AnswersNobodyFirst,
    /// Reads, and keeps its answers back until it is released.
    Holds,
    /// Takes no request, whole, until it is released; then it answers. Nor does anything in between.
    TakesNothing,
    /// Reads one request and goes away without an answer.
    Dies,
}

impl Behaviour {
    /// A stable word for it.
    pub fn code(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::AnswersWithFailure => "answers_with_failure",
            Self::AnswersWithError => "answers_with_error",
            Self::AnswersNobodyFirst => "answers_nobody_first",
            Self::Holds => "holds",
            Self::TakesNothing => "takes_nothing",
            Self::Dies => "dies",
        }
    }
}

/// What a bench builds into the far end of a connection: it says when to read, when to answer and when to
/// go away, and keeps the record of what could be read. Clones are the same far end.
#[derive(Clone)]
pub struct FarEnd {
    shared: Arc<Shared>,
    /// Lives while anything of the far end does.
    phase: watch::Receiver<Phase>,
}

struct Shared {
    behaviour: Behaviour,
    requests: Mutex<Vec<Request>>,
    phase: watch::Sender<Phase>,
    reads: watch::Sender<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Begun,
    Released,
    Ended,
}

/// A complete `tools/call` that the far end could read.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) name: String,
    pub(super) arguments: Option<JsonObject>,
}

/// The suite's hand on a far end.
pub(super) struct Control(Arc<Shared>);

impl FarEnd {
    pub(super) fn new(behaviour: Behaviour) -> (Self, Control) {
        let (sender, phase) = watch::channel(Phase::Begun);
        let (requests, reads) = (Mutex::default(), watch::channel(0).0);
        let shared = Arc::new(Shared { behaviour, requests, phase: sender, reads });
        (Self { shared: shared.clone(), phase }, Control(shared))
    }

    /// How this one behaves.
    pub fn behaviour(&self) -> Behaviour {
        self.shared.behaviour
    }

    /// Waits until a request may be taken: at once, except by one that takes nothing until it is released.
    /// False when the far end has ended meanwhile.
    pub async fn may_take(&self) -> bool {
        if self.behaviour() == Behaviour::TakesNothing {
            self.wait_for(Phase::Released).await;
        }
        !self.has_ended()
    }

    /// A complete request of `tools/call` could be read here.
    pub fn received(&self, name: &str, arguments: Option<&JsonObject>) -> Taken {
        let request = Request { name: name.to_owned(), arguments: arguments.cloned() };
        let reply = self.reply_to(&request);
        let mut requests = self.shared.requests();
        requests.push(request);
        self.shared.reads.send_replace(requests.len());
        drop(requests);
        if self.behaviour() == Behaviour::Dies {
            self.shared.advance(Phase::Ended);
        }
        Taken { far_end: self.clone(), reply }
    }

    /// Waits until it is time to go away as a crash does: without an answer, without a farewell, and with
    /// everything that it was doing.
    pub async fn ended(&self) {
        self.wait_for(Phase::Ended).await;
    }

    fn has_ended(&self) -> bool {
        *self.phase.borrow() == Phase::Ended
    }

    async fn wait_for(&self, phase: Phase) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.phase.clone().wait_for(|now| *now >= phase).await;
    }

    fn reply_to(&self, request: &Request) -> CallReply {
        let text = request.call().unwrap_or_default().to_owned();
        match self.behaviour() {
            Behaviour::AnswersWithError => ErrorData::internal_error(text, None).into(),
            Behaviour::AnswersWithFailure => CallToolResult::error(vec![ContentBlock::text(text)]).into(),
            Behaviour::Answers
            | Behaviour::AnswersNobodyFirst
            | Behaviour::Holds
            | Behaviour::TakesNothing
            | Behaviour::Dies => CallToolResult::success(vec![ContentBlock::text(text)]).into(),
        }
    }
}

impl fmt::Debug for FarEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FarEnd").field("behaviour", &self.behaviour()).finish_non_exhaustive()
    }
}

/// A request that the far end has read.
#[derive(Debug)]
#[must_use = "a far end that takes a request does something with it"]
pub struct Taken {
    far_end: FarEnd,
    reply: CallReply,
}

impl Taken {
    /// Waits until it is time to answer, and says what. None: the far end goes away instead.
    pub async fn reply(self) -> Option<CallReply> {
        if self.far_end.behaviour() == Behaviour::Holds {
            self.far_end.wait_for(Phase::Released).await;
        }
        (!self.far_end.has_ended()).then_some(self.reply)
    }
}

impl Request {
    /// The argument by which the suite tells its calls apart.
    pub(super) fn call(&self) -> Option<&str> {
        self.arguments.as_ref()?.get(super::stage::CALL)?.as_str()
    }
}

impl Control {
    pub(super) fn release(&self) {
        self.0.advance(Phase::Released);
    }

    pub(super) fn end(&self) {
        self.0.advance(Phase::Ended);
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.0.requests().clone()
    }

    /// Waits until something was read.
    pub(super) async fn read_something(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.0.reads.subscribe().wait_for(|reads| *reads > 0).await;
    }

    /// Waits until nothing of the far end is left.
    pub(super) async fn gone(&self) {
        self.0.phase.closed().await;
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let is_later = to > *phase;
            *phase = (*phase).max(to);
            is_later
        });
    }

    fn requests(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
