//! What the driver does around the machine, step by step between two of its awaits.

use mcp_tool::{
    Reason, ReplayPolicy, Trust,
    machine::{Action, AttemptKind, Consultation, Event, Failure, Invocation, Listed, ListedTool, Server},
    mcp_discovery::generations::{Joined, Need},
    mcp_transport::{self, ErrorClass, TransportError},
    replay_policy::{Checkpoint, Decision, Definition, Delivery, FailedAttempt, Fence},
};

use crate::{
    breach::Breach,
    bridge::may_be_called,
    call::{At, Ending, Leave, Orphan, Progress, Request, Run, Stage},
    discovery::Found,
    fault::Fault,
    scenario::{Content, GuardIs, Holds, Sends, Writes},
    system::System,
    world::{Catalog, Leg, World},
};

impl System {
    /// The call begins: a first catalog.
    pub(crate) fn begin(&self, world: &mut World, who: usize) {
        let mut machine = Invocation::new();
        let action = machine.on(Event::Begin);
        let call = &mut world.calls[who];
        let held = (call.caller.holds == Holds::Handle).then_some(Content::Original);
        call.stage = Stage::Running(Run::new(machine, held));
        self.proceed(world, who, action);
    }

    /// The flight that the call waited for has landed.
    pub(crate) fn wake(&self, world: &mut World, who: usize, outcome: Option<Catalog>) {
        let event = self.catalog_or_not(world, who, outcome);
        self.feed(world, who, event);
    }

    /// The attempt brought an answer.
    pub(crate) fn answered(&self, world: &mut World, who: usize) {
        world.calls[who].run_mut().answered = true;
        if self.has(Fault::TakesAnAnswerForALoss) {
            return self.failed(world, who, &TransportError::lost());
        }
        self.feed(world, who, Event::Answered);
    }

    /// The attempt failed like this.
    pub(crate) fn failed(&self, world: &mut World, who: usize, error: &TransportError) {
        let (present, latest) = (world.generations.present(), world.latest);
        let call = &mut world.calls[who];
        let cancelled = call.leaves == Some(Leave::Cancelled) && !self.has(Fault::TakesACancelForALoss);
        let class = if cancelled { ErrorClass::Abort } else { error.class() };
        let delivery = self.delivery(error);
        call.doubtful |= error.delivery() != mcp_transport::Delivery::Unsent;
        let run = call.run_mut();
        run.lost_after = latest;
        if let Some(catalog) = run.catalog
            && class == ErrorClass::Connection
        {
            run.straggled = present.is_some_and(|present| present.generation > catalog.generation);
            world.tainted = world.tainted.max(Some(catalog.generation));
            world.generations.suspect(catalog.generation);
        }
        self.feed(world, who, Event::Failed(Failure { class, delivery, kind: error.kind() }));
    }

    /// The bounds of the call end its wait for a catalog.
    pub(crate) fn leave_the_wait(&self, world: &mut World, who: usize, leave: Leave) {
        self.feed(
            world,
            who,
            match leave {
                Leave::Cancelled => Event::Cancelled,
                Leave::DeadlinePassed => Event::DeadlinePassed,
            },
        );
    }

    fn feed(&self, world: &mut World, who: usize, event: Event) {
        let action = world.calls[who].run_mut().machine.on(event);
        self.proceed(world, who, action);
    }

    /// Does what the machine says until that takes a wait.
    fn proceed(&self, world: &mut World, who: usize, mut action: Action) {
        loop {
            let event = match action {
                Action::Catalog => match self.catalog(world, who) {
                    Some(present) => self.catalog_or_not(world, who, Some(present)),
                    None => return,
                },
                Action::Rebuild => match self.rebuild(world, who) {
                    Some(old) => self.catalog_or_not(world, who, Some(old)),
                    None => return,
                },
                Action::Consult(facts) => self.consult(world, who, facts),
                Action::Attempt(kind) => return self.hand_over(world, who, kind),
                Action::Finish(verdict) => {
                    let call = &mut world.calls[who];
                    let Run { machine, resends, .. } = call.run_mut();
                    let (attempts, replays, resends) = (machine.attempts(), machine.replays(), *resends);
                    call.end(Ending { verdict, attempts, replays, resends });
                    return;
                }
            };
            action = world.calls[who].run_mut().machine.on(event);
        }
    }

