//! One invocation under any sequence of events that its driver may produce.

use std::fmt::Debug;

use mcp_tool::{
    Outcome, Reason,
    machine::{
        Action, AttemptKind, Consultation, Event, Failure, Invocation, Listed, ListedTool, MAX_TRIES, Server,
        Verdict,
    },
    mcp_transport::{ErrorClass, ErrorKind},
    replay_policy::{self, Checkpoint, Decision, Definition, Delivery, Fence, Hints},
};
use proptest::{
    collection::vec,
    option,
    prelude::{Just, Strategy},
    prop_assert, prop_assert_eq, prop_oneof, proptest,
    sample::select,
    test_runner::TestCaseError,
};

/// What happens when the machine asks for something. More than it asks for is left over.
#[derive(Clone, Debug)]
struct Fate {
    wait: Wait,
    listed: Listed,
    attempt: Attempt,
    decision: Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Lists,
    Unavailable,
    Cancelled,
    DeadlinePassed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    Answered,
    Fails(ErrorClass, Delivery),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Replay,
    OverBudget,
    Continuation,
    Deny,
}

const DENIED: replay_policy::Reason = replay_policy::Reason::Custom("denied");

/// Mostly what goes on, so that the limit of tries is met in one sequence of twenty.
fn fate() -> impl Strategy<Value = Fate> {
    let wait = mostly(Wait::Lists, &[Wait::Unavailable, Wait::Cancelled, Wait::DeadlinePassed]);
    let class = mostly(ErrorClass::Connection, &[ErrorClass::Abort, ErrorClass::Other]);
    let delivery = select(vec![Delivery::Unsent, Delivery::Unsent, Delivery::Refused, Delivery::Unknown]);
    let fails = (class, delivery).prop_map(|(class, delivery)| Attempt::Fails(class, delivery));
    let attempt = prop_oneof![20 => fails, 1 => Just(Attempt::Answered)];
    let told = mostly(Told::Replay, &[Told::Deny, Told::OverBudget, Told::Continuation]);
    (wait, listed(), attempt, told).prop_map(|(wait, listed, attempt, decision)| Fate {
        wait,
        listed,
        attempt,
        decision,
    })
}

fn listed() -> impl Strategy<Value = Listed> {
    let hints = select(vec![None, Some(Hints::idempotent()), Some(Hints::read_only()), Some(Hints::NONE)]);
    let others = [Definition::Changed, Definition::SchemaChanged, Definition::Ambiguous];
    let tool = (hints, mostly(Definition::Same, &others))
        .prop_map(|(hints, definition)| ListedTool { hints, definition });
    let fence = select(vec![Fence::None, Fence::GroupGone]);
    (mostly(Server::Same, &[Server::Changed]), option::weighted(0.98, tool), fence)
        .prop_map(|(server, tool, fence)| Listed { server, tool, fence })
}

/// One of the others once in twenty times.
fn mostly<T: Clone + Debug + 'static>(one: T, others: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop_oneof![19 => Just(one), 1 => select(others.to_vec())]
}

/// What an onlooker writes down, and holds against what the machine says.
#[derive(Default)]
struct Onlooker {
    on_the_wire: u32,
    unsent: u32,
    replays: u32,
    resends: u32,
    worst: Option<Delivery>,
    tool: Option<(ListedTool, Fence)>,
    /// Yes was said at this checkpoint since the last failure.
    yes: Vec<Checkpoint>,
    /// A listing came since the last failure.
    listed_since: bool,
    under_way: bool,
    /// The last failure was one of the connection.
    lost: bool,
    answered: bool,
}

impl Onlooker {
    fn doubts(&self) -> bool {
        self.worst.is_some_and(|worst| worst != Delivery::Unsent)
    }

    fn tries(&self) -> u32 {
        self.on_the_wire + self.unsent
    }

    /// Whether this attempt may be made.
    fn permits(&self, kind: AttemptKind) -> bool {
        let both = self.yes == [Checkpoint::BeforeReconnect, Checkpoint::BeforeReplay];
        self.tries() < MAX_TRIES
            && match kind {
                AttemptKind::First => self.tries() == 0,
                AttemptKind::Resend => both && self.listed_since && self.worst == Some(Delivery::Unsent),
                AttemptKind::Replay => both && self.listed_since && self.doubts(),
            }
    }

    fn expects(&self, checkpoint: Checkpoint) -> Consultation {
        let (tool, fence) = self.tool.expect("it was listed");
        Consultation {
            checkpoint,
            delivery: self.worst.expect("an attempt failed"),
            hints: tool.hints,
            definition: tool.definition,
            fence,
            attempts: self.on_the_wire,
            replays: self.replays,
            resends: self.resends,
        }
    }

    fn failed(&mut self, class: ErrorClass, delivery: Delivery) {
        self.lost = class == ErrorClass::Connection;
        match delivery {
            Delivery::Unsent => self.unsent += 1,
            Delivery::Refused | Delivery::Unknown => self.on_the_wire += 1,
        }
        self.worst = self.worst.max(Some(delivery));
        (self.yes, self.listed_since, self.under_way) = (Vec::new(), false, false);
    }

    fn attempts(&mut self, kind: AttemptKind) {
        self.under_way = true;
        match kind {
            AttemptKind::First => {}
            AttemptKind::Resend => self.resends += 1,
            AttemptKind::Replay => self.replays += 1,
        }
    }
}

