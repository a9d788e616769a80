use std::time::Duration;

use mcp_transport::{ServerIdentity, TransportError};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// Nobody waits longer than this for a server that has asked to be left alone: whoever would have to is
/// told so at once.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Until when a server has asked to be left alone.
pub(crate) struct Hold(watch::Sender<Option<Held>>);

struct Held {
    until: Instant,
    /// Another server has not asked.
    identity: ServerIdentity,
    /// What it asked by.
    error: TransportError,
}

impl Hold {
    pub(crate) fn new() -> Self {
        Self(watch::channel(None).0)
    }

    /// Notes what a server of this identity has asked for by this error, if it has. A shorter pause does
    /// not end a longer one. True when something has changed.
    pub(crate) fn note(&self, identity: &ServerIdentity, error: &TransportError) -> bool {
        let Some(until) = error.retry_after().and_then(|pause| Instant::now().checked_add(pause)) else {
            return false;
        };
        self.0.send_if_modified(|held| {
            let is_longer = held.as_ref().is_none_or(|held| held.until < until || held.identity != *identity);
            if is_longer {
                *held = Some(Held { until, identity: identity.clone(), error: error.clone() });
            }
            is_longer
        })
    }

    /// The server is another one now.
    pub(crate) fn clear(&self) {
        self.0.send_replace(None);
    }

    /// Until when this server is left alone; it may have passed.
    pub(crate) fn until(&self, identity: &ServerIdentity) -> Option<Instant> {
        self.0.borrow().as_ref().filter(|held| held.identity == *identity).map(|held| held.until)
    }

    /// Waits until this server may be asked again, and says whether it had to.
    ///
    /// # Errors
    ///
    /// As [`bearable`](Self::bearable).
    pub(crate) async fn over(&self, identity: &ServerIdentity) -> Result<bool, TransportError> {
        let mut waited = false;
        let mut changes = self.0.subscribe();
        while let Some(until) = self.bearable(identity)? {
            waited = true;
            tokio::select! {
                () = sleep_until(until) => {}
                // It cannot fail: the sender is here.
                _ = changes.changed() => {}
            }
        }
        Ok(waited)
    }

    /// Until when to wait, if at all.
    ///
    /// # Errors
    ///
    /// That is too long: the error by which the server asked, with what is left of the pause.
    pub(crate) fn bearable(&self, identity: &ServerIdentity) -> Result<Option<Instant>, TransportError> {
        let held = self.0.borrow();
        let Some(held) = held.as_ref().filter(|held| held.identity == *identity) else {
            return Ok(None);
        };
        match held.until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Ok(None),
            left if left > LONGEST_WAIT => Err(held.error.clone().with_retry_after(left)),
            _ => Ok(Some(held.until)),
        }
    }
}
