//! One object per server that keeps it usable.

mod bounded;
mod builder;
mod changes;
mod core;
mod link;
mod machine;
mod monitor;
mod starts;
mod status;
mod supervision;
mod traffic;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use mcp_transport::{CancellationToken, Connector, Fence};
use tokio::sync::watch;

pub use self::{
    builder::SupervisedBuilder,
    changes::{CatalogChange, CatalogChanges, DefinitionChange},
    status::{DownReason, State, Status},
    supervision::Supervision,
};
use self::{core::Core, machine::Event, monitor::Monitor};
use crate::{
    Catalog, Discovery, DiscoveryError, DiscoveryErrorKind, Generation, PagingDiscovery, ToolFilter,
    paging::Ending, sleep::Sleep,
};

/// A discovery that keeps its server usable: it notices when the server ends or falls silent, and brings it
/// back.
///
/// To whoever calls tools it is a [`Discovery`] like [`PagingDiscovery`], which it is made of. Beside that it
/// has a [status](Self::status), tells how the tools [change](Self::changes), and can be
/// [connected](Self::connect), [reconnected](Self::reconnect) and [stopped](Self::stop) explicitly.
///
/// Nothing is started before somebody asks, by a call or by [`connect`](Self::connect). From then on one task
/// watches over the server:
///
/// - A process that dies and a stream that closes are noticed at once.
/// - A connection that has been quiet is probed, if that [tells anything](mcp_transport::Transport::is_probed).
///   When enough probes in a row have failed it is given up, but never while calls are in flight on it: until
///   they end, the server is [degraded](State::Degraded). It is probed at once when a call was lost or timed
///   out, and at the next occasion after a sleep of the machine.
/// - A server that is down is tried at once, then with growing pauses, one start per try; a call that comes
///   meanwhile starts it at once, as often as [`Reconnect`](crate::Reconnect) allows. All starts count, whoever causes them,
///   and when there were too many the server is [parked](DownReason::Parked). [`Supervision`] has the figures.
///
/// Clones are the same server. When the last one is dropped the task ends and closes the connection, even if
/// somebody still holds a [`Catalog`] of it. Must be used inside a tokio runtime with time enabled, and in
/// the one where it was used first.
///
/// ```
/// use std::sync::Arc;
///
/// use mcp_discovery::{Discovery, State, SupervisedDiscovery};
/// use mcp_transport::{ScriptedTransport, Transport, connector_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), mcp_discovery::DiscoveryError> {
/// let connector = connector_fn(|| async { Ok(Arc::new(ScriptedTransport::new()) as Arc<dyn Transport>) });
/// let server = SupervisedDiscovery::new(connector);
/// let mut status = server.watch();
/// let first = server.connect().await?;
/// assert_eq!(server.status().state, State::Ready);
///
/// first.transport().close().await; // the server dies
/// let back = |status: &mcp_discovery::Status| status.connection > Some(first.connection());
/// status.wait_for(back).await.expect("it is watched over"); // and comes back
/// server.stop().await;
/// assert!(server.catalog().await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SupervisedDiscovery(Arc<Handle>);

/// What all clones share, and nobody else holds.
struct Handle {
    paging: PagingDiscovery<Arc<dyn Connector>>,
    core: Arc<Core>,
    rules: Supervision,
    sleep: Sleep,
    monitor: OnceLock<()>,
    end: CancellationToken,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

impl SupervisedDiscovery {
    /// A discovery that has not connected yet, with the default settings.
    pub fn new(connector: impl Connector + 'static) -> Self {
        Self::builder(connector).build()
    }

    /// The settings, to be changed.
    pub fn builder(connector: impl Connector + 'static) -> SupervisedBuilder {
        SupervisedBuilder::new(Arc::new(connector))
    }

    /// How the server is now.
    pub fn status(&self) -> Status {
        self.0.core.status()
    }

    /// How the server is, now and from now on. Of states that follow each other faster than they are read,
    /// the latest is told. The sender goes after the last handle.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.0.core.watch()
    }

