//! Which generation, which connection and which flights there are, as pure state: no async, no handle, no
//! clock.
//!
//! What [`PagingDiscovery`](crate::PagingDiscovery) decides by, and nothing more: it keeps a catalog, a
//! listener and waiters beside this, under the same lock. Public so that the invariants can be checked on
//! the code that ships, over every order of events; a program has no use for it.

use mcp_transport::Fence;

use crate::{ConnectionId, Generation};

/// The numbers of one discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Generations {
    present: Option<Present>,
    /// Listings up to this one are not to be relied upon.
    suspect: Option<Generation>,
    /// The latest number given to a listing. Given when its first request leaves.
    generation: Option<Generation>,
    /// The latest number given to a connection.
    connection: Option<ConnectionId>,
    /// What closing that connection told. Of no interest while it is present.
    fence: Option<Fence>,
    /// The flights that are not over, the newest last: one has its turn, others wait for theirs.
    flights: Vec<Flying>,
    /// How many flights there were.
    started: u64,
    /// The connection whose events are heard.
    listened: Option<ConnectionId>,
}

/// The listing that stands, and what it came over; that connection may have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Present {
    /// Which listing it is.
    pub generation: Generation,
    /// Which connection it came over.
    pub connection: ConnectionId,
}

/// One run of the discovery: a listing, and a new connection first where that takes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlightId(u64);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Flying {
    id: FlightId,
    /// The first request of its listing has left.
    departed: bool,
    /// Somebody asked for what it will bring; otherwise only an event called for it.
    asked: bool,
    /// It may go on once though nobody asked.
    recovers: bool,
}

/// Why somebody joins a flight, which decides whether one that is under way will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// A catalog: any flight will do.
    Catalog,
    /// A listing that has not left yet.
    FreshListing,
    /// The same, unasked: not worth a new connection.
    Event,
    /// A catalog, unasked: worth one new connection, so that the server is there when it is asked for.
    Recovery,
}

/// Which flight somebody is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Joined {
    /// One that there was.
    Shared(FlightId),
    /// A new one, which is to be started.
    New(FlightId),
}

impl Generations {
    /// Before the first connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// The listing that stands, suspect or not.
    pub fn present(&self) -> Option<Present> {
        self.present
    }

    /// Whether the present listing may be used without listing again.
    pub fn is_unsuspected(&self) -> bool {
        self.present.is_some_and(|present| Some(present.generation) > self.suspect)
    }

    /// Something is wrong with this generation. Ignored for any but the present one.
    pub fn suspect(&mut self, generation: Generation) {
        if self.present.is_some_and(|present| present.generation == generation) {
            self.suspect = self.suspect.max(Some(generation));
        }
    }

    /// Marks everything suspect that was listed over this connection, what is being listed included.
    /// False when the connection is no longer listened to.
    pub fn tools_changed(&mut self, connection: ConnectionId) -> bool {
        let listens = self.listens_to(connection);
        if listens {
            self.suspect = self.generation;
        }
        listens
    }

    /// Whether the events of this connection are heard.
    pub fn listens_to(&self, connection: ConnectionId) -> bool {
        self.listened == Some(connection)
    }

    /// Joins the newest flight if that will do, or numbers a new one. `is_waited_for` says whether
    /// anybody is left on a flight: one that nobody waits for is stopping, or it panicked.
    pub fn join(&mut self, need: Need, is_waited_for: impl Fn(FlightId) -> bool) -> Joined {
        let asked = matches!(need, Need::Catalog | Need::FreshListing);
        let recovers = need == Need::Recovery;
        let any_will_do = matches!(need, Need::Catalog | Need::Recovery);
        if let Some(newest) = self.flights.last_mut()
            && (any_will_do || !newest.departed)
            && is_waited_for(newest.id)
        {
            newest.asked |= asked;
            newest.recovers |= recovers;
            return Joined::Shared(newest.id);
        }
        self.started += 1;
        let id = FlightId(self.started);
        self.flights.retain(|flying| is_waited_for(flying.id));
        self.flights.push(Flying { id, departed: false, asked, recovers });
        Joined::New(id)
    }

    /// The first request of a listing is about to leave: numbers the listing.
    pub fn depart(&mut self, flight: FlightId) -> Generation {
        if let Some(flying) = self.flying(flight) {
            flying.departed = true;
        }
        let generation = self.generation.map_or(Generation::FIRST, Generation::next);
        self.generation = Some(generation);
        generation
    }

    /// The listing of this flight is lost; it may begin another, and be joined until that leaves. False
    /// when nobody asked for one, or for one more: then it is over.
    pub fn board_again(&mut self, flight: FlightId) -> bool {
        let goes_on = self.flying(flight).is_some_and(|flying| {
            flying.departed = false;
            flying.asked | std::mem::take(&mut flying.recovers)
        });
        if !goes_on {
            self.land(flight);
        }
        goes_on
    }

    /// The flight is over: who comes now needs another.
    pub fn land(&mut self, flight: FlightId) {
        self.flights.retain(|flying| flying.id != flight);
    }

    /// The number of the next connection, and what is known of the one before it.
    pub fn next_connection(&self) -> (ConnectionId, Option<Fence>) {
        (self.connection.map_or(ConnectionId::FIRST, ConnectionId::next), self.fence)
    }

    /// A new listing over the present connection.
    pub fn relisted(&mut self, listing: Present) {
        self.present = Some(listing);
    }

    /// The first listing over a new connection, which is listened to from now on.
    pub fn connected(&mut self, listing: Present) {
        self.present = Some(listing);
        self.connection = Some(listing.connection);
        self.listened = Some(listing.connection);
    }

    /// The present connection was closed.
    pub fn fenced(&mut self, fence: Fence) {
        self.present = None;
        self.listened = None;
        self.fence = Some(fence);
    }

    /// What is known of the latest connection, when it was closed and there is no other.
    pub fn fence(&self) -> Option<Fence> {
        self.fence
    }

    /// Forgets every flight of now, and lets no event of the present connection start another.
    pub fn stop(&mut self) {
        self.flights.clear();
        self.listened = None;
    }

    fn flying(&mut self, flight: FlightId) -> Option<&mut Flying> {
        self.flights.iter_mut().find(|flying| flying.id == flight)
    }
}
