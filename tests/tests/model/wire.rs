//! What becomes of a request: the transport, the network, the server's processes, and those who give up.

use mcp_tool::{
    Outcome, Reason,
    machine::{AttemptKind, Verdict},
    mcp_transport::TransportError,
};

use crate::{
    breach::Breach,
    call::{At, Call, Ending, Leave, Orphan, Progress, Request},
    fault::Fault,
    scenario::{GuardIs, Wire},
    system::System,
    world::World,
};

impl System {
    /// The transport is about to send: asks the guard, and lets the frame out.
    pub(crate) fn accept(&self, world: &mut World, who: usize) {
        let both = world.trust.is_trusted_server_in_trusted_workspace();
        let call = &mut world.calls[who];
        let mut request = call.request().expect("it is queued");
        let refusal = match call.leaves {
            Some(Leave::Cancelled) if !self.has(Fault::TakesACancelForALoss) => {
                Some(TransportError::cancelled().proven_unsent())
            }
            Some(Leave::DeadlinePassed) => Some(TransportError::deadline().proven_unsent()),
            _ if request.guarded && !both => Some(TransportError::withdrawn()),
            _ => None,
        };
        if let Some(refusal) = refusal.filter(|_| self.asks_the_guard()) {
            return self.failed(world, who, &refusal);
        }
        if call.run_mut().answered {
            world.breaches.note(Breach::SentAfterAnswer);
        }
        let needs_both = request.kind == AttemptKind::Replay || request.guarded;
        match self.scenario.guard {
            // What is promised then holds up to the hand-over.
            GuardIs::Ignored => {}
            GuardIs::Obeyed => {
                if call.leaves.is_some() {
                    world.breaches.note(Breach::SentAfterLeave);
                }
                if needs_both && !both {
                    world.breaches.note(Breach::FirstByteUntrusted);
                }
            }
        }
        call.licensed += u8::from(request.licensed);
        request.progress = Progress::Accepted;
        call.run_mut().at = At::Attempt(request);
    }

    pub(crate) fn read(&self, world: &mut World, who: usize) {
        self.progress(world, who, Progress::Read);
    }

    /// The effect happens.
    pub(crate) fn execute(&self, world: &mut World, who: usize) {
        self.progress(world, who, Progress::Executed);
        world.calls[who].executions += 1;
    }

    fn progress(&self, world: &mut World, who: usize, progress: Progress) {
        let request = world.calls[who].request().expect("somebody has it");
        world.calls[who].run_mut().at = At::Attempt(Request { progress, ..request });
    }

    /// The effect of a request that nobody waits for.
    pub(crate) fn execute_late(&self, world: &mut World, who: usize, orphan: usize) {
        let call = &mut world.calls[who];
        call.orphans[orphan].executed = true;
        call.executions += 1;
    }

    /// The answer of a request that nobody waits for. The client knows its id no more, and drops it.
    pub(crate) fn answer_late(&self, world: &mut World, who: usize, orphan: usize) {
        let orphan = world.calls[who].orphans.remove(orphan);
        if self.has(Fault::SuspectsOnLateAnswers)
            && let Some(present) = world.catalog
        {
            world.generations.suspect(present.generation);
        }
        let waits_elsewhere = |call: &Call| {
            call.request()
                .is_some_and(|request| request.link != orphan.link && request.progress > Progress::Queued)
        };
        if self.has(Fault::MatchesByNumber)
            && let Some(other) = world.calls.iter().position(waits_elsewhere)
        {
            world.breaches.note(Breach::ForeignAnswer);
            self.orphan(world, other);
            self.answered(world, other);
        }
    }

    /// The client learns that the attempt is lost, each call for itself.
    pub(crate) fn lose(&self, world: &mut World, who: usize) {
        let request = world.calls[who].request().expect("it is lost");
        if self.has(Fault::InventsAnAnswer) {
            self.orphan(world, who);
            return self.answered(world, who);
        }
        let link = &mut world.links[request.link];
        if let Wire::Stdio { .. } = self.scenario.wire {
            link.open = false;
        }
        let unread = request.progress == Progress::Accepted && self.scenario.pipe_tells() && !link.alive;
        let error = match request.progress {
            Progress::Queued => TransportError::closed(),
            Progress::Accepted if unread => TransportError::lost().proven_unsent(),
            Progress::Accepted | Progress::Read | Progress::Executed => TransportError::lost(),
        };
        self.orphan(world, who);
        self.failed(world, who, &error);
    }

    /// Somebody states that the request was not processed; true or not.
    pub(crate) fn refuse(&self, world: &mut World, who: usize) {
        self.orphan(world, who);
        self.failed(world, who, &TransportError::session_lost());
    }

    /// The transport, or the wait for a catalog, notices that the caller has given up.
    pub(crate) fn notice_leave(&self, world: &mut World, who: usize) {
        let leave = world.calls[who].leaves.expect("somebody has left");
        let Some(request) = world.calls[who].request() else {
            return self.leave_the_wait(world, who, leave);
        };
        let error = match leave {
            Leave::Cancelled if self.has(Fault::TakesACancelForALoss) => TransportError::lost(),
            Leave::Cancelled => TransportError::cancelled(),
            Leave::DeadlinePassed => TransportError::deadline(),
        };
        self.orphan(world, who);
        let unsent = request.progress == Progress::Queued;
        self.failed(world, who, &if unsent { error.proven_unsent() } else { error });
    }

    /// The call's future is dropped.
    pub(crate) fn drop_call(&self, world: &mut World, who: usize) {
        if world.calls[who].request().is_some() {
            self.orphan(world, who);
        }
        let call = &mut world.calls[who];
        let run = call.run_mut();
        let verdict = match run.machine.outcome_if_dropped() {
            Outcome::Unknown if !self.has(Fault::ReportsDropsAsNotExecuted) => {
                Verdict::Unknown(Reason::Dropped)
            }
            Outcome::Unknown | Outcome::NotExecuted => Verdict::NotExecuted(Reason::Dropped),
        };
        let (attempts, replays) = (run.machine.attempts_if_dropped(), run.machine.replays());
        let resends = run.resends;
        call.end(Ending { verdict, attempts, replays, resends });
    }

    /// Nobody waits for the request under way any more. What was not sent is sealed; what was goes its way.
    fn orphan(&self, world: &mut World, who: usize) {
        let call = &mut world.calls[who];
        let request = call.request().expect("one is under way");
        if request.progress > Progress::Queued {
            let executed = request.progress == Progress::Executed;
            call.orphans.push(Orphan { link: request.link, executed });
        }
    }
}