    /// Which tools the host wants, from the next listing on; [`refresh`](Self::refresh) lists at once. It
    /// holds for all clones. Default: all.
    pub fn set_filter(&self, filter: ToolFilter) {
        self.0.paging.set_filter(filter);
    }

    /// How the tools change, from now on.
    pub fn changes(&self) -> CatalogChanges {
        CatalogChanges::new(self.0.core.listed(), self.0.rules.settle)
    }

    /// The present catalog, of a server that is started now if there is none: a server that was stopped, or
    /// is parked, too. It gets one start beyond the budget.
    ///
    /// # Errors
    ///
    /// As [`Discovery::catalog`].
    pub async fn connect(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        self.watched();
        let _asking = self.0.core.asked();
        self.brought().await
    }

    /// A catalog over a new connection. The present one is closed first, if there is one, also where it is
    /// healthy: a call in flight on it ends as one whose connection was lost, with what is known of its
    /// delivery. A connection that is being made just now will do. Otherwise as [`connect`](Self::connect).
    ///
    /// The old connection is closed even if this future is dropped.
    ///
    /// # Errors
    ///
    /// As [`Discovery::catalog`].
    pub async fn reconnect(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        self.watched();
        let _asking = self.0.core.asked();
        if let Some(present) = self.0.paging.present() {
            self.0.core.shut(&present, DownReason::ConnectionLost);
            let paging = self.0.paging.clone();
            let closing = async move { paging.end(&present, Ending::Closed).await };
            // An error says that the runtime shuts down.
            let _ = tokio::spawn(closing).await;
        }
        self.brought().await
    }

    /// The present catalog, if there is one; starts nothing. Its connection may have ended.
    pub fn present(&self) -> Option<Arc<Catalog>> {
        self.0.paging.present()
    }

    /// The connector reaches the server in another way from now on: ends the present connection, with the
    /// calls in flight on it, and says what is known of the old side. The server is brought back in the new
    /// way at once, without this waiting for it; one that was stopped, or that nobody has asked for yet,
    /// stays so.
    ///
    /// The connection takes no call any more when this returns, nor will one that is being made just now; it is
    /// closed even if the future is dropped.
    #[must_use = "the connection is ended at once, and this tells when that is done"]
    pub fn renew(&self) -> impl Future<Output = Fence> + Send + use<> {
        let present = self.0.paging.edit();
        if let Some(present) = &present {
            self.0.core.shut(present, DownReason::ConnectionLost);
        }
        self.0.core.on(Event::Edited);
        let paging = self.0.paging.clone();
        let ending = tokio::spawn(async move {
            match present {
                Some(present) => paging.end(&present, Ending::Closed).await,
                None => Fence::None,
            }
        });
        async { ending.await.unwrap_or_default() }
    }

    /// Lists the tools again, over the present connection where it still answers: a new generation whose
    /// first request left after this was called.
    ///
    /// # Errors
    ///
    /// As [`Discovery::catalog`].
    pub async fn refresh(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        self.allowed()?;
        self.0.paging.refresh().await
    }

    /// Ends the connection, with the calls in flight on it, and says what is known of the old side. The
    /// server stays stopped until [`connect`](Self::connect) or [`reconnect`](Self::reconnect): every other
    /// call, and everybody who waits now, gets [`Stopped`](DiscoveryErrorKind::Stopped).
    ///
    /// It is stopped when this is called, and what there is is closed even if the future is dropped. A start
    /// that was under way is dropped, which ends what it has started, if not at once.
    #[must_use = "the server is stopped at once, and this tells when it has ended"]
    pub fn stop(&self) -> impl Future<Output = Fence> + Send + use<> {
        self.watched();
        self.0.core.on(Event::Stopped);
        self.0.paging.stop_flights();
        let present = self.0.paging.present();
        if let Some(present) = &present {
            self.0.core.shut(present, DownReason::NotStarted);
        }
        let (paging, core) = (self.0.paging.clone(), Arc::clone(&self.0.core));
        let stopping = tokio::spawn(async move {
            let fence = match present {
                Some(present) => paging.end(&present, Ending::Closed).await,
                None => paging.settled().await.unwrap_or_default(),
            };
            // A flight that was landing at that moment. Somebody who has connected since may have it.
            match paging.present().filter(|_| core.is_stopped()) {
                Some(late) => {
                    core.shut(&late, DownReason::NotStarted);
                    paging.end(&late, Ending::Closed).await
                }
                None => fence,
            }
        });
        async { stopping.await.unwrap_or_default() }
    }

