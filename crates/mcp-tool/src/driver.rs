//! The one loop: feeds the machine with events and does what it says. Here the layers meet.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use mcp_discovery::{Catalog, CatalogTool, DiscoveryError, ToolName};
use mcp_transport::{
    CallReply, CancellationToken, ErrorClass, ErrorKind, Guard, ServerIdentity, ToolCall, TransportError,
    Withdrawn,
};
use replay_policy::{Checkpoint, Decision, Delivery, FailedAttempt, Trust};
use tokio::time::{Instant, sleep_until};
use tracing::{Instrument, Span, field::Empty};

use crate::{
    Answer, Happening, InvocationInfo, Outcome, Reason, TaskHandle, ToolError, bridge,
    client::Shared,
    error::Ending,
    machine::{Action, AttemptKind, Consultation, Event, Invocation, Verdict},
    task::MadeBy,
};

/// How much longer than its bounds a transport may take to return, before its call is dropped.
const BACKSTOP: Duration = Duration::from_secs(1);

/// One invocation under way. However its future ends, the ending is told.
struct Driver<'a> {
    shared: &'a Arc<Shared>,
    call: ToolCall,
    id: u64,
    machine: Invocation,
    /// The definition that the caller made the call for.
    held: Option<CatalogTool>,
    /// The server and the trust in it when the invocation began.
    began: Option<(ServerIdentity, Trust)>,
    /// The trust that the last decision was taken under.
    decided_under: Trust,
    catalog: Option<Arc<Catalog>>,
    reply: Option<CallReply>,
    error: Option<TransportError>,
    span: Span,
    /// It has begun, and its ending was not told yet.
    under_way: bool,
}

/// Makes one invocation, from its beginning to its answer or its error. It begins when it is first polled.
///
/// The driver is made before, since what an async function is given is kept twice, by every call in flight.
pub(crate) fn invoke(
    shared: &Arc<Shared>,
    call: ToolCall,
    held: Option<CatalogTool>,
) -> impl Future<Output = Result<Answer, ToolError>> + Send {
    let mut driver = Driver {
        shared,
        call,
        id: 0,
        machine: Invocation::new(),
        held,
        began: None,
        decided_under: Trust::NONE,
        catalog: None,
        reply: None,
        error: None,
        span: Span::none(),
        under_way: false,
    };
    async move {
        driver.begin();
        let span = driver.span.clone();
        driver.run().instrument(span).await
    }
}

