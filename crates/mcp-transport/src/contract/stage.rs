use std::{sync::Arc, time::Duration};

use rmcp::model::JsonObject;
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    Behaviour, Bench, Clause, FarEnd, Unsupported, Violation,
    far_end::{Control, Request},
};
use crate::{CallReply, Delivery, ErrorClass, Fence, ToolCall, Transport, TransportError};

/// The argument by which calls are told apart.
pub(super) const CALL: &str = "call";
/// The bound of a call that is to run into it, and how long one may get on before it is given up.
pub(super) const SHORT: Duration = Duration::from_millis(20);
/// How long something may take that must happen.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How long what may not happen is looked out for, where nothing tells that it no longer can.
const LINGER: Duration = Duration::from_millis(250);
/// Longer than anybody waits here: only the end of a connection ends such a call.
const AN_HOUR: Duration = Duration::from_secs(60 * 60);

/// The tool that is called. It exists nowhere but here.
const TOOL: &str = "contract/probe é";

/// One connection under examination, its far end, and the calls made over it.
pub(super) struct Stage {
    behaviour: Behaviour,
    transport: Arc<dyn Transport>,
    far_end: Control,
    room: usize,
    calls: Vec<Made>,
    found: Vec<Violation>,
}

struct Made {
    arguments: JsonObject,
    told: Told,
}

/// What is known of a call on this side, and so what it means when the far end has received it.
#[derive(Clone, Copy)]
enum Told {
    /// It may have been received.
    InDoubt,
    Answered,
    Unsent,
    /// It must not be received, by this clause.
    Forbidden(Clause),
}

/// A call that is being made.
pub(super) struct Pending {
    number: usize,
    task: JoinHandle<Result<CallReply, TransportError>>,
}

pub(super) type Outcome = Result<CallReply, TransportError>;

impl Stage {
    pub(super) async fn set(bench: &dyn Bench, behaviour: Behaviour) -> Result<Self, Unsupported> {
        let (far_end, control) = FarEnd::new(behaviour);
        let transport = bench.connect(far_end).await?;
        let (room, calls, found) = (bench.room(), Vec::new(), Vec::new());
        Ok(Self { behaviour, transport, far_end: control, room, calls, found })
    }

    pub(super) fn transport(&self) -> Arc<dyn Transport> {
        self.transport.clone()
    }

    pub(super) fn far_end(&self) -> &Control {
        &self.far_end
    }

    pub(super) fn behaviour(&self) -> Behaviour {
        self.behaviour
    }

    pub(super) fn violates(&mut self, clause: Clause, seen: impl Into<String>) {
        self.found.push(Violation::new(clause, self.behaviour, seen));
    }

    /// One more call, that may be received once.
    pub(super) fn call(&mut self) -> (usize, ToolCall) {
        self.make(Told::InDoubt)
    }

    /// One more call, that must not be received.
    pub(super) fn forbidden(&mut self, clause: Clause) -> (usize, ToolCall) {
        self.make(Told::Forbidden(clause))
    }

    fn make(&mut self, told: Told) -> (usize, ToolCall) {
        let number = self.calls.len();
        let mut arguments = JsonObject::new();
        arguments.insert(CALL.to_owned(), json!(number.to_string()));
        let given = json!({"null": null, "deep": [1, -2.5, {"": "\u{0}\"\\\n\u{2028}\u{1F980}"}]});
        arguments.insert("given".to_owned(), given);
        if self.behaviour == Behaviour::TakesNothing {
            arguments.insert("room".to_owned(), json!("x".repeat(self.room)));
        }
        self.calls.push(Made { arguments: arguments.clone(), told });
        let call = ToolCall::new(TOOL).with_arguments(arguments);
        (number, call.with_deadline(AN_HOUR).without_idle_timeout())
    }

    /// Makes the call, without waiting for it.
    pub(super) fn begin(&self, (number, call): (usize, ToolCall)) -> Pending {
        let transport = self.transport.clone();
        Pending { number, task: tokio::spawn(async move { transport.call_tool(call).await }) }
    }

    /// One more call, begun, that nothing but the end of the connection ends.
    pub(super) fn begin_one(&mut self) -> Pending {
        let call = self.call();
        self.begin(call)
    }

    /// Waits until the far end has read something.
    pub(super) async fn read_something(&mut self) {
        if timeout(PATIENCE, self.far_end.read_something()).await.is_err() {
            self.violates(Clause::NotAnswered, "no call reached it");
        }
    }

