//! One invocation as a pure state machine: events in, actions out. No async, no I/O, no clock, no handle.
//!
//! ```text
//! Begin ─► Catalog ─► Attempt ─► answered ─► Finish
//!                        │ lost
//!                        ▼
//!               Consult(BeforeReconnect) ─► Rebuild ─► Consult(BeforeReplay) ─► Attempt …
//! ```

use mcp_transport::{ErrorClass, ErrorKind};
use replay_policy::{Checkpoint, Decision, Definition, Delivery, Fence, Hints};

use crate::{Outcome, Reason};

/// No policy can lift this: tries of one invocation, those proven unsent included.
pub const MAX_TRIES: u32 = 8;

/// The state of one invocation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Invocation {
    phase: Phase,
    /// Joined over all failed attempts; none before the first one failed.
    delivery: Option<Delivery>,
    /// The tool as it was listed for the attempt under way or just failed.
    hints: Option<Hints>,
    definition: Definition,
    fence: Fence,
    attempts: u32,
    unsent: u32,
    replays: u32,
    resends: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Begun,
    Listing,
    Attempting,
    Consulting(Checkpoint),
    Rebuilding,
    Finished,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The invocation begins.
    Begin,
    /// A complete listing is there.
    Listed(Listed),
    /// No listing could be had, for this reason.
    Unavailable(Reason),
    /// The attempt brought an answer.
    Answered,
    /// The attempt failed.
    Failed(Failure),
    /// The policy has decided.
    Decided(Decision),
    /// The policy has decided for a replay, but the server had all that it gets for now.
    OverBudget,
    /// The policy was not asked: the call continues another one, and may have been received.
    Continuation,
    /// The caller gave up while no attempt was under way.
    Cancelled,
    /// The deadline passed while no attempt was under way.
    DeadlinePassed,
}

/// What a listing says about the invocation's server and tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Listed {
    /// Whether it is still the server that the invocation began with.
    pub server: Server,
    /// The tool of that exact name, if there is one.
    pub tool: Option<ListedTool>,
    /// What is known of the connection before this one.
    pub fence: Fence,
}

/// A listed tool, compared with the one the call was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListedTool {
    /// Its hints now.
    pub hints: Option<Hints>,
    /// How its definition compares.
    pub definition: Definition,
}

/// Whether the identity behind the server's name is what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Server {
    /// It is.
    Same,
    /// The configuration changed meanwhile.
    Changed,
}

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Failure {
    /// What to do with it.
    pub class: ErrorClass,
    /// What is known of this attempt.
    pub delivery: Delivery,
    /// What went wrong.
    pub kind: ErrorKind,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Action {
    /// Get the present catalog, connecting if there is none.
    Catalog,
    /// Make one attempt on the catalog's connection.
    Attempt(AttemptKind),
    /// Ask the policy, with trust as it is now.
    Consult(Consultation),
    /// Get a catalog that is newer than the one that failed.
    Rebuild,
    /// Tell the caller.
    Finish(Verdict),
}

/// Why an attempt is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptKind {
    /// The first delivery.
    First,
    /// Nothing of the earlier attempts left this machine: still the first delivery.
    Resend,
    /// An earlier attempt may have run; repeating it was found safe.
    Replay,
}

/// The facts that the policy is asked with, but for names and trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Consultation {
    /// Which of the two places this is.
    pub checkpoint: Checkpoint,
    /// Joined over all attempts so far.
    pub delivery: Delivery,
    /// The tool's hints as listed last.
    pub hints: Option<Hints>,
    /// How its definition compares.
    pub definition: Definition,
    /// What is known of the connection that failed.
    pub fence: Fence,
    /// Requests on the wire so far.
    pub attempts: u32,
    /// Replays so far.
    pub replays: u32,
    /// Resends of what was proven unsent so far.
    pub resends: u32,
}

/// How the invocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The server answered.
    Answered,
    /// Proven: the server cannot have run it.
    NotExecuted(Reason),
    /// It may have run.
    Unknown(Reason),
}

impl Default for Invocation {
    fn default() -> Self {
        Self {
            phase: Phase::Begun,
            delivery: None,
            hints: None,
            definition: Definition::Same,
            fence: Fence::None,
            attempts: 0,
            unsent: 0,
            replays: 0,
            resends: 0,
        }
    }
}

impl Invocation {
    /// An invocation that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event and says what to do next.
    ///
    /// # Panics
    ///
    /// On an event that cannot happen in this state; the driver and the model never produce one.
    pub fn on(&mut self, event: Event) -> Action {
        match (self.phase, event) {
            (Phase::Begun, Event::Begin) => {
                self.phase = Phase::Listing;
                Action::Catalog
            }
            (Phase::Listing, Event::Listed(listed)) => self.first_attempt(listed),
            (Phase::Rebuilding, Event::Listed(listed)) => self.relisted(listed),
            (Phase::Listing | Phase::Rebuilding, Event::Unavailable(reason)) => self.fail(reason),
            (Phase::Listing | Phase::Rebuilding, Event::Cancelled) => self.fail(Reason::Cancelled),
            (Phase::Listing | Phase::Rebuilding, Event::DeadlinePassed) => self.fail(Reason::Deadline),
            (Phase::Attempting, Event::Answered) => {
                self.attempts += 1;
                self.finish(Verdict::Answered)
            }
            (Phase::Attempting, Event::Failed(failure)) => self.attempt_failed(failure),
            (Phase::Consulting(checkpoint), Event::Decided(decision)) => self.decided(checkpoint, decision),
            (Phase::Consulting(_), Event::OverBudget) => self.fail(Reason::RetryBudget),
            (Phase::Consulting(_), Event::Continuation) => self.fail(Reason::Continuation),
            (phase, event) => unreachable!("{event:?} in {phase:?}"),
        }
    }

