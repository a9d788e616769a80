use std::{
    fmt,
    sync::{Arc, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use mcp_transport::{Connector, Fence};

use crate::{
    Catalog, Discovery, DiscoveryError, Generation, ListLimits, Reconnect, ToolFilter,
    flight::Waiter,
    generations::Need,
    hold::Hold,
    oversight::{Nobody, Oversight},
    run::Runner,
    sleep::Sleep,
    state::State,
};

/// The discovery of one server: connects when needed, lists page by page, and keeps the catalog.
///
/// Clones share the connection. When the last one is dropped, its tasks end; the connection ends with
/// the last [`Catalog`] that holds it. Must be used inside a tokio runtime with time enabled.
///
/// Connecting and listing is done by one task at a time, which all callers share. A caller that is
/// dropped ends its own wait only; when the last one has left, the task stops and closes what it made.
/// `tools/list_changed` lists again without being asked, and so does a sleep of the machine, noticed when
/// the catalog is asked for next: the connection may have died meanwhile, and it is better to find out
/// before a call than by it.
///
/// A server that asks to be left alone for a while
/// ([`retry_after`](mcp_transport::TransportError::retry_after)) is neither connected nor listed before that is
/// over. Where that is more than a minute away, whoever asks is told so at once, by the same error.
pub struct PagingDiscovery<C> {
    runner: Runner<C>,
    state: Arc<State>,
    sleep: Sleep,
}

impl<C> PagingDiscovery<C> {
    /// A discovery that has not connected yet, with the default limits and tries.
    pub fn new(connector: C) -> Self {
        let state = Arc::new(State::new());
        let runner = Runner {
            connector: Arc::new(connector),
            limits: ListLimits::default(),
            reconnect: Reconnect::default(),
            settle: Duration::ZERO,
            filter: Arc::default(),
            hold: Arc::new(Hold::new()),
            oversight: Arc::new(Nobody),
            state: Arc::downgrade(&state),
        };
        Self { runner, state, sleep: Sleep::new() }
    }

    /// What a listing may cost. To be set before cloning: clones made earlier keep theirs.
    #[must_use]
    pub fn with_limits(mut self, limits: ListLimits) -> Self {
        self.runner.limits = limits;
        self
    }

    /// How often the server is tried. To be set before cloning: clones made earlier keep theirs.
    #[must_use]
    pub fn with_reconnect(mut self, reconnect: Reconnect) -> Self {
        self.runner.reconnect = reconnect;
        self
    }

    /// Which tools the host wants, from the next listing on; [`refresh`](Self::refresh) lists at once. It
    /// holds for all clones. Default: all.
    pub fn set_filter(&self, filter: ToolFilter) {
        *self.runner.filter.lock().unwrap_or_else(PoisonError::into_inner) = filter;
    }

    /// Who watches and knows how long the server is to be left alone, and how long changes of the tools are
    /// gathered. To be set before cloning.
    pub(crate) fn overseen(
        mut self,
        oversight: Arc<dyn Oversight>,
        hold: Arc<Hold>,
        settle: Duration,
    ) -> Self {
        self.runner.oversight = oversight;
        self.runner.hold = hold;
        self.runner.settle = settle;
        self
    }

    pub(crate) fn present(&self) -> Option<Arc<Catalog>> {
        self.state.present()
    }

    /// The server is reached in another way from now on: what is being connected will not be used. The
    /// catalog of the way before, if there is one.
    pub(crate) fn edit(&self) -> Option<Arc<Catalog>> {
        self.state.edit()
    }

    /// Ends every flight of now; those who wait get [`Stopped`](crate::DiscoveryErrorKind::Stopped).
    pub(crate) fn stop_flights(&self) {
        self.state.stop_flights();
    }

    /// Ends the connection of this catalog without waiting for a flight over it, and then waits for the
    /// flights before this. The fence is known to whoever connects next. What is present already, if that
    /// is another connection, is left alone.
    pub(crate) async fn end(&self, catalog: &Catalog, ending: Ending) -> Fence {
        let transport = catalog.transport();
        let fence = match ending {
            Ending::Retired => transport.retire().await,
            Ending::Closed => transport.close().await,
        };
        let _turn = self.state.turn().await;
        if self.state.present().is_some_and(|present| present.connection() == catalog.connection()) {
            self.state.fenced(fence);
        }
        fence
    }

    /// Waits for the flights before this, and says what is known of the latest connection, if it has ended.
    pub(crate) async fn settled(&self) -> Option<Fence> {
        let _turn = self.state.turn().await;
        self.state.fence()
    }

    /// Closes the connection, and says what is known of the old side. Who waits for a catalog gets
    /// [`Stopped`](crate::DiscoveryErrorKind::Stopped); who asks later connects anew.
    pub async fn close(&self) -> Fence {
        self.state.stop_flights();
        let _turn = self.state.turn().await;
        let Some(present) = self.state.present() else {
            return self.state.fence().unwrap_or_default();
        };
        let fence = present.transport().close().await;
        self.state.fenced(fence);
        fence
    }
}

impl<C: Connector + 'static> PagingDiscovery<C> {
    /// Lists again, over the present connection where it still answers: a new generation whose first
    /// request left after this was called.
    ///
    /// # Errors
    ///
    /// As [`Discovery::catalog`].
    pub async fn refresh(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        self.runner.join(&self.state, Need::FreshListing).await
    }

    /// Sees to it that there is a catalog, by one start at most.
    pub(crate) fn recover(&self) -> Waiter {
        self.runner.join(&self.state, Need::Recovery)
    }
}

/// How a connection is ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// Calls in flight on it may go on, where the transport lets them.
    Retired,
    /// They end with it.
    Closed,
}

