use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use mcp_transport::{
    CancellationToken, Connector, ErrorClass, ErrorKind, ServerIdentity, Transport, TransportError,
};
use tokio::time::sleep;
use tracing::debug;

use crate::{
    Catalog, ConnectionId, DiscoveryError, DiscoveryErrorKind, ListLimits, Reconnect, ToolFilter,
    flight::{Outcome, Waiter},
    generations::{FlightId, Need},
    hold::Hold,
    listener::Listener,
    oversight::{Landing, Oversight},
    state::State,
    walk::walk,
};

/// What it takes to fly: how to reach the server, and under which bounds.
pub(crate) struct Runner<C> {
    pub(crate) connector: Arc<C>,
    pub(crate) limits: ListLimits,
    pub(crate) reconnect: Reconnect,
    /// How long changes of the tools are gathered before they are listed.
    pub(crate) settle: Duration,
    pub(crate) filter: Arc<Mutex<ToolFilter>>,
    /// How long the server is to be left alone.
    pub(crate) hold: Arc<Hold>,
    pub(crate) oversight: Arc<dyn Oversight>,
    pub(crate) state: Weak<State>,
}

impl<C> Clone for Runner<C> {
    fn clone(&self) -> Self {
        Self {
            connector: Arc::clone(&self.connector),
            filter: Arc::clone(&self.filter),
            hold: Arc::clone(&self.hold),
            oversight: Arc::clone(&self.oversight),
            state: Weak::clone(&self.state),
            ..*self
        }
    }
}

/// A listing that failed, or never began.
struct Failed {
    error: DiscoveryError,
    /// Whether another connection may do better.
    worth_another: bool,
}

impl From<DiscoveryError> for Failed {
    fn from(error: DiscoveryError) -> Self {
        Self { error, worth_another: false }
    }
}

