use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mcp_transport::{CancellationToken, Fence};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    Catalog, ConnectionId, Generation,
    flight::{Waiter, WeakWaiter},
    listener::Listener,
};

/// What a discovery knows between its flights. Nothing here is held over an await.
///
/// Handles own it; flights and listeners hold it weakly, so that they end with the last handle.
pub(crate) struct State {
    live: Mutex<Live>,
    /// Whose turn it is to touch the connection: one flight, or a close. First come, first served.
    turn: Arc<Semaphore>,
}

#[derive(Default)]
struct Live {
    /// The present catalog; its connection may have ended.
    present: Option<Arc<Catalog>>,
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
    /// Listens to the present connection.
    listener: Option<(ConnectionId, Listener)>,
    /// Stops the flights of now.
    stop: CancellationToken,
}

struct Flying {
    id: FlightId,
    waiter: WeakWaiter,
    /// The first request of its listing has left.
    departed: bool,
    /// Somebody asked for what it will bring; otherwise only an event called for it.
    asked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlightId(u64);

/// Why somebody joins a flight, which decides whether one that is under way will do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// A catalog: any flight will do.
    Catalog,
    /// A listing that has not left yet.
    FreshListing,
    /// The same, unasked: not worth a new connection.
    Event,
}

impl State {
    pub(crate) fn new() -> Self {
        Self { live: Mutex::default(), turn: Arc::new(Semaphore::new(1)) }
    }

    /// Waits until nobody else touches the connection.
    pub(crate) fn turn(&self) -> impl Future<Output = OwnedSemaphorePermit> + Send + use<> {
        let turn = Arc::clone(&self.turn).acquire_owned();
        async { turn.await.expect("nobody closes the semaphore") }
    }

    pub(crate) fn present(&self) -> Option<Arc<Catalog>> {
        self.live().present.clone()
    }

    /// The present catalog, unless it is suspect.
    pub(crate) fn unsuspected(&self) -> Option<Arc<Catalog>> {
        let live = self.live();
        live.present.clone().filter(|present| Some(present.generation()) > live.suspect)
    }

    pub(crate) fn suspect(&self, generation: Generation) {
        let mut live = self.live();
        if live.present.as_ref().is_some_and(|present| present.generation() == generation) {
            live.suspect = live.suspect.max(Some(generation));
        }
    }

    /// Marks everything suspect that was listed over this connection, what is being listed included.
    /// False when the connection is no longer listened to.
    pub(crate) fn tools_changed(&self, connection: ConnectionId) -> bool {
        let mut live = self.live();
        let listens = live.listens_to(connection);
        if listens {
            live.suspect = live.generation;
        }
        listens
    }

    /// Joins a flight, or starts one.
    pub(crate) fn join(
        &self,
        need: Need,
        start: impl FnOnce(FlightId, CancellationToken) -> Waiter,
    ) -> Waiter {
        self.live().join(need, start)
    }

    /// As [`join`](Self::join), on behalf of the listener of this connection, unless it is no longer
    /// listened to: nobody then wants what it would bring.
    pub(crate) fn join_from(
        &self,
        connection: ConnectionId,
        start: impl FnOnce(FlightId, CancellationToken) -> Waiter,
    ) -> Option<Waiter> {
        let mut live = self.live();
        live.listens_to(connection).then(|| live.join(Need::Event, start))
    }

    /// The first request of a listing is about to leave: numbers the listing.
    pub(crate) fn depart(&self, flight: FlightId) -> Generation {
        let mut live = self.live();
        if let Some(flying) = live.flying(flight) {
            flying.departed = true;
        }
        let generation = live.generation.map_or(Generation::FIRST, Generation::next);
        live.generation = Some(generation);
        generation
    }

    /// The listing of this flight is lost; it may begin another, and be joined until that leaves. False
    /// when nobody asked for one: then it is over.
    pub(crate) fn board_again(&self, flight: FlightId) -> bool {
        let mut live = self.live();
        let asked = live.flying(flight).is_some_and(|flying| {
            flying.departed = false;
            flying.asked
        });
        if !asked {
            live.land(flight);
        }
        asked
    }

    /// The flight is over: who comes now needs another.
    pub(crate) fn land(&self, flight: FlightId) {
        self.live().land(flight);
    }

    /// The number of the next connection, and what is known of the one before it.
    pub(crate) fn next_connection(&self) -> (ConnectionId, Option<Fence>) {
        let live = self.live();
        (live.connection.map_or(ConnectionId::FIRST, ConnectionId::next), live.fence)
    }

    /// A new listing over the present connection.
    pub(crate) fn relisted(&self, catalog: Arc<Catalog>) {
        let before = self.live().present.replace(catalog);
        drop(before);
    }