    /// Requests put on the wire.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Tries of which it was proven that no complete request left.
    pub fn unsent(&self) -> u32 {
        self.unsent
    }

    /// Attempts that were replays.
    pub fn replays(&self) -> u32 {
        self.replays
    }

    /// Whether an earlier attempt may have run, so that an answer may be about its doing.
    pub fn is_in_doubt(&self) -> bool {
        self.delivery.is_some_and(|delivery| delivery != Delivery::Unsent)
    }

    /// Requests that may be on the wire when the caller leaves in this state.
    pub fn attempts_if_dropped(&self) -> u32 {
        match self.phase {
            Phase::Attempting => self.attempts + 1,
            _ => self.attempts,
        }
    }

    /// What is known when the caller leaves in this state: a request under way may have run.
    pub fn outcome_if_dropped(&self) -> Outcome {
        match (self.phase, self.joined()) {
            (Phase::Attempting, _) | (_, Delivery::Refused | Delivery::Unknown) => Outcome::Unknown,
            (_, Delivery::Unsent) => Outcome::NotExecuted,
        }
    }

    fn first_attempt(&mut self, listed: Listed) -> Action {
        let Some(tool) = listed.tool else {
            return self.fail(Reason::UnknownTool);
        };
        match (listed.server, tool.definition) {
            (Server::Changed, _) => self.fail(Reason::ServerChanged),
            // A name that is listed twice can be called; it is only never called again.
            (Server::Same, Definition::Same | Definition::Ambiguous) => {
                self.look_at(tool, listed.fence);
                self.attempt(AttemptKind::First)
            }
            (Server::Same, Definition::Changed | Definition::SchemaChanged) => self.fail(Reason::ToolChanged),
        }
    }

    fn relisted(&mut self, listed: Listed) -> Action {
        match (listed.server, listed.tool) {
            (Server::Changed, _) => self.fail(Reason::ServerChanged),
            (Server::Same, None) => self.fail(Reason::ToolVanished),
            (Server::Same, Some(tool)) => {
                self.look_at(tool, listed.fence);
                self.consult(Checkpoint::BeforeReplay)
            }
        }
    }

    fn attempt_failed(&mut self, failure: Failure) -> Action {
        match failure.delivery {
            Delivery::Unsent => self.unsent += 1,
            Delivery::Refused | Delivery::Unknown => self.attempts += 1,
        }
        self.delivery = Some(self.delivery.map_or(failure.delivery, |before| before.join(failure.delivery)));
        match failure.class {
            ErrorClass::Abort => self.fail(Reason::Cancelled),
            ErrorClass::Other => self.fail(Reason::of_kind(failure.kind)),
            ErrorClass::Connection => self.consult(Checkpoint::BeforeReconnect),
        }
    }

    fn decided(&mut self, checkpoint: Checkpoint, decision: Decision) -> Action {
        match (decision, checkpoint) {
            (Decision::Deny(reason), _) => self.fail(Reason::Denied(reason)),
            (Decision::Replay, _) if self.attempts + self.unsent >= MAX_TRIES => {
                self.fail(Reason::AttemptLimit)
            }
            (Decision::Replay, Checkpoint::BeforeReconnect) => {
                self.phase = Phase::Rebuilding;
                Action::Rebuild
            }
            (Decision::Replay, Checkpoint::BeforeReplay) => match self.joined() {
                Delivery::Unsent => {
                    self.resends += 1;
                    self.attempt(AttemptKind::Resend)
                }
                Delivery::Refused | Delivery::Unknown => {
                    self.replays += 1;
                    self.attempt(AttemptKind::Replay)
                }
            },
        }
    }

    fn look_at(&mut self, tool: ListedTool, fence: Fence) {
        self.hints = tool.hints;
        self.definition = tool.definition;
        self.fence = fence;
    }

    fn attempt(&mut self, kind: AttemptKind) -> Action {
        self.phase = Phase::Attempting;
        Action::Attempt(kind)
    }

    fn consult(&mut self, checkpoint: Checkpoint) -> Action {
        self.phase = Phase::Consulting(checkpoint);
        Action::Consult(Consultation {
            checkpoint,
            delivery: self.joined(),
            hints: self.hints,
            definition: self.definition,
            fence: self.fence,
            attempts: self.attempts,
            replays: self.replays,
            resends: self.resends,
        })
    }

    /// Sticky: once an attempt is in doubt, the invocation is.
    fn joined(&self) -> Delivery {
        self.delivery.unwrap_or(Delivery::Unsent)
    }

    fn fail(&mut self, reason: Reason) -> Action {
        self.finish(match self.joined() {
            Delivery::Unsent => Verdict::NotExecuted(reason),
            Delivery::Refused | Delivery::Unknown => Verdict::Unknown(reason),
        })
    }

    fn finish(&mut self, verdict: Verdict) -> Action {
        self.phase = Phase::Finished;
        Action::Finish(verdict)
    }
}
