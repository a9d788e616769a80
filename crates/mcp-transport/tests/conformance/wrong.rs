//! Transports that are wrong on purpose, in one way each: the suite finds that one and nothing else.

use std::{
    collections::BTreeSet,
    future::{Future, pending},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_transport::{
    CallReply, CancellationToken, Cursor, ErrorClass, ErrorKind, Fence, Guard, ToolCall, ToolPage, Transport,
    TransportError,
    contract::{self, Behaviour, Bench, FarEnd, Unsupported, Violation},
    rmcp::model::{CallToolResult, ContentBlock},
};

use tokio::sync::mpsc;

use crate::queue::{Job, Queue, start};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    SendsBeforeThePoll,
    SendsTwice,
    SendsLaterWhatTimedOut,
    SendsLaterWhatWasCancelled,
    SendsLaterWhatWasDropped,
    ClaimsLossesUnsent,
    ClaimsTimeoutsUnsentAndGoesOn,
    IgnoresTheGuard,
    IgnoresTheNo,
    AsksTheGuardTooEarly,
    IgnoresCancellation,
    IgnoresTheDeadline,
    IgnoresTheIdleTimeout,
    DropsAnArgument,
    FailsTheEighthCall,
    AnswersByItself,
    MixesAnswersUp,
    TakesErrorsForLosses,
    TakesFailuresForLosses,
    EndsWithAStrayAnswer,
    HangsAtTheEnd,
    HangsWhenClosed,
    WaitsForRoomWhenClosed,
    NeverFinishesClosing,
    TellsLossesAsOther,
    ClassifiesLossesAsOther,
    SendsAfterClose,
    SendsAfterRetiring,
    TellsRefusalsInDoubt,
    SaysThatItIsOpen,
    ClaimsAFence,
}

/// Each with the clause that it breaks.
const FAULTS: [(Fault, &str); 31] = [
    (Fault::SendsBeforeThePoll, "sent_before_poll"),
    (Fault::SendsTwice, "sent_twice"),
    (Fault::SendsLaterWhatTimedOut, "sent_after_given_up"),
    (Fault::SendsLaterWhatWasCancelled, "sent_after_given_up"),
    (Fault::SendsLaterWhatWasDropped, "sent_after_given_up"),
    (Fault::ClaimsLossesUnsent, "falsely_unsent"),
    (Fault::ClaimsTimeoutsUnsentAndGoesOn, "falsely_unsent"),
    (Fault::IgnoresTheGuard, "guard_ignored"),
    (Fault::IgnoresTheNo, "guard_ignored"),
    (Fault::AsksTheGuardTooEarly, "guard_stale"),
    (Fault::IgnoresCancellation, "cancellation_ignored"),
    (Fault::IgnoresTheDeadline, "deadline_ignored"),
    (Fault::IgnoresTheIdleTimeout, "idle_timeout_ignored"),
    (Fault::DropsAnArgument, "request_altered"),
    (Fault::FailsTheEighthCall, "not_answered"),
    (Fault::AnswersByItself, "answer_altered"),
    (Fault::MixesAnswersUp, "answer_altered"),
    (Fault::TakesErrorsForLosses, "error_not_handed_on"),
    (Fault::TakesFailuresForLosses, "error_not_handed_on"),
    (Fault::EndsWithAStrayAnswer, "stray_answer_taken"),
    (Fault::HangsAtTheEnd, "left_hanging"),
    (Fault::HangsWhenClosed, "left_hanging"),
    (Fault::WaitsForRoomWhenClosed, "left_hanging"),
    (Fault::NeverFinishesClosing, "left_hanging"),
    (Fault::TellsLossesAsOther, "not_a_loss"),
    (Fault::ClassifiesLossesAsOther, "not_a_loss"),
    (Fault::SendsAfterClose, "taken_after_end"),
    (Fault::SendsAfterRetiring, "taken_after_end"),
    (Fault::TellsRefusalsInDoubt, "taken_after_end"),
    (Fault::SaysThatItIsOpen, "not_closed"),
    (Fault::ClaimsAFence, "false_fence"),
];

struct Wrong {
    queue: Arc<Queue>,
    fault: Fault,
    calls: AtomicUsize,
    behaviour: Behaviour,
    retired: CancellationToken,
}

type Calling<'f> = Pin<Box<dyn Future<Output = Result<CallReply, TransportError>> + Send + 'f>>;

