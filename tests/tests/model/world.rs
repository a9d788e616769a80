//! One state of the system: two invocations, their discovery, its connections, the server and the user.

use mcp_tool::{
    Trust,
    mcp_discovery::{
        ConnectionId, Generation,
        generations::{FlightId, Generations},
    },
    mcp_transport::Fence,
};

use crate::{
    breach::Breaches,
    call::{At, Call},
    scenario::{Bounds, Content},
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) calls: Vec<Call>,
    /// The numbers of the discovery: the shipped type.
    pub(crate) generations: Generations,
    /// The catalog that the discovery holds beside its numbers.
    pub(crate) catalog: Option<Catalog>,
    pub(crate) flights: Vec<Flight>,
    /// The flight that the listener of the present connection waits for.
    pub(crate) refresh: Option<FlightId>,
    /// The flight that the supervisor waits for.
    pub(crate) recovery: Option<FlightId>,
    /// The connection that the supervisor has closed, and what that told, until it has the turn to say so.
    pub(crate) given_up: Option<(ConnectionId, Fence)>,
    pub(crate) links: Vec<Link>,
    /// What the server lists now.
    pub(crate) content: Content,
    /// The configuration that the next connection is made with.
    pub(crate) identity: u8,
    pub(crate) trust: Trust,
    pub(crate) left: Bounds,
    /// The latest listing that left.
    pub(crate) latest: Option<Generation>,
    /// The latest generation with which something is wrong, as far as anybody has seen.
    pub(crate) tainted: Option<Generation>,
    pub(crate) breaches: Breaches,
}

/// One listing, and what it came over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Catalog {
    pub(crate) generation: Generation,
    pub(crate) connection: ConnectionId,
    pub(crate) link: usize,
    pub(crate) identity: u8,
    pub(crate) content: Content,
    pub(crate) predecessor_fence: Option<Fence>,
}

/// What mcp-discovery's run does for one flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flight {
    pub(crate) id: FlightId,
    pub(crate) at: Leg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Leg {
    /// For its turn.
    Waiting,
    /// The present connection is retired, or there was none.
    Connecting,
    Listing {
        link: usize,
        generation: Generation,
        over: Over,
    },
    /// With what it gives to those who wait; nothing when there is no catalog to be had.
    Landed(Option<Catalog>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Over {
    Present,
    New,
}

/// One connection, and the process or session behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    pub(crate) identity: u8,
    /// Something there can still act on what it has received.
    pub(crate) alive: bool,
    /// The client takes it for open.
    pub(crate) open: bool,
}

impl Link {
    /// One that nobody uses any more.
    pub(crate) const SPENT: Self = Self { identity: 0, alive: false, open: false };
}

impl World {
    pub(crate) fn is_waited_for(&self, flight: FlightId) -> bool {
        [self.refresh, self.recovery].contains(&Some(flight))
            || self.calls.iter().any(|call| call.run().is_some_and(|run| run.at == At::Flight(flight)))
    }

    pub(crate) fn flight(&mut self, flight: FlightId) -> &mut Flight {
        self.flights.iter_mut().find(|known| known.id == flight).expect("it is known until it is forgotten")
    }

    /// The newest flight that is not over.
    pub(crate) fn newest_flight(&self) -> Option<&Flight> {
        self.flights.iter().rfind(|flight| !matches!(flight.at, Leg::Landed(_)))
    }

    /// Whether anything still depends on what becomes of this connection.
    pub(crate) fn is_used(&self, link: usize) -> bool {
        let by_call = |call: &Call| {
            call.request().is_some_and(|request| request.link == link)
                || call.orphans.iter().any(|orphan| orphan.link == link)
        };
        let by_flight = |flight: &Flight| match flight.at {
            Leg::Listing { link: listed, .. } => listed == link,
            Leg::Landed(Some(catalog)) => catalog.link == link,
            Leg::Waiting | Leg::Connecting | Leg::Landed(None) => false,
        };
        self.catalog.is_some_and(|present| present.link == link)
            || self.calls.iter().any(by_call)
            || self.flights.iter().any(by_flight)
    }

    /// Flights that touch the connection.
    pub(crate) fn connects_and_listings(&self) -> usize {
        let busy = |flight: &&Flight| matches!(flight.at, Leg::Connecting | Leg::Listing { .. });
        self.flights.iter().filter(busy).count()
    }
}
