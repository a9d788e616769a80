//! What mcp-discovery does around its numbers: the flights of its `run.rs`, leg by leg between two awaits.

use mcp_tool::{
    mcp_discovery::{
        ConnectionId,
        generations::{FlightId, Joined, Need, Present},
    },
    mcp_transport::Fence,
};

use crate::{
    breach::Breach,
    fault::Fault,
    scenario::Wire,
    system::System,
    world::{Catalog, Flight, Leg, Link, Over, World},
};

/// What a flight has found out about the connection that it retires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It has ended, or a listing over it was lost.
    Lost,
    Nothing,
}

impl System {
    pub(crate) fn join_flight(&self, world: &mut World, need: Need) -> Joined {
        let waited_for: Vec<FlightId> =
            world.flights.iter().map(|flight| flight.id).filter(|id| world.is_waited_for(*id)).collect();
        let joined = world
            .generations
            .join(need, |flight| waited_for.contains(&flight) && !self.has(Fault::ForgetsWaiters));
        if let Joined::New(id) = joined {
            world.flights.push(Flight { id, at: Leg::Waiting });
        }
        joined
    }

    /// The server says that its tools changed: what the listener does.
    pub(crate) fn tools_changed(&self, world: &mut World, connection: ConnectionId) {
        world.left.events -= 1;
        if !world.generations.tools_changed(connection) {
            return;
        }
        world.tainted = world.latest;
        if world.refresh.is_none() {
            let (Joined::New(flight) | Joined::Shared(flight)) = self.join_flight(world, Need::Event);
            world.refresh = Some(flight);
        }
    }

    /// The supervisor sets out to bring the server back.
    pub(crate) fn recover(&self, world: &mut World) {
        world.left.recoveries -= 1;
        let (Joined::New(flight) | Joined::Shared(flight)) = self.join_flight(world, Need::Recovery);
        world.recovery = Some(flight);
    }

    /// The supervisor closes the present connection, which has fallen silent, without waiting for its turn.
    pub(crate) fn give_up_connection(&self, world: &mut World) {
        world.left.recoveries -= 1;
        if let Some(present) = world.catalog {
            let fence = self.close(world, present.link);
            world.given_up = Some((present.connection, fence));
        }
    }

    /// It has the turn, and says so; unless somebody was quicker.
    pub(crate) fn settle_given_up(&self, world: &mut World) {
        let Some((connection, fence)) = world.given_up.take() else { return };
        let Some(present) = world.catalog else { return };
        if present.connection == connection || self.has(Fault::EndsWhateverIsPresent) {
            self.forget_present(world, Found::Nothing);
            world.generations.fenced(fence);
        }
    }

    /// The flight has its turn.
    pub(crate) fn start(&self, world: &mut World, flight: FlightId) {
        match world.catalog.filter(|present| world.links[present.link].open) {
            Some(_) if world.left.listings == 0 => self.land(world, flight, None),
            Some(present) => self.depart(world, flight, present.link, Over::Present),
            None => self.reconnect(world, flight),
        }
    }

    /// A connection is made, with the configuration of now.
    pub(crate) fn connect(&self, world: &mut World, flight: FlightId) {
        world.links.push(Link { identity: world.identity, alive: true, open: true });
        self.depart(world, flight, world.links.len() - 1, Over::New);
    }

    /// Nothing was reached in all the tries that there are.
    pub(crate) fn give_up(&self, world: &mut World, flight: FlightId) {
        self.land(world, flight, None);
    }

    /// The listing is complete.
    pub(crate) fn list(&self, world: &mut World, flight: FlightId) {
        let Leg::Listing { link, generation, over } = world.flight(flight).at else {
            unreachable!("only a listing completes");
        };
        let (connection, predecessor_fence) = match over {
            Over::New => world.generations.next_connection(),
            Over::Present => (world.catalog.expect("it is listed over").connection, None),
        };
        let identity = world.links[link].identity;
        let catalog =
            Catalog { generation, connection, link, identity, content: world.content, predecessor_fence };
        match over {
            Over::New => world.generations.connected(Present { generation, connection }),
            Over::Present => world.generations.relisted(Present { generation, connection }),
        }
        world.catalog = Some(catalog);
        self.land(world, flight, Some(catalog));
    }

    /// The listing is lost with its connection, or its connection is taken for lost.
    pub(crate) fn lose_listing(&self, world: &mut World, flight: FlightId) {
        let Leg::Listing { link, over, .. } = world.flight(flight).at else {
            unreachable!("only a listing is lost");
        };
        match over {
            Over::New => {
                self.close(world, link);
                if world.generations.board_again(flight) {
                    world.flight(flight).at = Leg::Connecting;
                } else {
                    self.land(world, flight, None);
                }
            }
            Over::Present => self.reconnect(world, flight),
        }
    }

    /// The server refuses to list, or lists too much: the connection is left alone.
    pub(crate) fn refuse_listing(&self, world: &mut World, flight: FlightId) {
        if let Leg::Listing { link, over: Over::New, .. } = world.flight(flight).at {
            self.close(world, link);
        }
        self.land(world, flight, None);
    }

    /// Nobody waits any more.
    pub(crate) fn stop(&self, world: &mut World, flight: FlightId) {
        self.refuse_listing(world, flight);
    }

    fn depart(&self, world: &mut World, flight: FlightId, link: usize, over: Over) {
        world.left.listings -= 1;
        let generation = world.generations.depart(flight);
        world.latest = Some(generation);
        world.flight(flight).at = Leg::Listing { link, generation, over };
    }

    fn reconnect(&self, world: &mut World, flight: FlightId) {
        if !world.generations.board_again(flight) {
            return self.land(world, flight, None);
        }
        if world.catalog.is_some() {
            self.retire(world, Found::Lost);
        }
        world.flight(flight).at = Leg::Connecting;
    }

    /// Retires the present connection.
    pub(crate) fn retire(&self, world: &mut World, found: Found) {
        let Some(present) = self.forget_present(world, found) else { return };
        let fence = self.close(world, present.link);
        if !self.has(Fault::ForgetsTheEnd) {
            world.generations.fenced(fence);
        }
    }

    fn forget_present(&self, world: &mut World, found: Found) -> Option<Catalog> {
        let present = world.catalog.take()?;
        if found == Found::Nothing && world.links[present.link].open {
            world.breaches.note(Breach::HealthyTornDown);
        }
        // The listener is gone, and with it its wait.
        world.refresh = None;
        Some(present)
    }

    /// Closes a connection, and says what is known of the old side. Over HTTP what is in flight goes on.
    fn close(&self, world: &mut World, link: usize) -> Fence {
        let link = &mut world.links[link];
        link.open = false;
        match self.scenario.wire {
            Wire::Stdio { fence: Fence::GroupGone, .. } => {
                link.alive &= self.has(Fault::ClaimsAFence);
                Fence::GroupGone
            }
            Wire::Stdio { fence: Fence::None, .. } | Wire::Http => Fence::None,
        }
    }

    fn land(&self, world: &mut World, flight: FlightId, outcome: Option<Catalog>) {
        world.generations.land(flight);
        world.flight(flight).at = Leg::Landed(outcome);
        if self.has(Fault::LandsUnnoticed) {
            world.flights.retain(|known| known.id != flight);
        }
        for waits in [&mut world.refresh, &mut world.recovery] {
            waits.take_if(|waited_for| *waited_for == flight);
        }
    }
}