    /// The first listing over a new connection. The listener starts to listen in the same step, so that
    /// it never finds itself unknown.
    pub(crate) fn connected(&self, catalog: Arc<Catalog>, listen: impl FnOnce() -> Listener) {
        let mut live = self.live();
        let connection = catalog.connection();
        let before = live.present.replace(catalog);
        let listener = live.listener.replace((connection, listen()));
        live.connection = Some(connection);
        drop(live);
        drop((before, listener));
    }

    /// The present connection was closed.
    pub(crate) fn fenced(&self, fence: Fence) {
        let mut live = self.live();
        let before = (live.present.take(), live.listener.take());
        live.fence = Some(fence);
        drop(live);
        drop(before);
    }

    /// What is known of the latest connection, when it was closed and there is no other.
    pub(crate) fn fence(&self) -> Option<Fence> {
        self.live().fence
    }

    /// Ends every flight of now, and lets no event of the present connection start another.
    pub(crate) fn stop_flights(&self) {
        let mut live = self.live();
        let before = (live.listener.take(), mem::take(&mut live.flights));
        let stop = mem::take(&mut live.stop);
        drop(live);
        drop(before);
        stop.cancel();
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    fn join(&mut self, need: Need, start: impl FnOnce(FlightId, CancellationToken) -> Waiter) -> Waiter {
        let asked = need != Need::Event;
        if let Some(newest) = self.flights.last_mut()
            && (need == Need::Catalog || !newest.departed)
            && let Some(waiter) = newest.waiter.upgrade()
        {
            newest.asked |= asked;
            return waiter;
        }
        self.started += 1;
        let id = FlightId(self.started);
        let waiter = start(id, self.stop.child_token());
        // One that nobody waits for is stopping, or it panicked.
        self.flights.retain(|flying| flying.waiter.upgrade().is_some());
        if let Some(waiter) = waiter.downgrade() {
            self.flights.push(Flying { id, waiter, departed: false, asked });
        }
        waiter
    }

    fn flying(&mut self, flight: FlightId) -> Option<&mut Flying> {
        self.flights.iter_mut().find(|flying| flying.id == flight)
    }

    fn land(&mut self, flight: FlightId) {
        self.flights.retain(|flying| flying.id != flight);
    }

    fn listens_to(&self, connection: ConnectionId) -> bool {
        self.listener.as_ref().is_some_and(|(listened, _)| *listened == connection)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use mcp_transport::{Events, ScriptedTransport, connector_fn};

    use super::*;
    use crate::{ListLimits, Reconnect, run::Runner};

    /// A state whose present catalog came over this connection, and its listener.
    fn connected(connection: ConnectionId) -> Arc<State> {
        let state = Arc::new(State::new());
        let runner = Runner {
            connector: Arc::new(connector_fn(pending)),
            limits: ListLimits::default(),
            reconnect: Reconnect::default(),
            state: Arc::downgrade(&state),
        };
        let catalog = Catalog::new(Generation::FIRST, ScriptedTransport::new()).with_connection(connection);
        state.connected(Arc::new(catalog), || Listener::start(runner, connection, Events::quiet()));
        state
    }

    /// Joins from the listener; none when it is no longer heard, else whether that started a flight.
    fn join_from(state: &State, connection: ConnectionId) -> Option<(Waiter, Option<FlightId>)> {
        let mut started = None;
        let waiter = state.join_from(connection, |flight, stop| {
            started = Some(flight);
            Waiter::start(stop, pending())
        });
        waiter.map(|waiter| (waiter, started))
    }

    #[tokio::test]
    async fn a_listener_is_heard_for_its_own_connection_until_that_is_closed_or_stopped() {
        let (first, second) = (ConnectionId::FIRST, ConnectionId::FIRST.next());
        let heard = |state: &State, connection| {
            let changed = state.tools_changed(connection);
            assert_eq!(join_from(state, connection).is_some(), changed);
            changed
        };
        let state = connected(second);
        assert!(heard(&state, second) && !heard(&state, first));
        state.stop_flights();
        assert!(!heard(&state, second));
        let state = connected(second);
        state.fenced(Fence::None);
        assert!(!heard(&state, second));
    }

    #[tokio::test]
    async fn a_flight_that_nobody_asked_for_is_over_when_it_is_lost_and_nobody_joins_it_any_more() {
        let state = connected(ConnectionId::FIRST);
        let (_event, flight) = join_from(&state, ConnectionId::FIRST).unwrap();
        assert!(!state.board_again(flight.unwrap()));
        let mut started = false;
        let _asked = state.join(Need::Catalog, |_, stop| {
            started = true;
            Waiter::start(stop, pending())
        });
        assert!(started);
    }

    #[tokio::test]
    async fn a_flight_that_somebody_joined_boards_again() {
        let state = connected(ConnectionId::FIRST);
        let (_event, flight) = join_from(&state, ConnectionId::FIRST).unwrap();
        let _asked = state.join(Need::Catalog, |_, _| unreachable!("there is one to share"));
        assert!(state.board_again(flight.unwrap()));
        let _fresh = state.join(Need::FreshListing, |_, _| unreachable!("it has not departed"));
    }
}