    async fn brought(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        let catalog = self.0.paging.catalog().await?;
        self.0.core.brought(&catalog);
        Ok(catalog)
    }

    /// Fails if the server is stopped; sees to it that it is watched over if not.
    fn allowed(&self) -> Result<(), DiscoveryError> {
        if self.0.core.is_stopped() {
            return Err(DiscoveryErrorKind::Stopped.into());
        }
        self.watched();
        Ok(())
    }

    fn watched(&self) {
        self.0.monitor.get_or_init(|| {
            let monitor = Monitor {
                paging: self.0.paging.clone(),
                core: Arc::clone(&self.0.core),
                probe_timeout: self.0.rules.probe_timeout,
                sleep: self.0.sleep.clone(),
                end: self.0.end.clone(),
            };
            // Ends with the last handle.
            tokio::spawn(monitor.run());
        });
    }
}

#[async_trait]
impl Discovery for SupervisedDiscovery {
    async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        self.allowed()?;
        self.0.paging.catalog().await
    }

    async fn rebuild(&self, stale: Generation) -> Result<Arc<Catalog>, DiscoveryError> {
        self.allowed()?;
        self.0.paging.rebuild(stale).await
    }

    fn suspect(&self, generation: Generation) {
        self.0.paging.suspect(generation);
        self.0.core.on(Event::Suspected(generation));
    }

    fn doubt(&self, generation: Generation) {
        self.0.core.on(Event::Doubted(generation));
    }
}

impl fmt::Debug for SupervisedDiscovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SupervisedDiscovery")
            .field("status", &self.status())
            .field("supervision", &self.0.rules)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        time::{Duration, SystemTime},
    };

    use mcp_transport::{ScriptedTransport, Transport, connector_fn};
    use tokio::time::sleep;

    use super::*;
    use crate::sleep::Reading;

    #[tokio::test(start_paused = true)]
    async fn a_machine_that_slept_probes_at_the_next_occasion() {
        let slept = Arc::new(AtomicU64::new(0));
        let (wall, monotonic, hours) = (SystemTime::now(), std::time::Instant::now(), slept.clone());
        let clocks = move || Reading {
            wall: wall + Duration::from_secs(3_600 * hours.load(Ordering::Relaxed)),
            monotonic,
        };
        let transport = Arc::new(ScriptedTransport::new());
        let connection = Arc::clone(&transport);
        let connector = connector_fn(move || {
            let connection = Arc::clone(&connection);
            async move { Ok(connection as Arc<dyn Transport>) }
        });
        let mut builder = SupervisedDiscovery::builder(connector)
            .with_supervision(Supervision::default().without_regular_probes());
        builder.sleep = Sleep::with_clocks(clocks);
        let server = builder.build();
        server.connect().await.unwrap();
        sleep(Duration::from_secs(100)).await;
        // The probe of a scripted transport is a listing.
        assert_eq!(transport.lists(), 1);
        slept.fetch_add(1, Ordering::Relaxed);
        // Anything that wakes the task is an occasion.
        server.refresh().await.unwrap();
        sleep(Duration::from_secs(100)).await;
        assert_eq!(transport.lists(), 3);
        server.refresh().await.unwrap();
        sleep(Duration::from_secs(100)).await;
        assert_eq!(transport.lists(), 4, "one probe for one sleep");
    }
}
