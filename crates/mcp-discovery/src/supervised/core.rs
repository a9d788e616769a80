use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_transport::{Connector, ErrorKind, ServerIdentity, Transport};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tracing::debug;

use super::{
    DownReason, State, Status, Supervision,
    changes::Listed,
    machine::{Action, Condition, Event, Machine, Moment},
    traffic::{Counted, Traffic},
};
use crate::{
    Catalog, ConnectionId, DiscoveryError, DiscoveryErrorKind, Generation, backoff::random, hold::Hold,
    oversight::Oversight,
};

/// What the handles, the flights and the monitor of one server share. Nothing here is held over an await.
pub(super) struct Core {
    known: Mutex<Known>,
    status: watch::Sender<Status>,
    listed: watch::Sender<Option<Listed>>,
    /// Wakes the monitor.
    wake: Arc<Notify>,
    connector: Arc<dyn Connector>,
    /// How long the server is to be left alone.
    hold: Arc<Hold>,
    epoch: Instant,
}

struct Known {
    machine: Machine,
    /// What goes over the connection that was listed last.
    traffic: Arc<Traffic>,
    /// The same for one that was made since.
    made: Option<Arc<Traffic>>,
    /// What the server that was started last is.
    identity: Option<ServerIdentity>,
    /// How many explicit connects are under way.
    asking: usize,
    starts: u64,
    latest: Latest,
}

/// The latest listing, as far as a status tells of it.
#[derive(Clone, Copy, Default)]
struct Latest {
    generation: Option<Generation>,
    connection: Option<ConnectionId>,
    tools: usize,
    quarantined: usize,
}

impl Core {
    pub(super) fn new(connector: Arc<dyn Connector>, rules: Supervision) -> Self {
        let (epoch, wake) = (Instant::now(), Arc::new(Notify::new()));
        let known = Known {
            machine: Machine::new(rules),
            traffic: Arc::new(Traffic::new(epoch, Arc::clone(&wake))),
            made: None,
            identity: None,
            asking: 0,
            starts: 0,
            latest: Latest::default(),
        };
        let status = known.status(epoch, epoch);
        Self {
            known: Mutex::new(known),
            status: watch::channel(status).0,
            listed: watch::channel(None).0,
            wake,
            connector,
            hold: Arc::new(Hold::new()),
            epoch,
        }
    }

    pub(super) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(super) fn listed(&self) -> watch::Receiver<Option<Listed>> {
        self.listed.subscribe()
    }

    pub(super) fn hold(&self) -> Arc<Hold> {
        Arc::clone(&self.hold)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.known().machine.is_stopped()
    }