    /// Waits for the end of a call that must end, and remembers what it told. None when it does not.
    pub(super) async fn outcome(&mut self, mut pending: Pending, or: Clause) -> Option<Outcome> {
        let Ok(ended) = timeout(PATIENCE, &mut pending.task).await else {
            pending.task.abort();
            self.violates(or, "a call did not end");
            return None;
        };
        let outcome = ended.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()));
        let told = &mut self.calls[pending.number].told;
        match (&outcome, *told) {
            (Ok(_), Told::InDoubt) => *told = Told::Answered,
            (Err(error), Told::InDoubt | Told::Forbidden(Clause::SentAfterGivenUp | Clause::GuardStale))
                if error.delivery() == Delivery::Unsent =>
            {
                *told = Told::Unsent;
            }
            _ => {}
        }
        Some(outcome)
    }

    /// A call that must not be answered: what ended it.
    pub(super) async fn failure(&mut self, pending: Pending, or: Clause) -> Option<TransportError> {
        match self.outcome(pending, or).await? {
            Err(error) => Some(error),
            Ok(_) => {
                self.violates(Clause::AnswerAltered, "a call was answered that it had not answered");
                None
            }
        }
    }

    /// A call that must be answered, else `or`.
    pub(super) async fn answer(&mut self, pending: Pending, or: Clause) {
        let number = pending.number;
        match self.outcome(pending, or).await {
            Some(Ok(reply)) if text(&reply) != number.to_string() => {
                self.violates(Clause::AnswerAltered, "the answer to a call was not the one that it gave");
            }
            Some(Err(error)) => self.violates(or, format!("a call failed ({error})")),
            Some(Ok(_)) | None => {}
        }
    }

    /// One call from beginning to end, whatever becomes of it.
    pub(super) async fn one_more(&mut self) {
        let pending = self.begin_one();
        self.outcome(pending, Clause::LeftHanging).await;
    }

    /// What a transport makes of an error is what counts.
    pub(super) fn expect_class(&mut self, error: &TransportError, class: ErrorClass, or: Clause) {
        let classified = self.transport.classify(error);
        if classified != class {
            self.violates(or, format!("the call ended in the class {classified:?} rather than {class:?}"));
        }
    }

    /// Closes, within bounds.
    pub(super) async fn close(&mut self) {
        let transport = self.transport.clone();
        match timeout(PATIENCE, transport.close()).await {
            Ok(fence) => self.judge(fence).await,
            Err(_) => self.violates(Clause::LeftHanging, "closing did not end"),
        }
    }

    pub(super) async fn judge(&mut self, fence: Fence) {
        if fence == Fence::GroupGone && timeout(PATIENCE, self.far_end.gone()).await.is_err() {
            self.violates(Clause::FalseFence, "it was still there when it was said to be gone");
        }
    }

    /// Ends the connection, and compares what was told of each call with what was received.
    pub(super) async fn strike(mut self) -> Vec<Violation> {
        self.close().await;
        // Whatever is still on its way, or waits behind an answer, is read before the far end is ended.
        self.far_end.release();
        let _ = timeout(LINGER, self.far_end.gone()).await;
        self.far_end.end();
        drop(self.transport);
        let _ = timeout(LINGER, self.far_end.gone()).await;
        let (far, mut found) = (self.behaviour, self.found);
        let mut violates = |clause, seen: &str| found.push(Violation::new(clause, far, seen));
        let received = self.far_end.requests();
        for (number, made) in self.calls.iter().enumerate() {
            let number = number.to_string();
            let is_its = |request: &&Request| request.call() == Some(&number);
            match (received.iter().filter(is_its).count(), made.told) {
                (0, Told::Answered) => violates(Clause::AnswerAltered, "a call was answered without it"),
                (1.., Told::Unsent) => {
                    violates(Clause::FalselyUnsent, "a call was received that was claimed unsent");
                }
                (1.., Told::Forbidden(clause)) => {
                    violates(clause, "a call was received that must not be sent");
                }
                (2.., _) => violates(Clause::SentTwice, "a call was received more than once"),
                (0 | 1, _) => {}
            }
        }
        let made = |request: &Request| {
            let number: usize = request.call()?.parse().ok()?;
            self.calls.get(number)
        };
        let is_whole = |request: &Request| {
            request.name == TOOL
                && made(request).is_some_and(|made| request.arguments.as_ref() == Some(&made.arguments))
        };
        if !received.iter().all(is_whole) {
            violates(Clause::RequestAltered, "a request differed from the call");
        }
        found
    }
}

impl Pending {
    /// Lets the call get on. Wherever it has got by then, what follows is right.
    pub(super) async fn get_on(&self) {
        if !self.task.is_finished() {
            sleep(SHORT).await;
        }
    }
}

fn text(reply: &CallReply) -> &str {
    match reply {
        CallReply::Result(result) => {
            let text = result.content.first().and_then(|content| content.as_text());
            text.map_or("", |text| text.text.as_str())
        }
        CallReply::Error(error) => &error.message,
        CallReply::InputRequired(_) | CallReply::Task(_) => "",
    }
}
