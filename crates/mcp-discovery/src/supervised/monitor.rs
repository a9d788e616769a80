use std::{pin::Pin, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use mcp_transport::{CancellationToken, Connector, ErrorKind, Event as Told, Events, Transport};
use tokio::time::{Instant, sleep_until, timeout};

use super::{
    DownReason,
    core::Core,
    machine::{Action, Event, Verdict},
};
use crate::{Catalog, ConnectionId, PagingDiscovery, flight::Waiter, paging::Ending, sleep::Sleep};

/// How often somebody looks whether a server that is down has become another one.
const LOOK: Duration = Duration::from_secs(5);

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The one task that watches over a server: it does what the machine says, and tells it what it sees.
pub(super) struct Monitor {
    pub(super) paging: PagingDiscovery<Arc<dyn Connector>>,
    pub(super) core: Arc<Core>,
    pub(super) probe_timeout: Duration,
    pub(super) sleep: Sleep,
    /// Cancelled with the last handle.
    pub(super) end: CancellationToken,
}

/// What is under way.
#[derive(Default)]
struct UnderWay {
    listening: Option<(ConnectionId, Events)>,
    probe: Option<(ConnectionId, Work<Verdict>)>,
    trying: Option<Waiter>,
    ending: FuturesUnordered<Work<()>>,
}

impl Monitor {
    /// Runs until the last handle is gone, and ends the connection then.
    pub(super) async fn run(self) {
        let mut under_way = UnderWay::default();
        while !self.end.is_cancelled() {
            self.listen(&mut under_way);
            match self.core.due() {
                Ok(action) => self.act(action, &mut under_way),
                Err(wakes_at) => self.wait(wakes_at, &mut under_way).await,
            }
        }
        drop(under_way);
        self.core.on(Event::Stopped);
        self.paging.close().await;
    }

    /// Listens to the present connection.
    fn listen(&self, under_way: &mut UnderWay) {
        let present = self.paging.present();
        let connection = present.as_ref().map(|present| present.connection());
        if under_way.listening.as_ref().map(|(connection, _)| *connection) != connection {
            under_way.listening = present.map(|present| (present.connection(), present.transport().events()));
        }
    }

    fn act(&self, action: Action, under_way: &mut UnderWay) {
        let present = |connection| self.paging.present().filter(|present| present.connection() == connection);
        match action {
            Action::Try => under_way.trying = Some(self.paging.recover()),
            Action::GiveUp(connection) => {
                if self.core.give_up(connection)
                    && let Some(present) = present(connection)
                {
                    self.retire(present, under_way);
                }
            }
            Action::Probe(connection) => match present(connection) {
                Some(present) if !present.transport().is_closed() => {
                    let probe = probe(Arc::clone(present.transport()), self.probe_timeout);
                    under_way.probe = Some((connection, Box::pin(probe)));
                }
                present => self.lost(connection, present, under_way),
            },
        }
    }

    /// Waits until something happens.
    async fn wait(&self, wakes_at: Option<Instant>, under_way: &mut UnderWay) {
        let look = match (&under_way.listening, wakes_at) {
            // The next try would look by itself.
            (None, Some(at)) => Some(at.min(Instant::now() + LOOK)),
            (_, at) => at,
        };
        let probed = under_way.probe.as_ref().map(|(connection, _)| *connection);
        tokio::select! {
            biased;
            () = self.end.cancelled() => {}
            connection = closed(&mut under_way.listening) => {
                let present = self.paging.present().filter(|present| present.connection() == connection);
                self.lost(connection, present, under_way);
            }
            Some(verdict) = async { Some(under_way.probe.as_mut()?.1.as_mut().await) } => {
                under_way.probe = None;
                if let Some(connection) = probed {
                    self.core.on(Event::Probed { connection, verdict });
                }
            }
            // What came of it, the flight has told.
            Some(_) = async { Some(under_way.trying.as_mut()?.await) } => {
                under_way.trying = None;
                self.core.on(Event::Tried);
            }
            Some(()) = under_way.ending.next() => {}
            () = self.core.woken() => {}
            () = until(look) => {}
        }
        if self.sleep.has_passed() {
            self.core.on(Event::Slept);
        }
        if under_way.listening.is_none() {
            self.core.look();
        }
    }

    /// The connection has ended by itself: there is something to clean up even if nobody tries again.
    fn lost(&self, connection: ConnectionId, present: Option<Arc<Catalog>>, under_way: &mut UnderWay) {
        match present {
            Some(present) => {
                self.core.shut(&present, DownReason::ConnectionLost);
                self.retire(present, under_way);
            }
            None => self.core.on(Event::Lost { connection, reason: DownReason::ConnectionLost }),
        }
    }

    fn retire(&self, catalog: Arc<Catalog>, under_way: &mut UnderWay) {
        let paging = self.paging.clone();
        under_way.ending.push(Box::pin(async move {
            paging.end(&catalog, Ending::Retired).await;
        }));
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of the connection that is listened to.
async fn closed(listening: &mut Option<(ConnectionId, Events)>) -> ConnectionId {
    let Some((connection, events)) = listening else {
        return std::future::pending().await;
    };
    while events.next().await != Told::Closed {}
    *connection
}

async fn probe(transport: Arc<dyn Transport>, bound: Duration) -> Verdict {
    let Ok(answer) = timeout(bound, transport.probe()).await else {
        return Verdict::Failed;
    };
    // Whatever asks to be left alone is there.
    if answer.as_ref().is_err_and(|error| error.retry_after().is_some()) {
        return Verdict::Alive;
    }
    match answer.map_err(|error| error.kind()) {
        Err(ErrorKind::SessionLost) => Verdict::Gone,
        // Asked to wait, or not to ask at all: something is there.
        Ok(()) | Err(ErrorKind::HttpStatus(408 | 429)) => Verdict::Alive,
        Err(
            ErrorKind::Rejected(_)
            | ErrorKind::ReplyTooLarge
            | ErrorKind::InvalidReply
            | ErrorKind::AuthorisationRequired
            | ErrorKind::Unsupported,
        ) => Verdict::Alive,
        Err(_) => Verdict::Failed,
    }
}