    /// The present catalog if it will do, else a wait.
    fn catalog(&self, world: &mut World, who: usize) -> Option<Catalog> {
        let present = world.catalog.filter(|_| world.generations.is_unsuspected());
        if let Some(present) = present
            && world.links[present.link].open
        {
            return Some(present);
        }
        self.join(world, who, Need::Catalog);
        None
    }

    fn rebuild(&self, world: &mut World, who: usize) -> Option<Catalog> {
        let run = world.calls[who].run_mut();
        let stale = run.catalog.expect("it was attempted on one");
        if self.has(Fault::ForgetsDoubt) {
            run.machine = without_doubt();
        }
        if self.has(Fault::ReplaysOnTheOldGeneration) {
            return Some(stale);
        }
        if self.has(Fault::StragglersTearDown) && world.catalog.is_some() {
            self.retire(world, Found::Nothing);
        }
        world.generations.suspect(stale.generation);
        let departed_will_do = self.has(Fault::SharesADepartedListing);
        self.join(world, who, if departed_will_do { Need::Catalog } else { Need::FreshListing });
        None
    }

    fn join(&self, world: &mut World, who: usize, need: Need) {
        let could_share = world.newest_flight().is_some_and(|newest| {
            matches!(newest.at, Leg::Waiting | Leg::Connecting) && world.is_waited_for(newest.id)
        });
        let flight = match self.join_flight(world, need) {
            Joined::Shared(flight) => flight,
            Joined::New(flight) => {
                if could_share {
                    world.breaches.note(Breach::NotShared);
                }
                flight
            }
        };
        world.calls[who].run_mut().at = At::Flight(flight);
    }

    fn catalog_or_not(&self, world: &mut World, who: usize, found: Option<Catalog>) -> Event {
        let (trust, caller) = (world.trust, world.calls[who].caller);
        let run = world.calls[who].run_mut();
        run.straggled = false;
        let Some(catalog) = found else {
            return Event::Unavailable(Reason::Unavailable);
        };
        let (identity, _) = *run.began.get_or_insert((catalog.identity, trust));
        let listed = self.listed(&catalog, identity, run, |content| caller.tool.hints(content));
        if run.held.is_none() && catalog.content != Content::Gone {
            run.held = Some(catalog.content);
        }
        run.catalog = Some(catalog);
        Event::Listed(listed)
    }

    fn consult(&self, world: &mut World, who: usize, facts: Consultation) -> Event {
        let (mut trust_now, caller) = (world.trust, world.calls[who].caller);
        let run = world.calls[who].run_mut();
        if self.has(Fault::TrustsEverybody) {
            trust_now = Trust::BOTH;
        }
        if self.has(Fault::CarriesTrustOver) && facts.checkpoint == Checkpoint::BeforeReplay {
            trust_now = run.decided_under;
        }
        run.decided_under = trust_now;
        let continues = caller.sends == Sends::Continuation && !self.has(Fault::ReplaysContinuations);
        if continues && facts.delivery != Delivery::Unsent {
            return Event::Continuation;
        }
        let trust_then = run.began.map_or(Trust::NONE, |(_, trust)| trust);
        let attempt = FailedAttempt::new(self.tool.clone(), facts.checkpoint)
            .with_delivery(facts.delivery)
            .with_trust(trust_now)
            .with_trust_at_start(trust_then)
            .with_hints(facts.hints)
            .with_definition(facts.definition)
            .with_fence(facts.fence)
            .with_attempts(facts.attempts)
            .with_replays(facts.replays)
            .with_resends(facts.resends);
        match self.policy.decide(&attempt) {
            Decision::Replay if !is_within_budget(&mut world.left.retries, &facts) => Event::OverBudget,
            decision => Event::Decided(decision),
        }
    }

