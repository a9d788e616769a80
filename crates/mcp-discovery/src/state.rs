use std::{mem, sync::Arc};

use mcp_transport::{CancellationToken, Fence};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    Catalog, ConnectionId, Generation,
    flight::{Waiter, WeakWaiter},
    generations::{FlightId, Generations, Joined, Need, Present},
    listener::Listener,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What a discovery knows between its flights. Nothing here is held over an await.
///
/// Handles own it; flights and listeners hold it weakly, so that they end with the last handle.
pub(crate) struct State {
    live: Mutex<Live>,
    /// Whose turn it is to touch the connection: one flight, or a close. First come, first served.
    turn: Arc<Semaphore>,
}

/// The numbers decide; beside them stands what they are the numbers of.
#[derive(Default)]
struct Live {
    generations: Generations,
    /// The present catalog; its connection may have ended.
    catalog: Option<Arc<Catalog>>,
    /// The waiters of the flights that are not over.
    waiters: Vec<(FlightId, WeakWaiter)>,
    /// Listens to the present connection.
    listener: Option<Listener>,
    /// Stops the flights of now.
    stop: CancellationToken,
    edition: Edition,
}

/// Which edition of how the server is reached: what was begun under an earlier one is of no use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edition(u64);

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
        self.live().catalog.clone()
    }

    /// The present catalog, unless it is suspect.
    pub(crate) fn unsuspected(&self) -> Option<Arc<Catalog>> {
        let live = self.live();
        live.catalog.clone().filter(|_| live.generations.is_unsuspected())
    }

    pub(crate) fn suspect(&self, generation: Generation) {
        self.live().generations.suspect(generation);
    }

    /// Marks everything suspect that was listed over this connection, what is being listed included.
    /// False when the connection is no longer listened to.
    pub(crate) fn tools_changed(&self, connection: ConnectionId) -> bool {
        self.live().generations.tools_changed(connection)
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
        live.generations.listens_to(connection).then(|| live.join(Need::Event, start))
    }

    /// The first request of a listing is about to leave: numbers the listing.
    pub(crate) fn depart(&self, flight: FlightId) -> Generation {
        self.live().generations.depart(flight)
    }

    /// The listing of this flight is lost; it may begin another, and be joined until that leaves. False
    /// when nobody asked for one: then it is over.
    pub(crate) fn board_again(&self, flight: FlightId) -> bool {
        let mut live = self.live();
        let goes_on = live.generations.board_again(flight);
        if !goes_on {
            live.forget(flight);
        }
        goes_on
    }

    /// The flight is over: who comes now needs another.
    pub(crate) fn land(&self, flight: FlightId) {
        let mut live = self.live();
        live.generations.land(flight);
        live.forget(flight);
    }

    /// The number of the next connection, and what is known of the one before it.
    pub(crate) fn next_connection(&self) -> (ConnectionId, Option<Fence>) {
        self.live().generations.next_connection()
    }

    /// A new listing over the present connection.
    pub(crate) fn relisted(&self, catalog: Arc<Catalog>) {
        let mut live = self.live();
        live.generations.relisted(listing(&catalog));
        let before = live.catalog.replace(catalog);
        drop(live);
        drop(before);
    }

    pub(crate) fn edition(&self) -> Edition {
        self.live().edition
    }

    /// The server is reached in another way from now on. The catalog of the way before, if there is one; none
    /// will come any more.
    pub(crate) fn edit(&self) -> Option<Arc<Catalog>> {
        let mut live = self.live();
        live.edition.0 += 1;
        live.catalog.clone()
    }

    /// The first listing over a new connection, unless that was begun under an earlier edition. The listener
    /// starts to listen in the same step, so that it never finds itself unknown. Whether it is the present one
    /// now.
    pub(crate) fn connected(
        &self,
        catalog: Arc<Catalog>,
        edition: Edition,
        listen: impl FnOnce() -> Listener,
    ) -> bool {
        let mut live = self.live();
        if live.edition != edition {
            return false;
        }
        live.generations.connected(listing(&catalog));
        let before = (live.catalog.replace(catalog), live.listener.replace(listen()));
        drop(live);
        drop(before);
        true
    }

    /// The present connection was closed.
    pub(crate) fn fenced(&self, fence: Fence) {
        let mut live = self.live();
        live.generations.fenced(fence);
        let before = (live.catalog.take(), live.listener.take());
        drop(live);
        drop(before);
    }

    /// What is known of the latest connection, when it was closed and there is no other.
    pub(crate) fn fence(&self) -> Option<Fence> {
        self.live().generations.fence()
    }

    /// Ends every flight of now, and lets no event of the present connection start another.
    pub(crate) fn stop_flights(&self) {
        let mut live = self.live();
        live.generations.stop();
        let before = (live.listener.take(), mem::take(&mut live.waiters));
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
        // Who is found waiting is held until it is decided, so that none leaves meanwhile.
        let waiting: Vec<(FlightId, Waiter)> = self.waiters.iter().filter_map(waiting).collect();
        let on = |flight| waiting.iter().find(|(waited_for, _)| *waited_for == flight);
        match self.generations.join(need, |flight| on(flight).is_some()) {
            Joined::Shared(flight) => on(flight).expect("it was found above").1.clone(),
            Joined::New(flight) => {
                let waiter = start(flight, self.stop.child_token());
                self.waiters.retain(|(flight, _)| on(*flight).is_some());
                self.waiters.extend(waiter.downgrade().map(|waiter| (flight, waiter)));
                waiter
            }
        }
    }

    fn forget(&mut self, flight: FlightId) {
        self.waiters.retain(|(waited_for, _)| *waited_for != flight);
    }
}

fn waiting((flight, waiter): &(FlightId, WeakWaiter)) -> Option<(FlightId, Waiter)> {
    Some((*flight, waiter.upgrade()?))
}

fn listing(catalog: &Catalog) -> Present {
    Present { generation: catalog.generation(), connection: catalog.connection() }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use mcp_transport::{Events, ScriptedTransport, connector_fn};

    use super::*;
    use crate::{ListLimits, Reconnect, hold::Hold, oversight::Nobody, run::Runner};

    /// A state whose present catalog came over this connection, and its listener.
    fn connected(connection: ConnectionId) -> Arc<State> {
        let state = Arc::new(State::new());
        let runner = Runner {
            connector: Arc::new(connector_fn(pending)),
            limits: ListLimits::default(),
            reconnect: Reconnect::default(),
            filter: Arc::default(),
            settle: Duration::ZERO,
            hold: Arc::new(Hold::new()),
            oversight: Arc::new(Nobody),
            state: Arc::downgrade(&state),
        };
        let catalog = Catalog::new(Generation::FIRST, ScriptedTransport::new()).with_connection(connection);
        let edition = state.edition();
        state.connected(Arc::new(catalog), edition, || Listener::start(runner, connection, Events::quiet()));
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