impl Wrong {
    fn bounded(&self, call: ToolCall) -> ToolCall {
        match self.fault {
            Fault::IgnoresTheGuard | Fault::AsksTheGuardTooEarly => call.with_guard(Guard::new(|| Ok(()))),
            Fault::IgnoresTheNo => {
                let Some(guard) = call.guard().cloned() else { return call };
                call.with_guard(Guard::new(move || {
                    // Asked, and that is all.
                    let _ = guard.check();
                    Ok(())
                }))
            }
            Fault::IgnoresCancellation => call.with_cancellation(CancellationToken::new()),
            Fault::IgnoresTheDeadline => call.with_deadline(Duration::from_secs(60 * 60)),
            Fault::IgnoresTheIdleTimeout => call.without_idle_timeout(),
            _ => call,
        }
    }

    async fn make(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        if self.is_over() {
            return self.refuse(&call);
        }
        match self.fault {
            Fault::FailsTheEighthCall if number == 7 => {
                return Err(TransportError::unsupported());
            }
            Fault::AnswersByItself if number == 7 => return Ok(answer("7")),
            Fault::EndsWithAStrayAnswer if self.behaviour == Behaviour::AnswersNobodyFirst => {
                self.queue.closed.cancel();
            }
            _ => {}
        }
        let waited = self.behaviour == Behaviour::TakesNothing;
        if self.fault == Fault::AsksTheGuardTooEarly {
            call.may_send()?;
        }
        let told = self.attempt(self.bounded(call.clone())).await;
        match (self.fault, &told) {
            (Fault::MixesAnswersUp, Ok(CallReply::Result(result))) if result.is_error != Some(true) => {
                Ok(answer("another's"))
            }
            (Fault::TakesErrorsForLosses, Ok(CallReply::Error(_))) => Err(TransportError::lost()),
            (Fault::TakesFailuresForLosses, Ok(reply)) if reply.is_error() && reply.result().is_some() => {
                Err(TransportError::lost())
            }
            (Fault::ClaimsLossesUnsent, Err(error)) => Err(error.clone().proven_unsent()),
            (Fault::TellsLossesAsOther, Err(error)) if error.kind() == ErrorKind::Lost => {
                Err(TransportError::other("lost"))
            }
            (Fault::SendsLaterWhatTimedOut, Err(error)) if waited && error.kind() == ErrorKind::Deadline => {
                self.send_later(call);
                Err(TransportError::deadline())
            }
            (Fault::ClaimsTimeoutsUnsentAndGoesOn, Err(error))
                if waited && error.kind() == ErrorKind::Deadline =>
            {
                self.send_later(call);
                told
            }
            (Fault::SendsLaterWhatWasCancelled, Err(error))
                if waited && error.kind() == ErrorKind::Cancelled =>
            {
                self.send_later(call);
                Err(TransportError::cancelled())
            }
            _ => told,
        }
    }

    async fn attempt(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let later = SentWhenDropped { wrong: self, call: call.clone(), armed: true };
        let reply = call
            .attempt(self.room(), |call, room| async move {
                let (mut job, answer) = Job::of(&call);
                if self.fault == Fault::DropsAnArgument {
                    Arc::make_mut(job.arguments.as_mut().unwrap()).remove("given");
                }
                room.send(job);
                if self.fault == Fault::SendsTwice {
                    let _ = self.queue.jobs.try_send(Job::of(&call).0);
                }
                match self.fault {
                    Fault::HangsAtTheEnd => match self.queue.closed.run_until_cancelled(answer).await {
                        Some(Err(_)) => pending().await,
                        Some(Ok(reply)) => Ok(reply),
                        None => Err(TransportError::lost()),
                    },
                    Fault::HangsWhenClosed => answer.await.map_err(|_| TransportError::lost()),
                    _ => self.queue.answer(answer).await,
                }
            })
            .await;
        later.defused();
        reply
    }