impl Driver<'_> {
    fn begin(&mut self) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.id = NEXT.fetch_add(1, Ordering::Relaxed);
        self.call.start();
        self.span = tracing::info_span!(
            "mcp.call",
            server = %ToolName::from(self.shared.name.clone()),
            tool = %ToolName::from(self.call.shared_name()),
            generation = Empty,
            attempt = Empty,
            delivery = Empty,
            decision = Empty,
            reason = Empty,
        );
        self.under_way = true;
    }

    async fn run(&mut self) -> Result<Answer, ToolError> {
        let mut action = self.machine.on(Event::Begin);
        loop {
            let event = match action {
                Action::Catalog => self.first_catalog().await,
                Action::Rebuild => self.rebuild().await,
                Action::Attempt(kind) => self.attempt(kind).await,
                Action::Consult(facts) => self.consult(facts),
                Action::Finish(verdict) => return self.finish(verdict),
            };
            action = self.machine.on(event);
        }
    }

    async fn first_catalog(&mut self) -> Event {
        let found = within(&self.call, self.shared.discovery.catalog()).await;
        self.take_catalog(found)
    }

    async fn rebuild(&mut self) -> Event {
        let Some(stale) = self.catalog.as_ref().map(|catalog| catalog.generation()) else {
            return Event::Unavailable(Reason::Unavailable);
        };
        let found = within(&self.call, self.shared.discovery.rebuild(stale)).await;
        self.take_catalog(found)
    }

    fn take_catalog(&mut self, found: Waited<Result<Arc<Catalog>, DiscoveryError>>) -> Event {
        let catalog = match found {
            Waited::Done(Ok(catalog)) => catalog,
            Waited::Done(Err(error)) => {
                // A failed reconnect does not hide the loss that it was for.
                if self.error.is_none() {
                    self.error = error.transport_error().cloned();
                }
                return Event::Unavailable(bridge::unavailable(&error));
            }
            Waited::Cancelled => return Event::Cancelled,
            Waited::DeadlinePassed => return Event::DeadlinePassed,
        };
        self.span.record("generation", catalog.generation().get());
        self.tell(&Happening::Listed {
            generation: catalog.generation(),
            connection: catalog.connection(),
            tools: catalog.len(),
            quarantined: catalog.quarantined().len(),
        });
        let (identity, _) = self.began.get_or_insert_with(|| {
            let identity = catalog.identity().clone();
            let trust = self.shared.trust.trust(&self.shared.name, &identity);
            (identity, trust)
        });
        let lost = self.catalog.as_ref().map(|catalog| catalog.connection());
        let listed = bridge::listed(&catalog, identity, self.call.name(), self.held.as_ref(), lost);
        if self.held.is_none() {
            self.held = catalog.tool(self.call.name()).cloned();
        }
        self.catalog = Some(catalog);
        Event::Listed(listed)
    }

    /// Asks the policy. Synchronous: between this reading of trust and the hand-over of a replay to the
    /// transport there is no await.
    fn consult(&mut self, facts: Consultation) -> Event {
        if self.call.is_continuation() && facts.delivery != Delivery::Unsent {
            self.span.record("decision", Reason::Continuation.code());
            return Event::Continuation;
        }
        let trust_now = self.trust_now();
        self.decided_under = trust_now;
        let trust_then = self.began.as_ref().map_or(Trust::NONE, |(_, trust)| *trust);
        let attempt = FailedAttempt::new(self.call.shared_name(), facts.checkpoint)
            .with_server(self.shared.name.clone())
            .with_delivery(facts.delivery)
            .with_trust(trust_now)
            .with_trust_at_start(trust_then)
            .with_hints(facts.hints)
            .with_definition(facts.definition)
            .with_fence(facts.fence)
            .with_attempts(facts.attempts)
            .with_replays(facts.replays)
            .with_resends(facts.resends);
        let decision = self.shared.policy.decide(&attempt);
        let code = match decision {
            Decision::Replay => "replay",
            Decision::Deny(reason) => reason.code(),
        };
        self.span.record("decision", code);
        tracing::debug!(checkpoint = ?facts.checkpoint, delivery = ?facts.delivery, decision = code, "decided");
        self.tell(&Happening::Decided { checkpoint: facts.checkpoint, decision });
        match decision {
            Decision::Replay if !self.is_within_budget(&facts) => Event::OverBudget,
            decision => Event::Decided(decision),
        }
    }

    /// The first replay of an invocation is its own; what did not leave is not replayed.
    fn is_within_budget(&self, facts: &Consultation) -> bool {
        let bucket = &self.shared.retry_budget;
        facts.delivery == Delivery::Unsent
            || facts.replays == 0
            || match facts.checkpoint {
                Checkpoint::BeforeReconnect => bucket.has_one(),
                Checkpoint::BeforeReplay => bucket.take(),
            }
    }

    async fn attempt(&mut self, kind: AttemptKind) -> Event {
        let Some(catalog) = self.catalog.clone() else {
            return Event::Unavailable(Reason::Unavailable);
        };
        let generation = catalog.generation();
        self.span.record("attempt", self.machine.attempts() + 1);
        self.tell(&Happening::Attempting { kind, generation });
        let call = self.guarded(kind);
        let transport = catalog.transport();
        let outcome = tokio::select! {
            biased;
            outcome = transport.call_tool(call) => outcome,
            error = backstop(&self.call) => Err(error),
        };
        let error = match outcome {
            Ok(reply) => {
                self.reply = Some(reply);
                return Event::Answered;
            }
            Err(error) => error,
        };
        // The caller's abort wins over whatever the connection says.
        let class = if self.call.is_cancelled() { ErrorClass::Abort } else { transport.classify(&error) };
        let failure = bridge::failure(&error, class);
        if class == ErrorClass::Connection || tells_of_a_lost_session(error.kind()) {
            self.shared.discovery.suspect(generation);
        } else if matches!(error.kind(), ErrorKind::IdleTimeout | ErrorKind::Deadline) {
            self.shared.discovery.doubt(generation);
        }
        self.span.record("delivery", delivery_code(failure.delivery));
        tracing::debug!(kind = error.kind().code(), delivery = ?failure.delivery, ?class, "attempt failed");
        self.tell(&Happening::Failed { kind: error.kind(), delivery: failure.delivery });
        self.error = Some(error);
        Event::Failed(failure)
    }

    /// The call for one attempt. A further attempt leaves only while the trust that it was permitted
    /// under is still there, asked again directly before its first byte.
    fn guarded(&self, kind: AttemptKind) -> ToolCall {
        let call = self.call.next_attempt().with_attempt(self.machine.attempts() + 1);
        let Some((identity, trust_then)) = &self.began else {
            return call;
        };
        let permitted_under = match kind {
            AttemptKind::First => return call,
            AttemptKind::Resend => *trust_then,
            AttemptKind::Replay => self.decided_under,
        };
        if !permitted_under.is_trusted_server_in_trusted_workspace() {
            return call;
        }
        let (source, server, identity) =
            (self.shared.trust.clone(), self.shared.name.clone(), identity.clone());
        let callers = call.guard().cloned();
        call.with_guard(Guard::new(move || {
            if !source.trust(&server, &identity).is_trusted_server_in_trusted_workspace() {
                return Err(Withdrawn);
            }
            callers.as_ref().map_or(Ok(()), Guard::check)
        }))
    }

    fn trust_now(&self) -> Trust {
        match &self.began {
            Some((identity, _)) => self.shared.trust.trust(&self.shared.name, identity),
            None => Trust::NONE,
        }
    }

    fn finish(&mut self, verdict: Verdict) -> Result<Answer, ToolError> {
        let (outcome, reason) = match verdict {
            Verdict::Answered => (None, None),
            Verdict::NotExecuted(reason) => (Some(Outcome::NotExecuted), Some(reason)),
            Verdict::Unknown(reason) => (Some(Outcome::Unknown), Some(reason)),
        };
        self.end(outcome, reason, self.machine.attempts());
        let (attempts, replays, unsent) =
            (self.machine.attempts(), self.machine.replays(), self.machine.unsent());
        match (outcome, reason, self.reply.take()) {
            (None, None, Some(reply)) => {
                let earlier_unknown = self.machine.is_in_doubt();
                let made_by = MadeBy { attempts, replays, unsent, earlier_unknown };
                let identity = self.began.as_ref().map(|(identity, _)| identity);
                let task = identity
                    .and_then(|identity| TaskHandle::of(&reply, self.shared, &self.call, identity, made_by));
                Ok(Answer { reply, attempts, replays, unsent, earlier_unknown, task })
            }
            (outcome, reason, _) => {
                let (outcome, reason) =
                    (outcome.unwrap_or(Outcome::Unknown), reason.unwrap_or(Reason::Dropped));
                let ending = Ending { outcome, reason, attempts, replays, unsent };
                let (server, tool) = (self.shared.name.clone(), self.call.shared_name());
                Err(ToolError::new(&ending, server, tool, self.error.take()))
            }
        }
    }

    fn end(&mut self, outcome: Option<Outcome>, reason: Option<Reason>, attempts: u32) {
        self.under_way = false;
        if let Some(reason) = reason {
            self.span.record("reason", reason.code());
        }
        let replays = self.machine.replays();
        tracing::debug!(
            outcome = outcome.map_or("completed", Outcome::code),
            reason = reason.map(Reason::code),
            attempts,
            replays,
            "ended"
        );
        self.tell(&Happening::Ended { outcome, reason, attempts, replays });
    }

    fn tell(&self, happening: &Happening) {
        if let Some(observer) = &self.shared.observer {
            observer.observe(&InvocationInfo::new(self.id, &self.shared.name, self.call.name()), happening);
        }
    }
}

