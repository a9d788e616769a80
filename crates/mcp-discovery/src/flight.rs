use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{
    FutureExt,
    future::{Shared, WeakShared},
};
use mcp_transport::CancellationToken;

use crate::{
    Catalog, DiscoveryError, DiscoveryErrorKind,
    sync::{JoinHandle, spawn},
};

pub(crate) type Outcome = Result<Arc<Catalog>, DiscoveryError>;

/// One wait for a flight: a run of the discovery that all who need its outcome share.
///
/// Awaiting it gives the outcome. Dropping it ends this wait; dropping the last one stops the flight.
#[derive(Clone)]
pub(crate) struct Waiter(Shared<Flight>);

/// A flight that is known, and not kept going by that.
pub(crate) struct WeakWaiter(WeakShared<Flight>);

pub(crate) struct Flight {
    task: JoinHandle<Outcome>,
    stop: CancellationToken,
}

impl Waiter {
    /// Starts a flight. It must end soon after `stop` is cancelled, and clean up before it does.
    pub(crate) fn start(
        stop: CancellationToken,
        run: impl Future<Output = Outcome> + Send + 'static,
    ) -> Self {
        Self(Flight { task: spawn(run), stop }.shared())
    }

    pub(crate) fn downgrade(&self) -> Option<WeakWaiter> {
        self.0.downgrade().map(WeakWaiter)
    }
}

impl WeakWaiter {
    /// One more wait, if there is still another.
    pub(crate) fn upgrade(&self) -> Option<Waiter> {
        self.0.upgrade().map(Waiter)
    }
}

impl Future for Waiter {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl Future for Flight {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        // An error of the join: the run panicked, or its runtime is shutting down.
        let joined = Pin::new(&mut self.task).poll(context);
        joined.map(|outcome| outcome.unwrap_or_else(|_| Err(DiscoveryErrorKind::Stopped.into())))
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        // Stopped rather than aborted: a connection that it has made is to be closed in order.
        self.stop.cancel();
    }
}
