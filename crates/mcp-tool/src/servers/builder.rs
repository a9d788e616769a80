use std::{fmt, sync::Arc};

use mcp_discovery::{ListLimits, SupervisedDiscovery, Supervision};
use mcp_transport::Connector;
use replay_policy::{ConservativePolicy, ReplayPolicy, Trust};

use super::Servers;
use crate::{Client, Observer, RetryBudget, TrustSource};

/// What the servers of a set have in common.
pub(super) struct Settings {
    policy: Arc<dyn ReplayPolicy>,
    trust: Arc<dyn TrustSource>,
    observer: Option<Arc<dyn Observer>>,
    retry_budget: RetryBudget,
    supervision: Supervision,
    limits: ListLimits,
    pub(super) starts_at_once: usize,
}

impl Settings {
    pub(super) fn supervise(&self, connector: impl Connector + 'static) -> SupervisedDiscovery {
        SupervisedDiscovery::builder(connector)
            .with_supervision(self.supervision)
            .with_limits(self.limits)
            .build()
    }

    pub(super) fn client(&self, name: Arc<str>, supervision: SupervisedDiscovery) -> Client {
        let client = Client::with_discovery(name, supervision)
            .policy(Arc::clone(&self.policy))
            .trust(Arc::clone(&self.trust))
            .retry_budget(self.retry_budget);
        match &self.observer {
            Some(observer) => client.observer(Arc::clone(observer)).build(),
            None => client.build(),
        }
    }
}

/// Puts a [`Servers`] together. What is set here holds for each server of the set.
#[must_use]
pub struct ServersBuilder(Settings);

impl ServersBuilder {
    pub(super) fn new() -> Self {
        Self(Settings {
            policy: Arc::new(ConservativePolicy::default()),
            trust: Arc::new(Trust::NONE),
            observer: None,
            retry_budget: RetryBudget::default(),
            supervision: Supervision::default(),
            limits: ListLimits::default(),
            starts_at_once: 16,
        })
    }

    /// Who decides whether a lost call may run again. Default: [`ConservativePolicy`].
    pub fn policy(mut self, policy: impl ReplayPolicy + 'static) -> Self {
        self.0.policy = Arc::new(policy);
        self
    }

    /// Whether a server and the workspace are trusted, read live and asked with the server's name and
    /// identity. Default: none is.
    pub fn trust(mut self, trust: impl TrustSource + 'static) -> Self {
        self.0.trust = Arc::new(trust);
        self
    }

    /// Who is told what happens. Default: nobody.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.0.observer = Some(Arc::new(observer));
        self
    }

    /// How many replays each server gets over all invocations. Default: [`RetryBudget::default`].
    pub fn retry_budget(mut self, budget: RetryBudget) -> Self {
        self.0.retry_budget = budget;
        self
    }

    /// How each server is watched over and brought back. Default: [`Supervision::default`].
    pub fn supervision(mut self, supervision: Supervision) -> Self {
        self.0.supervision = supervision;
        self
    }

    /// What a listing of a server may cost. Default: [`ListLimits::default`].
    pub fn limits(mut self, limits: ListLimits) -> Self {
        self.0.limits = limits;
        self
    }

    /// How many servers are started or reached at the same time, at least one; the others wait. Default: 16.
    pub fn starts_at_once(mut self, starts: usize) -> Self {
        self.0.starts_at_once = starts.max(1);
        self
    }

    /// The set, without servers.
    pub fn build(self) -> Servers {
        Servers::with(self.0)
    }
}

impl fmt::Debug for ServersBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServersBuilder")
            .field("starts_at_once", &self.0.starts_at_once)
            .finish_non_exhaustive()
    }
}