impl Drop for Driver<'_> {
    /// The caller dropped the call: nobody hears its outcome, but it is recorded.
    fn drop(&mut self) {
        if !self.under_way {
            return;
        }
        // Dropped from outside of it.
        let span = self.span.clone();
        let _inside = span.enter();
        let (outcome, attempts) = (self.machine.outcome_if_dropped(), self.machine.attempts_if_dropped());
        self.end(Some(outcome), Some(Reason::Dropped), attempts);
    }
}

enum Waited<T> {
    Done(T),
    Cancelled,
    DeadlinePassed,
}

/// Waits under the call's cancellation and deadline; what is done wins.
async fn within<T>(call: &ToolCall, work: impl Future<Output = T>) -> Waited<T> {
    tokio::select! {
        biased;
        done = work => Waited::Done(done),
        () = cancelled(call.cancellation()) => Waited::Cancelled,
        () = sleep_until(call.deadline()) => Waited::DeadlinePassed,
    }
}

/// Ends a call whose transport ignores the call's bounds. Nothing is known of it then.
async fn backstop(call: &ToolCall) -> TransportError {
    let mut end = pin!(sleep_until(call.deadline() + BACKSTOP));
    tokio::select! {
        () = end.as_mut() => return TransportError::deadline(),
        () = cancelled(call.cancellation()) => {}
    }
    let at = end.deadline().min(Instant::now() + BACKSTOP);
    end.as_mut().reset(at);
    end.await;
    TransportError::cancelled()
}

/// Waits until the caller cancels, for ever where nobody can.
pub(crate) async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Servers that lost a session may say so by any status of their own, so the next call asks first.
fn tells_of_a_lost_session(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::HttpStatus(_))
}

fn delivery_code(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Unsent => "unsent",
        Delivery::Refused => "refused",
        Delivery::Unknown => "unknown",
    }
}
