//! One call: what its driver holds, and what became of its requests.

use mcp_tool::{
    Trust,
    machine::{AttemptKind, Invocation, Verdict},
    mcp_discovery::{Generation, generations::FlightId},
};

use crate::{
    scenario::{Caller, Content},
    world::Catalog,
};

/// One call, and what the server did for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) caller: Caller,
    pub(crate) stage: Stage,
    /// Requests of attempts that are over, and that some server still has.
    pub(crate) orphans: Vec<Orphan>,
    pub(crate) executions: u8,
    /// Replays whose first byte left with proof of safety.
    pub(crate) licensed: u8,
    /// A failed attempt may have run.
    pub(crate) doubtful: bool,
    pub(crate) leaves: Option<Leave>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    Idle,
    Running(Run),
    Ended(Ending),
}

/// What the driver holds of a call that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    /// The shipped type.
    pub(crate) machine: Invocation,
    pub(crate) at: At,
    pub(crate) catalog: Option<Catalog>,
    /// The server and the trust in it when the invocation began.
    pub(crate) began: Option<(u8, Trust)>,
    /// What the call was made for.
    pub(crate) held: Option<Content>,
    pub(crate) decided_under: Trust,
    /// The latest listing that had left when the loss was seen.
    pub(crate) lost_after: Option<Generation>,
    /// The attempt failed on a generation that had a successor.
    pub(crate) straggled: bool,
    pub(crate) resends: u8,
    /// The client has read an answer.
    pub(crate) answered: bool,
}

/// What the driver waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum At {
    /// It has just begun.
    Nowhere,
    Flight(FlightId),
    Attempt(Request),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    pub(crate) link: usize,
    pub(crate) kind: AttemptKind,
    pub(crate) progress: Progress,
    /// The guard asks for both trusts.
    pub(crate) guarded: bool,
    /// There was proof of safety when it was handed over.
    pub(crate) licensed: bool,
}

/// How far a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Progress {
    /// Handed over; no byte is accepted.
    Queued,
    /// On its way, complete.
    Accepted,
    /// The server has it.
    Read,
    /// The effect is there.
    Executed,
}

/// A request that nobody waits for any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Orphan {
    pub(crate) link: usize,
    pub(crate) executed: bool,
}

/// How somebody gives up a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Leave {
    Cancelled,
    DeadlinePassed,
}

/// What the caller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ending {
    pub(crate) verdict: Verdict,
    pub(crate) attempts: u32,
    pub(crate) replays: u32,
    pub(crate) resends: u8,
}

impl Call {
    /// One that nobody has made yet.
    pub(crate) fn of(caller: Caller) -> Self {
        Self {
            caller,
            stage: Stage::Idle,
            orphans: Vec::new(),
            executions: 0,
            licensed: 0,
            doubtful: false,
            leaves: None,
        }
    }

    pub(crate) fn end(&mut self, ending: Ending) {
        self.stage = Stage::Ended(ending);
        self.leaves = None;
    }

    pub(crate) fn run(&self) -> Option<&Run> {
        match &self.stage {
            Stage::Running(run) => Some(run),
            Stage::Idle | Stage::Ended(_) => None,
        }
    }

    pub(crate) fn run_mut(&mut self) -> &mut Run {
        match &mut self.stage {
            Stage::Running(run) => run,
            Stage::Idle | Stage::Ended(_) => unreachable!("only a call that runs is looked at"),
        }
    }

    pub(crate) fn request(&self) -> Option<Request> {
        match self.run()?.at {
            At::Attempt(request) => Some(request),
            At::Nowhere | At::Flight(_) => None,
        }
    }

    pub(crate) fn ending(&self) -> Option<&Ending> {
        match &self.stage {
            Stage::Ended(ending) => Some(ending),
            Stage::Idle | Stage::Running(_) => None,
        }
    }
}

impl Run {
    pub(crate) fn new(machine: Invocation, held: Option<Content>) -> Self {
        Self {
            machine,
            at: At::Nowhere,
            catalog: None,
            began: None,
            held,
            decided_under: Trust::NONE,
            lost_after: None,
            straggled: false,
            resends: 0,
            answered: false,
        }
    }
}
