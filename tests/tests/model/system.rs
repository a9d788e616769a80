//! The system as stateright sees it: in each state, what may happen next.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use mcp_tool::{
    ConservativePolicy, Reason, Trust,
    machine::Verdict,
    mcp_discovery::generations::{FlightId, Generations},
};
use stateright::{Model, Property};

use crate::{
    act::Act,
    breach::Breaches,
    call::{At, Call, Leave, Stage},
    fault::Fault,
    properties,
    scenario::{Content, Scenario, Wire},
    world::{Leg, Link, World},
};

pub(crate) struct System {
    pub(crate) scenario: Scenario,
    pub(crate) fault: Option<Fault>,
    pub(crate) policy: ConservativePolicy,
    pub(crate) tool: Arc<str>,
}

impl System {
    pub(crate) fn new(scenario: Scenario, fault: Option<Fault>) -> Self {
        Self { policy: scenario.policy(), scenario, fault, tool: "put".into() }
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn act(&self, world: &mut World, act: Act) {
        match act {
            Act::Begin(who) => self.begin(world, who),
            Act::Wake(who) => {
                let Some(At::Flight(flight)) = world.calls[who].run().map(|run| run.at) else {
                    unreachable!("only who waits is woken");
                };
                let Leg::Landed(outcome) = world.flight(flight).at else {
                    unreachable!("nobody is woken before");
                };
                self.wake(world, who, outcome);
            }
            Act::Cancel(who) => self.leave(world, who, Leave::Cancelled),
            Act::PassDeadline(who) => self.leave(world, who, Leave::DeadlinePassed),
            Act::NoticeLeave(who) => self.notice_leave(world, who),
            Act::Drop(who) => {
                world.left.leaves -= 1;
                self.drop_call(world, who);
            }
            Act::Accept(who) => self.accept(world, who),
            Act::Read(who) => self.read(world, who),
            Act::Execute(who) => self.execute(world, who),
            Act::Answer(who) => self.answered(world, who),
            Act::Lose(who) => self.lose(world, who),
            Act::Refuse(who) => self.refuse(world, who),
            Act::ExecuteLate(who, orphan) => self.execute_late(world, who, orphan),
            Act::AnswerLate(who, orphan) => self.answer_late(world, who, orphan),
            Act::Start(flight) => self.start(world, flight),
            Act::Connect(flight) => self.connect(world, flight),
            Act::GiveUp(flight) => self.give_up(world, flight),
            Act::List(flight) => self.list(world, flight),
            Act::LoseListing(flight) => self.lose_listing(world, flight),
            Act::RefuseListing(flight) => self.refuse_listing(world, flight),
            Act::Stop(flight) => self.stop(world, flight),
            Act::Recover => self.recover(world),
            Act::GiveUpConnection => self.give_up_connection(world),
            Act::SettleGivenUp => self.settle_given_up(world),
            Act::Die(link) => world.links[link].alive = false,
            Act::Cut(link) => world.links[link].open = false,
            Act::ToolsChange(connection) => self.tools_changed(world, connection),
            Act::ListFromNowOn(content) => {
                world.left.contents -= 1;
                world.content = content;
            }
            Act::Reconfigure => {
                world.left.identities -= 1;
                world.identity += 1;
            }
            Act::ChangeServerTrust => {
                world.trust_now(!world.trust.server_trusted(), world.trust.workspace_trusted());
            }
            Act::ChangeWorkspaceTrust => {
                world.trust_now(world.trust.server_trusted(), !world.trust.workspace_trusted());
            }
        }
    }

    fn leave(&self, world: &mut World, who: usize, leave: Leave) {
        world.left.leaves -= 1;
        world.calls[who].leaves = Some(leave);
    }

    /// Forgets what can make no difference any more, and gives states that differ in names alone one form.
    fn settle(&self, world: &mut World) {
        let (links, http) = (&world.links, self.scenario.wire == Wire::Http);
        for call in &mut world.calls {
            call.orphans.retain(|orphan| {
                let link = links[orphan.link];
                if orphan.executed { http || link.open } else { link.alive }
            });
            call.orphans.sort_unstable();
        }
        for place in 0..world.links.len() {
            if !world.is_used(place) {
                world.links[place] = Link::SPENT;
            }
        }
        let over: Vec<FlightId> = world.flights.iter().map(|flight| flight.id).collect();
        let over: Vec<FlightId> = over.into_iter().filter(|id| !world.is_waited_for(*id)).collect();
        world.flights.retain(|flight| !(matches!(flight.at, Leg::Landed(_)) && over.contains(&flight.id)));
        if self.scenario.callers[0] == self.scenario.callers[1] {
            world.calls.sort_by_cached_key(fingerprint);
        }
    }
}

impl World {
    fn trust_now(&mut self, server: bool, workspace: bool) {
        self.left.trust -= 1;
        let trust = if server { Trust::NONE.with_trusted_server() } else { Trust::NONE };
        self.trust = if workspace { trust.with_trusted_workspace() } else { trust };
    }

    /// What a call was told is looked at once. After that it matters only what was sent and not executed.
    fn forget_what_was_told(&mut self) {
        for call in &mut self.calls {
            let Stage::Ended(ending) = &mut call.stage else { continue };
            (ending.replays, ending.resends) = (0, 0);
            if call.orphans.iter().all(|orphan| orphan.executed) {
                ending.verdict = Verdict::Unknown(Reason::Dropped);
                (ending.attempts, call.executions, call.licensed, call.doubtful) = (0, 0, 0, false);
            }
        }
    }

    /// Nobody will be told anything more; only what was sent may still have its effect.
    pub(crate) fn is_over(&self) -> bool {
        self.calls.iter().all(|call| call.ending().is_some())
    }
}

fn fingerprint(call: &Call) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.hash(&mut hasher);
    hasher.finish()
}

impl Model for System {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            calls: self.scenario.callers.into_iter().map(Call::of).collect(),
            generations: Generations::new(),
            catalog: None,
            flights: Vec::new(),
            refresh: None,
            recovery: None,
            given_up: None,
            links: Vec::new(),
            content: Content::Original,
            identity: 0,
            trust: self.scenario.trust,
            left: self.scenario.bounds,
            latest: None,
            tainted: None,
            breaches: Breaches::default(),
        }]
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        self.possible(world, acts);
    }

    fn next_state(&self, world: &World, act: Act) -> Option<World> {
        let mut next = world.clone();
        next.forget_what_was_told();
        self.act(&mut next, act);
        self.settle(&mut next);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