    /// Waits until something has happened.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Somebody connects explicitly, for as long as the guard is there.
    pub(super) fn asked(&self) -> Asking<'_> {
        let mut known = self.known();
        known.asking += 1;
        self.tell(known, Event::Asked);
        Asking(self)
    }

    /// Something has happened.
    pub(super) fn on(&self, event: Event) {
        self.tell(self.known(), event);
    }

    /// An explicit connect has brought this. It may have landed while the server was being stopped, and not
    /// have counted then.
    pub(super) fn brought(&self, catalog: &Catalog) {
        let probed = catalog.transport().is_probed();
        let known = self.known();
        if !known.machine.has_link() && !catalog.transport().is_closed() {
            let (connection, generation) = (catalog.connection(), catalog.generation());
            self.tell(known, Event::Listed { connection, generation, probed });
        }
    }

    /// The connection that this is the catalog of is lost, and takes no further call.
    pub(super) fn shut(&self, catalog: &Catalog, reason: DownReason) {
        let known = self.known();
        if let Some(traffic) = known.traffic_of(catalog.connection()) {
            traffic.shut();
        }
        self.tell(known, Event::Lost { connection: catalog.connection(), reason });
    }

    /// Gives the connection up unless a call is in flight on it. False when one is.
    pub(super) fn give_up(&self, connection: ConnectionId) -> bool {
        let known = self.known();
        let given_up = known.traffic_of(connection).is_none_or(|traffic| traffic.give_up());
        if given_up {
            self.tell(known, Event::Lost { connection, reason: DownReason::Unresponsive });
        }
        given_up
    }

    /// What is to be done now, or until when to wait for something to happen.
    pub(super) fn due(&self) -> Result<Action, Option<Instant>> {
        let mut known = self.known();
        let now = self.now();
        // Before looking at the traffic, so that nothing is missed that comes after the look.
        known.traffic.watch(known.machine.condition() == Condition::Degraded);
        let busy = known.traffic.is_busy();
        self.listen(&mut known);
        let due = known.machine.due(now, busy);
        let wakes_at = known.machine.wakes_at();
        self.publish(&known);
        due.ok_or_else(|| wakes_at.and_then(|at| self.epoch.checked_add(at)))
    }

    /// Looks whether the connector reaches another server than the one that is down.
    pub(super) fn look(&self) {
        let identity = self.connector.identity();
        let mut known = self.known();
        if known.identity.as_ref().is_some_and(|started| *started != identity) && !known.machine.has_link() {
            known.identity = Some(identity);
            self.tell(known, Event::Edited);
        }
    }

    fn now(&self) -> Moment {
        Moment { at: self.epoch.elapsed(), spread: random() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, mut known: MutexGuard<'_, Known>, event: Event) {
        if event == Event::Edited {
            // Another server has asked for nothing yet.
            self.hold.clear();
        }
        self.listen(&mut known);
        known.machine.on(self.now(), event);
        self.publish(&known);
        drop(known);
        self.wake.notify_one();
    }

    /// Takes in what nobody tells: what has gone over the connection, and what the server asks for by it.
    fn listen(&self, known: &mut Known) {
        if let Some(heard) = known.traffic.answered() {
            known.machine.on(self.now(), Event::Heard(heard));
        }
        let held = known.identity.as_ref().and_then(|identity| self.hold.until(identity));
        if let Some(until) = held {
            known.machine.on(self.now(), Event::Held(until.saturating_duration_since(self.epoch)));
        }
    }

    /// Tells how the server is now. Under the lock, so that states are told in their order.
    fn publish(&self, known: &Known) {
        self.status.send_if_modified(|status| {
            let mut now = known.status(self.epoch, status.since);
            if !status.state.is_same_as(now.state) {
                now.since = Instant::now();
                debug!(state = now.state.code(), "the state of the server changed");
            }
            let is_news = *status != now;
            *status = now;
            is_news
        });
    }
}

impl Known {
    /// What goes over this connection; none when another has taken its place. Whoever comes late must not
    /// shut that one.
    fn traffic_of(&self, connection: ConnectionId) -> Option<&Traffic> {
        if self.latest.connection == Some(connection) {
            Some(&self.traffic)
        } else if self.latest.connection < Some(connection) {
            self.made.as_deref()
        } else {
            None
        }
    }

    fn status(&self, epoch: Instant, since: Instant) -> Status {
        let Latest { generation, connection, tools, quarantined } = self.latest;
        let restarts = self.starts.saturating_sub(1);
        let state = match self.machine.condition() {
            Condition::Connecting => State::Connecting,
            Condition::Ready => State::Ready,
            Condition::Degraded => State::Degraded,
            Condition::Stopped => State::Stopped,
            Condition::Down { reason, next_try } => {
                State::Down { reason, next_try: next_try.and_then(|next| epoch.checked_add(next)) }
            }
        };
        Status { state, since, generation, connection, tools, quarantined, restarts }
    }
}

impl Oversight for Core {
    fn permit(&self) -> Result<(), DiscoveryErrorKind> {
        let identity = self.connector.identity();
        let mut known = self.known();
        let now = self.now();
        if known.identity.as_ref().is_some_and(|started| *started != identity) {
            known.machine.on(now, Event::Edited);
        }
        let permitted = known.machine.permit(now);
        if permitted.is_ok() {
            known.starts += 1;
            known.identity = Some(identity);
        }
        self.publish(&known);
        drop(known);
        self.wake.notify_one();
        permitted
    }