    async fn room(&self) -> Result<mpsc::Permit<'_, Job>, TransportError> {
        match self.fault {
            Fault::WaitsForRoomWhenClosed => {
                self.queue.jobs.reserve().await.map_err(|_| TransportError::closed())
            }
            _ => self.queue.room().await,
        }
    }

    fn is_over(&self) -> bool {
        self.queue.is_closed() || self.retired.is_cancelled()
    }

    fn refuse(&self, call: &ToolCall) -> Result<CallReply, TransportError> {
        let sends = match self.fault {
            Fault::SendsAfterClose => self.queue.closed.is_cancelled(),
            Fault::SendsAfterRetiring => !self.queue.closed.is_cancelled(),
            _ => false,
        };
        if sends {
            let _ = self.queue.jobs.try_send(Job::of(call).0);
        }
        match self.fault {
            Fault::TellsRefusalsInDoubt => Err(TransportError::closed().in_doubt()),
            _ => Err(TransportError::closed()),
        }
    }

    fn send_later(&self, call: ToolCall) {
        let queue = self.queue.clone();
        tokio::spawn(async move {
            if let Ok(room) = queue.jobs.reserve().await {
                room.send(Job::of(&call).0);
            }
        });
    }
}

fn answer(text: &str) -> CallReply {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

struct SentWhenDropped<'a> {
    wrong: &'a Wrong,
    call: ToolCall,
    armed: bool,
}

impl SentWhenDropped<'_> {
    fn defused(mut self) {
        self.armed = false;
    }
}

impl Drop for SentWhenDropped<'_> {
    fn drop(&mut self) {
        if self.armed && self.wrong.fault == Fault::SendsLaterWhatWasDropped {
            self.wrong.send_later(self.call.clone());
        }
    }
}

impl Transport for Wrong {
    fn call_tool<'s, 'f>(&'s self, call: ToolCall) -> Calling<'f>
    where
        's: 'f,
        Self: 'f,
    {
        if self.fault == Fault::SendsBeforeThePoll
            && !self.is_over()
            && call.may_send().is_ok()
            && let Ok(room) = self.queue.jobs.try_reserve()
        {
            let (job, answer) = Job::of(&call);
            room.send(job);
            let sent = async { Ok(()) };
            return Box::pin(call.attempt(sent, |_, ()| self.queue.answer(answer)));
        }
        Box::pin(self.make(call))
    }

    fn list_tools<'s, 'f>(
        &'s self,
        _: Option<Cursor>,
    ) -> Pin<Box<dyn Future<Output = Result<ToolPage, TransportError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async { Ok(ToolPage::default()) })
    }

    fn is_closed(&self) -> bool {
        self.fault != Fault::SaysThatItIsOpen && self.is_over()
    }

    fn close<'s, 'f>(&'s self) -> Pin<Box<dyn Future<Output = Fence> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async {
            self.queue.closed.cancel();
            match self.fault {
                Fault::ClaimsAFence => Fence::GroupGone,
                Fault::NeverFinishesClosing => pending().await,
                _ => Fence::None,
            }
        })
    }

    fn retire<'s, 'f>(&'s self) -> Pin<Box<dyn Future<Output = Fence> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async {
            self.retired.cancel();
            Fence::None
        })
    }

    fn classify(&self, error: &TransportError) -> ErrorClass {
        match (self.fault, error.kind()) {
            (Fault::ClassifiesLossesAsOther, ErrorKind::Lost) => ErrorClass::Other,
            _ => error.class(),
        }
    }
}

struct Spoilt(Fault);

#[async_trait::async_trait]
impl Bench for Spoilt {
    async fn connect(&self, far_end: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
        let behaviour = far_end.behaviour();
        Ok(Arc::new(Wrong {
            queue: Arc::new(start(far_end).await),
            fault: self.0,
            calls: AtomicUsize::new(0),
            behaviour,
            retired: CancellationToken::new(),
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_found_and_called_by_its_name() {
    let mut wrong = Vec::new();
    for (fault, code) in FAULTS {
        let report = contract::examine(Spoilt(fault)).await;
        let found: Vec<_> = report.violations().iter().map(Violation::code).collect();
        if found != [code] {
            wrong.push(format!("{fault:?} is {code}: {report}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The match in `code` is exhaustive where it stands, so the codes are read there.
#[test]
fn every_clause_has_a_transport_that_breaks_it_and_a_row_in_the_documents() {
    let source = include_str!("../../src/contract/report.rs");
    let (_, clause) = source.split_once("impl Clause").expect("the clauses");
    let (code, _) = clause.split_once("fn why").expect("their codes");
    let codes: BTreeSet<_> = code.split('"').skip(1).step_by(2).collect();
    assert_eq!(codes, FAULTS.map(|(_, code)| code).into());

    let document = include_str!("../../../../docs/custom-transport.md");
    let (_, table) = document.split_once("| code | what was seen |").expect("the table of codes");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let documented: BTreeSet<_> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert_eq!(codes, documented);
}