#[async_trait]
impl<C: Connector + 'static> Discovery for PagingDiscovery<C> {
    async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        if self.sleep.has_passed()
            && let Some(present) = self.state.present()
        {
            self.state.suspect(present.generation());
        }
        if let Some(present) = self.state.unsuspected()
            && !present.transport().is_closed()
        {
            return Ok(present);
        }
        self.runner.join(&self.state, Need::Catalog).await
    }

    async fn rebuild(&self, stale: Generation) -> Result<Arc<Catalog>, DiscoveryError> {
        self.state.suspect(stale);
        self.refresh().await
    }

    fn suspect(&self, generation: Generation) {
        self.state.suspect(generation);
    }
}

impl<C> Clone for PagingDiscovery<C> {
    fn clone(&self) -> Self {
        Self { runner: self.runner.clone(), state: Arc::clone(&self.state), sleep: self.sleep.clone() }
    }
}

impl<C> fmt::Debug for PagingDiscovery<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PagingDiscovery")
            .field("limits", &self.runner.limits)
            .field("reconnect", &self.runner.reconnect)
            .field("present", &self.state.present())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        time::{Duration, Instant, SystemTime},
    };

    use mcp_transport::{ScriptedTransport, Transport, connector_fn};

    use super::*;
    use crate::sleep::Reading;

    #[tokio::test(start_paused = true)]
    async fn a_machine_that_slept_lists_again_before_a_call_and_over_the_same_connection() {
        let slept = Arc::new(AtomicU64::new(0));
        let (wall, monotonic, hours) = (SystemTime::now(), Instant::now(), slept.clone());
        let clocks = move || Reading {
            wall: wall + Duration::from_secs(3_600 * hours.load(Ordering::Relaxed)),
            monotonic,
        };
        let connector =
            connector_fn(|| async { Ok(Arc::new(ScriptedTransport::new()) as Arc<dyn Transport>) });
        let mut discovery = PagingDiscovery::new(connector);
        discovery.sleep = Sleep::with_clocks(clocks);
        let first = discovery.catalog().await.unwrap();
        assert_eq!(discovery.catalog().await.unwrap().generation(), first.generation());
        slept.fetch_add(1, Ordering::Relaxed);
        let second = discovery.clone().catalog().await.unwrap();
        assert!(second.generation() > first.generation());
        assert_eq!(second.connection(), first.connection());
        assert_eq!(discovery.catalog().await.unwrap().generation(), second.generation());
    }
}