    fn made(&self, transport: Arc<dyn Transport>) -> Arc<dyn Transport> {
        let traffic = Arc::new(Traffic::new(self.epoch, Arc::clone(&self.wake)));
        self.known().made = Some(Arc::clone(&traffic));
        Arc::new(Counted::new(transport, traffic).noting(self.hold(), self.connector.identity()))
    }

    fn listed(&self, catalog: &Catalog) {
        let (connection, generation) = (catalog.connection(), catalog.generation());
        let probed = catalog.transport().is_probed();
        let mut known = self.known();
        if known.latest.connection != Some(connection)
            && let Some(made) = known.made.take()
        {
            known.traffic = made;
        }
        known.latest = Latest {
            generation: Some(generation),
            connection: Some(connection),
            tools: catalog.len(),
            quarantined: catalog.quarantined().len(),
        };
        self.listed.send_replace(Some(Listed::of(catalog)));
        self.tell(known, Event::Listed { connection, generation, probed });
    }

    fn lost(&self, connection: ConnectionId) {
        self.on(Event::Lost { connection, reason: DownReason::ConnectionLost });
    }

    fn failed(&self, error: &DiscoveryError) {
        self.on(Event::Failed(reason(error)));
    }

    fn permits_another(&self) -> bool {
        self.known().machine.permits_another(self.now())
    }

    fn landed(&self) {
        self.on(Event::Landed);
    }
}

fn reason(error: &DiscoveryError) -> DownReason {
    match (error.kind(), error.transport_error().map(|error| error.kind())) {
        (DiscoveryErrorKind::Connect, Some(ErrorKind::CommandNotFound | ErrorKind::Tls)) => {
            DownReason::Misconfigured
        }
        (DiscoveryErrorKind::Connect | DiscoveryErrorKind::IdentityChanged, _) => DownReason::NotReached,
        _ => DownReason::NotListed,
    }
}

/// An explicit connect under way.
pub(super) struct Asking<'a>(&'a Core);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut known = self.0.known();
        known.asking -= 1;
        if known.asking == 0 {
            self.0.tell(known, Event::Served);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use mcp_transport::{ScriptedTransport, connector_fn};

    use super::*;

    #[tokio::test]
    async fn while_anybody_asks_the_next_start_is_permitted() {
        let rules = Supervision::default().with_start_budget(1, Duration::from_secs(600));
        let core = Core::new(Arc::new(connector_fn(pending)), rules);
        assert_eq!(core.permit(), Ok(()));
        core.landed();
        let (first, second) = (core.asked(), core.asked());
        drop(first);
        assert_eq!(core.permit(), Ok(()));
        core.landed();
        assert_eq!(core.permit(), Err(DiscoveryErrorKind::Parked));
        drop((second, core.asked()));
        assert_eq!(core.permit(), Err(DiscoveryErrorKind::Parked));
    }

    /// The core, and what it made of a connection of this number, listed or not yet.
    fn made(core: &Core, number: u64) -> (Arc<dyn Transport>, Catalog) {
        let connection = (1..number).fold(ConnectionId::FIRST, |connection, _| connection.next());
        let transport = core.made(Arc::new(ScriptedTransport::new()));
        let catalog = Catalog::on(Arc::clone(&transport), Generation::FIRST).with_connection(connection);
        (transport, catalog)
    }

    #[tokio::test]
    async fn whoever_shuts_a_connection_late_leaves_the_one_after_it_alone() {
        let core = Core::new(Arc::new(connector_fn(pending)), Supervision::default());
        let (first, old) = made(&core, 1);
        Oversight::listed(&core, &old);
        core.shut(&old, DownReason::ConnectionLost);
        assert!(first.is_closed());

        let (second, new) = made(&core, 2);
        for is_listed in [false, true] {
            if is_listed {
                Oversight::listed(&core, &new);
            }
            core.shut(&old, DownReason::ConnectionLost);
            assert!(core.give_up(old.connection()), "it is given up already");
            assert!(!second.is_closed(), "listed: {is_listed}");
        }
        assert!(core.give_up(new.connection()) && second.is_closed());

        let (third, newest) = made(&core, 3);
        core.shut(&newest, DownReason::ConnectionLost);
        assert!(third.is_closed(), "also before it is known to be listed");
    }
}
