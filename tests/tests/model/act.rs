//! What may happen next in a state.

use mcp_tool::mcp_discovery::{ConnectionId, generations::FlightId};

use crate::{
    call::{At, Progress, Stage},
    fault::Fault,
    scenario::{Content, Wire},
    system::System,
    world::{Flight, Leg, Over, World},
};

/// What can happen. Calls, orphans and links are told by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    // The caller and the driver.
    Begin(usize),
    Wake(usize),
    Cancel(usize),
    PassDeadline(usize),
    NoticeLeave(usize),
    Drop(usize),
    // The request.
    Accept(usize),
    Read(usize),
    Execute(usize),
    Answer(usize),
    Lose(usize),
    Refuse(usize),
    ExecuteLate(usize, usize),
    AnswerLate(usize, usize),
    // The discovery.
    Start(FlightId),
    Connect(FlightId),
    GiveUp(FlightId),
    List(FlightId),
    LoseListing(FlightId),
    RefuseListing(FlightId),
    Stop(FlightId),
    Recover,
    GiveUpConnection,
    SettleGivenUp,
    // The server, and its connections.
    Die(usize),
    Cut(usize),
    ToolsChange(ConnectionId),
    ListFromNowOn(Content),
    // The user.
    Reconfigure,
    ChangeServerTrust,
    ChangeWorkspaceTrust,
}

impl System {
    pub(crate) fn possible(&self, world: &World, acts: &mut Vec<Act>) {
        for who in 0..world.calls.len() {
            self.acts_of_call(world, who, acts);
        }
        if world.is_over() {
            return;
        }
        for flight in &world.flights {
            self.acts_of_flight(world, flight, acts);
        }
        for place in 0..world.links.len() {
            self.acts_of_link(world, place, acts);
        }
        self.acts_of_the_world(world, acts);
    }

    fn acts_of_call(&self, world: &World, who: usize, acts: &mut Vec<Act>) {
        let call = &world.calls[who];
        for (place, orphan) in call.orphans.iter().enumerate() {
            acts.push(if orphan.executed {
                Act::AnswerLate(who, place)
            } else {
                Act::ExecuteLate(who, place)
            });
        }
        match &call.stage {
            Stage::Idle => acts.push(Act::Begin(who)),
            Stage::Ended(_) => return,
            Stage::Running(run) => match run.at {
                At::Nowhere => {}
                At::Flight(flight) => {
                    let landed = |known: &&Flight| known.id == flight && matches!(known.at, Leg::Landed(_));
                    if world.flights.iter().any(|known| landed(&known)) {
                        // What is done wins over the caller's leave.
                        acts.push(Act::Wake(who));
                    } else if call.leaves.is_some() {
                        acts.push(Act::NoticeLeave(who));
                    }
                }
                At::Attempt(_) => self.acts_of_attempt(world, who, acts),
            },
        }
        let begun = !matches!(call.stage, Stage::Idle);
        if begun && world.left.leaves > 0 && call.leaves.is_none() {
            acts.extend([Act::Cancel(who), Act::PassDeadline(who), Act::Drop(who)]);
        }
    }

    fn acts_of_attempt(&self, world: &World, who: usize, acts: &mut Vec<Act>) {
        let call = &world.calls[who];
        let request = call.request().expect("it is under way");
        let link = world.links[request.link];
        let http = self.scenario.wire == Wire::Http;
        match request.progress {
            Progress::Queued if link.open => acts.push(Act::Accept(who)),
            Progress::Accepted if link.alive && self.scenario.pipe_tells() => acts.push(Act::Read(who)),
            Progress::Accepted | Progress::Read if link.alive => acts.push(Act::Execute(who)),
            Progress::Executed if link.open || http => acts.push(Act::Answer(who)),
            Progress::Queued | Progress::Accepted | Progress::Read | Progress::Executed => {}
        }
        if http || !link.alive || !link.open {
            acts.push(Act::Lose(who));
        }
        if http && request.progress > Progress::Queued {
            acts.push(Act::Refuse(who));
        }
        if call.leaves.is_some() && !self.has(Fault::TakesACancelForALoss) {
            acts.push(Act::NoticeLeave(who));
        }
    }

    fn acts_of_flight(&self, world: &World, flight: &Flight, acts: &mut Vec<Act>) {
        let id = flight.id;
        let waited_for = world.is_waited_for(id);
        match flight.at {
            Leg::Landed(_) => return,
            Leg::Waiting => {
                if waited_for && (world.connects_and_listings() == 0 || self.has(Fault::TakesNoTurn)) {
                    acts.push(Act::Start(id));
                }
            }
            Leg::Connecting => {
                if waited_for {
                    acts.push(Act::GiveUp(id));
                    if world.left.listings > 0 {
                        acts.push(Act::Connect(id));
                    }
                }
            }
            Leg::Listing { link, over, .. } => {
                let link = world.links[link];
                // The last of those who wait may leave while the task takes its last step.
                if link.alive && link.open {
                    acts.push(Act::List(id));
                }
                if waited_for {
                    let http = self.scenario.wire == Wire::Http;
                    if http || !link.alive || !link.open || over == Over::New {
                        acts.push(Act::LoseListing(id));
                    }
                    if over == Over::Present {
                        acts.push(Act::RefuseListing(id));
                    }
                }
            }
        }
        if !waited_for {
            acts.push(Act::Stop(id));
        }
    }

    fn acts_of_link(&self, world: &World, place: usize, acts: &mut Vec<Act>) {
        let link = world.links[place];
        if link.alive {
            acts.push(Act::Die(place));
        }
        match self.scenario.wire {
            Wire::Stdio { .. } if link.open => acts.push(Act::Cut(place)),
            Wire::Stdio { .. } | Wire::Http => {}
        }
    }

    fn acts_of_the_world(&self, world: &World, acts: &mut Vec<Act>) {
        let left = world.left;
        if left.trust > 0 {
            acts.extend([Act::ChangeServerTrust, Act::ChangeWorkspaceTrust]);
        }
        if left.contents > 0 && left.listings > 0 {
            let others = Content::ALL.into_iter().filter(|content| *content != world.content);
            acts.extend(others.map(Act::ListFromNowOn));
        }
        if left.identities > 0 && left.listings > 0 {
            acts.push(Act::Reconfigure);
        }
        if left.recoveries > 0 && world.recovery.is_none() && world.latest.is_some() {
            acts.push(Act::Recover);
        }
        if left.recoveries > 0
            && world.given_up.is_none()
            && world.catalog.is_some_and(|present| world.links[present.link].open)
        {
            acts.push(Act::GiveUpConnection);
        }
        if world.given_up.is_some() && world.connects_and_listings() == 0 {
            acts.push(Act::SettleGivenUp);
        }
        if left.events > 0
            && let Some(present) = world.catalog
            && world.links[present.link].open
        {
            acts.push(Act::ToolsChange(present.connection));
        }
    }
}