/// The event that fate has for this action; none at the end.
fn event(action: &Action, fate: &Fate) -> Option<Event> {
    Some(match action {
        Action::Catalog | Action::Rebuild => match fate.wait {
            Wait::Lists => Event::Listed(fate.listed),
            Wait::Unavailable => Event::Unavailable(Reason::Unavailable),
            Wait::Cancelled => Event::Cancelled,
            Wait::DeadlinePassed => Event::DeadlinePassed,
        },
        Action::Attempt(_) => match fate.attempt {
            Attempt::Answered => Event::Answered,
            Attempt::Fails(class, delivery) => {
                Event::Failed(Failure { class, delivery, kind: ErrorKind::Lost })
            }
        },
        Action::Consult(_) => match fate.decision {
            Told::Replay => Event::Decided(Decision::Replay),
            Told::OverBudget => Event::OverBudget,
            Told::Continuation => Event::Continuation,
            Told::Deny => Event::Decided(Decision::Deny(DENIED)),
        },
        Action::Finish(_) => return None,
    })
}

/// The reason that an invocation gives which ends with this event; none where the event is no end.
fn reasons(event: &Event) -> &'static [Reason] {
    const LISTED: &[Reason] =
        &[Reason::ServerChanged, Reason::UnknownTool, Reason::ToolVanished, Reason::ToolChanged];
    match event {
        Event::Begin | Event::Answered => &[],
        Event::Listed(_) => LISTED,
        Event::Unavailable(_) => &[Reason::Unavailable],
        Event::Failed(Failure { class: ErrorClass::Other, .. }) => &[Reason::Transport(ErrorKind::Lost)],
        Event::Failed(_) | Event::Cancelled => &[Reason::Cancelled],
        Event::Decided(Decision::Replay) => &[Reason::AttemptLimit],
        Event::Decided(Decision::Deny(_)) => &[Reason::Denied(DENIED)],
        Event::OverBudget => &[Reason::RetryBudget],
        Event::Continuation => &[Reason::Continuation],
        Event::DeadlinePassed => &[Reason::Deadline],
    }
}

proptest! {
    #![proptest_config(crate::cases(2_000))]

    #[test]
    fn an_invocation_goes_on_only_where_it_may_and_always_ends(fates in vec(fate(), 60)) {
        let (mut machine, mut seen) = (Invocation::new(), Onlooker::default());
        let mut action = machine.on(Event::Begin);
        let mut last = Event::Begin;
        prop_assert_eq!(&action, &Action::Catalog);
        for fate in fates {
            match &action {
                Action::Attempt(kind) => {
                    prop_assert!(seen.permits(*kind), "{kind:?}");
                    seen.attempts(*kind);
                }
                Action::Consult(facts) => {
                    prop_assert!(seen.lost, "an abort and everything else is final");
                    prop_assert_eq!(facts, &seen.expects(facts.checkpoint));
                }
                Action::Rebuild => prop_assert_eq!(&seen.yes, &[Checkpoint::BeforeReconnect]),
                Action::Catalog | Action::Finish(_) => {}
            }
            let dropped = if seen.under_way || seen.doubts() { Outcome::Unknown } else { Outcome::NotExecuted };
            let Some(event) = event(&action, &fate) else { break };
            prop_assert_eq!(machine.outcome_if_dropped(), dropped);
            prop_assert_eq!(machine.attempts_if_dropped(), seen.on_the_wire + u32::from(seen.under_way));
            match (&event, &action) {
                (Event::Listed(listed), _) => {
                    seen.listed_since = true;
                    seen.tool = listed.tool.map(|tool| (tool, listed.fence)).or(seen.tool);
                }
                (Event::Failed(failure), _) => seen.failed(failure.class, failure.delivery),
                (Event::Answered, _) => (seen.answered, seen.on_the_wire) = (true, seen.on_the_wire + 1),
                (Event::Decided(Decision::Replay), Action::Consult(facts)) => seen.yes.push(facts.checkpoint),
                _ => {}
            }
            // The same state and the same event lead to the same state: nothing else is in play.
            let mut twin = machine.clone();
            let twins = twin.on(event.clone());
            action = machine.on(event.clone());
            last = event;
            prop_assert_eq!(&twins, &action);
            prop_assert_eq!(&twin, &machine);
        }
        // Whatever came, it has come to an end by now: each try takes four events at most.
        let Action::Finish(verdict) = action else { return Err(TestCaseError::fail("no end")) };
        prop_assert!(seen.tries() <= MAX_TRIES);
        match verdict {
            Verdict::Answered => prop_assert!(seen.answered),
            Verdict::NotExecuted(reason) => {
                prop_assert!(!seen.answered && !seen.doubts());
                prop_assert!(reasons(&last).contains(&reason), "{reason:?} after {last:?}");
            }
            Verdict::Unknown(reason) => {
                prop_assert!(!seen.answered && seen.doubts());
                prop_assert!(reasons(&last).contains(&reason), "{reason:?} after {last:?}");
            }
        }
        prop_assert_eq!(machine.attempts(), seen.on_the_wire);
        prop_assert_eq!((machine.unsent(), machine.replays()), (seen.unsent, seen.replays));
        prop_assert_eq!(machine.is_in_doubt(), seen.doubts());
    }
}