    /// Gives the call to the transport, and holds what it is given against what is true then.
    fn hand_over(&self, world: &mut World, who: usize, kind: AttemptKind) {
        let (trust, caller) = (world.trust, world.calls[who].caller);
        let run = world.calls[who].run_mut();
        let catalog = run.catalog.expect("there is one before an attempt");
        let held = run.held.expect("it was listed");
        let (identity, trust_then) = run.began.expect("it began with a catalog");
        let both = trust.is_trusted_server_in_trusted_workspace();
        let is_newer = run.lost_after < Some(catalog.generation);
        let mut seen = Vec::new();
        match kind {
            AttemptKind::First => {}
            AttemptKind::Resend => {
                run.resends += 1;
                if trust_then == Trust::BOTH && !both {
                    seen.push(Breach::HandedOverUntrusted);
                }
            }
            AttemptKind::Replay => {
                if !is_newer {
                    seen.push(Breach::ReplayOnOldGeneration);
                }
                if !both {
                    seen.push(Breach::HandedOverUntrusted);
                }
            }
        }
        if identity != catalog.identity {
            seen.push(Breach::OtherServer);
        }
        if !may_be_called(kind, held, catalog.content) {
            seen.push(Breach::OtherTool);
        }
        let permitted_under = match kind {
            AttemptKind::First => Trust::NONE,
            AttemptKind::Resend => trust_then,
            AttemptKind::Replay => run.decided_under,
        };
        let declared = caller.tool.is_declared_safe(catalog.content) && caller.sends == Sends::Call;
        // Both are written anew when this attempt fails.
        (run.lost_after, run.decided_under) = (None, Trust::NONE);
        run.at = At::Attempt(Request {
            link: catalog.link,
            kind,
            progress: Progress::Queued,
            guarded: permitted_under.is_trusted_server_in_trusted_workspace(),
            licensed: kind == AttemptKind::Replay && is_newer && both && declared,
        });
        if kind == AttemptKind::Replay && self.scenario.writes == Writes::NeedFence {
            let acts = |orphan: &Orphan| !orphan.executed && world.links[orphan.link].alive;
            if world.calls[who].orphans.iter().any(acts) {
                seen.push(Breach::ReplayUnfenced);
            }
        }
        seen.into_iter().for_each(|breach| world.breaches.note(breach));
    }

    /// Whether the transport asks before the first byte.
    pub(crate) fn asks_the_guard(&self) -> bool {
        self.scenario.guard == GuardIs::Obeyed && !self.has(Fault::SkipsTheGuard)
    }
}

/// The first replay of an invocation is its own; what did not leave is not replayed.
fn is_within_budget(left: &mut u8, facts: &Consultation) -> bool {
    if facts.delivery == Delivery::Unsent || facts.replays == 0 {
        return true;
    }
    let there_is_one = *left > 0;
    if facts.checkpoint == Checkpoint::BeforeReplay {
        *left = left.saturating_sub(1);
    }
    there_is_one
}

/// A machine that has come as far as a rebuild, and believes that nothing was sent.
fn without_doubt() -> Invocation {
    let mut machine = Invocation::new();
    let tool = ListedTool { hints: None, definition: Definition::Same };
    let listed = Listed { server: Server::Same, tool: Some(tool), fence: Fence::None };
    let error = TransportError::closed();
    let failure = Failure { class: error.class(), delivery: Delivery::Unsent, kind: error.kind() };
    for event in [Event::Begin, Event::Listed(listed), Event::Failed(failure)] {
        let _ = machine.on(event);
    }
    assert_eq!(machine.on(Event::Decided(Decision::Replay)), Action::Rebuild);
    machine
}