impl<C: Connector + 'static> Runner<C> {
    pub(crate) fn join(&self, state: &State, need: Need) -> Waiter {
        state.join(need, |flight, stop| self.start(state, flight, stop))
    }

    /// Joins on behalf of the listener of this connection; none when that is over.
    pub(crate) fn join_from(&self, connection: ConnectionId) -> Option<Waiter> {
        let state = self.state.upgrade()?;
        state.join_from(connection, |flight, stop| self.start(&state, flight, stop))
    }

    fn start(&self, state: &State, flight: FlightId, stop: CancellationToken) -> Waiter {
        let (runner, turn) = (self.clone(), state.turn());
        Waiter::start(stop.clone(), async move {
            // Both outlive the run when it is stopped: the next flight has to wait until a connection
            // that was made, and is not yet or not to be the present one, has been closed.
            let (mut held, mut made) = (None, None);
            let run = async {
                held = Some(turn.await);
                runner.run(flight, &mut made).await
            };
            let outcome = tokio::select! {
                biased;
                () = stop.cancelled() => Err(DiscoveryErrorKind::Stopped.into()),
                outcome = run => outcome,
            };
            if let Some(state) = runner.state.upgrade() {
                state.land(flight);
            }
            close(&mut made).await;
            drop(held);
            outcome
        })
    }

    async fn run(&self, flight: FlightId, made: &mut Option<Arc<dyn Transport>>) -> Outcome {
        let present = self.state()?.present();
        let lost = match &present {
            Some(present) if !present.transport().is_closed() => match self.relist(flight, present).await {
                Ok(catalog) => return Ok(catalog),
                Err(Failed { error, worth_another: false }) => return Err(error),
                Err(failed) => failed.error,
            },
            _ => DiscoveryError::listing(TransportError::closed()),
        };
        if !self.state()?.board_again(flight) {
            return Err(lost);
        }
        if let Some(present) = present {
            self.oversight.lost(present.connection());
            let fence = present.transport().retire().await;
            self.state()?.fenced(fence);
        }
        let mut pauses = self.reconnect.pauses();
        let mut landing = None;
        loop {
            let identity = self.admitted().await?;
            self.oversight.permit()?;
            landing.get_or_insert_with(|| Landing(&*self.oversight));
            let failed = match self.connect(flight, &identity, made).await {
                Ok(catalog) => return Ok(catalog),
                Err(failed) => failed,
            };
            self.oversight.failed(&failed.error);
            let pause = if failed.worth_another { pauses.next() } else { None };
            let Some(pause) = pause.filter(|_| self.oversight.permits_another()) else {
                return Err(failed.error);
            };
            // One try is made unasked where the server is to be brought back, and no more.
            if !self.state()?.board_again(flight) {
                return Err(failed.error);
            }
            self.hold.bearable(&identity).map_err(DiscoveryError::connect)?;
            close(made).await;
            debug!(code = failed.error.kind().code(), ?pause, "the server was not reached; trying again");
            sleep(pause).await;
        }
    }

    /// Lists over the present connection.
    async fn relist(&self, flight: FlightId, present: &Catalog) -> Result<Arc<Catalog>, Failed> {
        let transport = present.transport();
        self.hold.over(present.identity()).await.map_err(DiscoveryError::listing)?;
        let generation = self.state()?.depart(flight);
        let listing = walk(&**transport, &self.limits).await.map_err(|failed| {
            self.note(present.identity(), &failed.error);
            Failed {
                worth_another: failed.class == ErrorClass::Connection || transport.is_closed(),
                error: failed.error,
            }
        })?;
        let catalog = Catalog::on(Arc::clone(transport), generation)
            .with_connection(present.connection())
            .with_identity(present.identity().clone())
            .with_listing(listing.filtered(&self.filter()));
        let catalog = Arc::new(catalog);
        self.state()?.relisted(Arc::clone(&catalog));
        self.oversight.listed(&catalog);
        tell(&catalog);
        Ok(catalog)
    }

    /// Which server this is, once it may be asked.
    async fn admitted(&self) -> Result<ServerIdentity, DiscoveryError> {
        loop {
            let identity = self.connector.identity();
            // It may have become another one in the meantime.
            if !self.hold.over(&identity).await.map_err(DiscoveryError::connect)? {
                return Ok(identity);
            }
        }
    }

    /// One try to reach the server and list its tools.
    async fn connect(
        &self,
        flight: FlightId,
        identity: &ServerIdentity,
        made: &mut Option<Arc<dyn Transport>>,
    ) -> Result<Arc<Catalog>, Failed> {
        let edition = self.state()?.edition();
        let transport = self.connector.connect().await.map_err(|error| {
            self.hold.note(identity, &error);
            Failed {
                worth_another: error.class() == ErrorClass::Connection
                    && !matches!(error.kind(), ErrorKind::CommandNotFound | ErrorKind::Tls),
                error: DiscoveryError::connect(error),
            }
        })?;
        let transport = self.oversight.made(transport);
        *made = Some(Arc::clone(&transport));
        // Whichever of the two the connection was made for: trust in the other must not reach it.
        let edited = || Failed { error: DiscoveryErrorKind::IdentityChanged.into(), worth_another: true };
        if self.connector.identity() != *identity {
            return Err(edited());
        }
        // Before the first request, so that a change during the listing is not missed.
        let events = transport.events();
        let generation = self.state()?.depart(flight);
        let listing = walk(&*transport, &self.limits).await.map_err(|failed| {
            self.note(identity, &failed.error);
            Failed {
                error: failed.error,
                worth_another: failed.on_first_page && failed.class == ErrorClass::Connection,
            }
        })?;
        let state = self.state()?;
        // Listing takes its time, too.
        if self.connector.identity() != *identity {
            return Err(edited());
        }
        let (connection, fence) = state.next_connection();
        let mut catalog = Catalog::on(transport, generation)
            .with_connection(connection)
            .with_identity(identity.clone())
            .with_listing(listing.filtered(&self.filter()));
        if let Some(fence) = fence {
            catalog = catalog.with_predecessor_fence(fence);
        }
        let catalog = Arc::new(catalog);
        let listen = || Listener::start(self.clone(), connection, events);
        if !state.connected(Arc::clone(&catalog), edition, listen) {
            return Err(edited());
        }
        self.oversight.listed(&catalog);
        *made = None;
        tell(&catalog);
        Ok(catalog)
    }

    fn note(&self, identity: &ServerIdentity, error: &DiscoveryError) {
        if let Some(error) = error.transport_error() {
            self.hold.note(identity, error);
        }
    }

    /// Read at the end of each listing, so that one that is changed meanwhile holds for it.
    fn filter(&self) -> ToolFilter {
        self.filter.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn state(&self) -> Result<Arc<State>, DiscoveryError> {
        self.state.upgrade().ok_or_else(|| DiscoveryErrorKind::Stopped.into())
    }
}

/// Closes a connection that nobody will use. Forgotten only when that is done, so that a flight that is
/// stopped meanwhile closes it again.
async fn close(made: &mut Option<Arc<dyn Transport>>) {
    if let Some(transport) = made {
        transport.close().await;
    }
    *made = None;
}

fn tell(catalog: &Catalog) {
    debug!(
        generation = catalog.generation().get(),
        connection = catalog.connection().get(),
        tools = catalog.len(),
        quarantined = catalog.quarantined().len(),
        warnings = catalog.warnings().len(),
        "listed the tools of the server"
    );
}
