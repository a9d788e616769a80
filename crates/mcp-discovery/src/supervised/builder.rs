use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use mcp_transport::{CancellationToken, Connector};

use super::{Handle, SupervisedDiscovery, Supervision, bounded::Bounded, core::Core};
use crate::{ListLimits, PagingDiscovery, Reconnect, sleep::Sleep};

/// Settings of a [`SupervisedDiscovery`].
#[must_use]
pub struct SupervisedBuilder {
    connector: Arc<dyn Connector>,
    limits: ListLimits,
    reconnect: Reconnect,
    supervision: Supervision,
    pub(super) sleep: Sleep,
}

impl SupervisedBuilder {
    pub(super) fn new(connector: Arc<dyn Connector>) -> Self {
        Self {
            connector,
            limits: ListLimits::default(),
            reconnect: Reconnect::default(),
            supervision: Supervision::default(),
            sleep: Sleep::new(),
        }
    }

    /// What a listing may cost. Default: that of [`ListLimits`].
    pub fn with_limits(mut self, limits: ListLimits) -> Self {
        self.limits = limits;
        self
    }

    /// How often a call tries the server. Default: that of [`Reconnect`].
    pub fn with_reconnect(mut self, reconnect: Reconnect) -> Self {
        self.reconnect = reconnect;
        self
    }

    /// How the server is watched over. Default: that of [`Supervision`].
    pub fn with_supervision(mut self, supervision: Supervision) -> Self {
        self.supervision = supervision;
        self
    }

    /// A discovery with these settings, which has not connected yet.
    #[must_use]
    pub fn build(self) -> SupervisedDiscovery {
        let bound = self.supervision.start_timeout;
        let connector: Arc<dyn Connector> = Arc::new(Bounded { inner: self.connector, bound });
        let core = Arc::new(Core::new(Arc::clone(&connector), self.supervision));
        let paging = PagingDiscovery::new(connector)
            .with_limits(self.limits)
            .with_reconnect(self.reconnect)
            .overseen(Arc::clone(&core) as _, core.hold(), self.supervision.settle);
        SupervisedDiscovery(Arc::new(Handle {
            paging,
            core,
            rules: self.supervision,
            sleep: self.sleep,
            monitor: OnceLock::new(),
            end: CancellationToken::new(),
        }))
    }
}

impl fmt::Debug for SupervisedBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SupervisedBuilder")
            .field("limits", &self.limits)
            .field("reconnect", &self.reconnect)
            .field("supervision", &self.supervision)
            .finish_non_exhaustive()
    }
}
