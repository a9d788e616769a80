use std::time::Duration;

/// How a server is watched over, and how it is brought back.
///
/// What is measured is time while the machine is awake. All defaults are for a server that somebody works
/// with interactively.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Supervision {
    pub(super) probe_interval: Option<Duration>,
    pub(super) probe_timeout: Duration,
    pub(super) probe_failures: u32,
    pub(super) start_timeout: Duration,
    pub(super) base: Duration,
    pub(super) cap: Duration,
    pub(super) min_uptime: Duration,
    pub(super) starts: u32,
    pub(super) window: Duration,
    pub(super) parked_interval: Duration,
    pub(super) settle: Duration,
}

impl Default for Supervision {
    fn default() -> Self {
        Self {
            probe_interval: Some(Duration::from_secs(30)),
            probe_timeout: Duration::from_secs(10),
            probe_failures: 3,
            start_timeout: Duration::from_secs(120),
            base: Duration::from_millis(500),
            cap: Duration::from_secs(60),
            min_uptime: Duration::from_secs(10),
            starts: 10,
            window: Duration::from_secs(600),
            parked_interval: Duration::from_secs(300),
            settle: Duration::from_millis(250),
        }
    }
}

impl Supervision {
    /// How long a connection may be quiet before it is probed. Default: 30 s. A call or a listing that is
    /// answered counts as well as a probe does.
    #[must_use]
    pub fn with_probe_interval(mut self, interval: Duration) -> Self {
        self.probe_interval = Some(interval);
        self
    }

    /// Probes no connection because it is quiet; only where something casts doubt on it.
    #[must_use]
    pub fn without_regular_probes(mut self) -> Self {
        self.probe_interval = None;
        self
    }

    /// How long the answer to a probe may take. Default: 10 s.
    #[must_use]
    pub fn with_probe_timeout(mut self, timeout: Duration) -> Self {
        self.probe_timeout = timeout;
        self
    }

    /// How many probes in a row must fail before the connection is given up. Default: 3; at least 1. After
    /// a call that timed out, one is enough.
    #[must_use]
    pub fn with_probe_failures(mut self, failures: u32) -> Self {
        self.probe_failures = failures.max(1);
        self
    }

    /// How long a start may take, handshake included, before it is given up. Default: 2 minutes. The
    /// connectors of `mcp-transport` have a shorter bound of their own; this one is for those that have none.
    #[must_use]
    pub fn with_start_timeout(mut self, timeout: Duration) -> Self {
        self.start_timeout = timeout;
        self
    }

    /// The longest possible pause before the second try to bring a server back; the first is made at once.
    /// Each pause is twice the one before, and is shortened by a random part of up to one half. Default:
    /// 500 ms.
    #[must_use]
    pub fn with_base(mut self, base: Duration) -> Self {
        self.base = base;
        self
    }

    /// The longest pause between two tries. Default: 60 s.
    #[must_use]
    pub fn with_cap(mut self, cap: Duration) -> Self {
        self.cap = cap;
        self
    }

    /// How long a server must stay up before it counts as brought back: one that ends sooner is brought
    /// back with growing pauses, as if it had not come up at all. Default: 10 s.
    #[must_use]
    pub fn with_min_uptime(mut self, uptime: Duration) -> Self {
        self.min_uptime = uptime;
        self
    }

    /// How often the server may be started within how long a time, whoever causes it. Default: 10 times in
    /// 10 minutes; at least once. A server that has used this up is parked: see
    /// [`DownReason::Parked`](crate::DownReason::Parked).
    #[must_use]
    pub fn with_start_budget(mut self, starts: u32, window: Duration) -> Self {
        self.starts = starts.max(1);
        self.window = window;
        self
    }

    /// How long after the last try a server is tried again that is parked or misconfigured. Default:
    /// 5 minutes. Never more often than the start budget allows.
    #[must_use]
    pub fn with_parked_interval(mut self, interval: Duration) -> Self {
        self.parked_interval = interval;
        self
    }

    /// For how long changes of the tools are gathered: after the first `tools/list_changed` of a burst
    /// before the server is asked for its tools, and before a difference is told. Default: 250 ms.
    #[must_use]
    pub fn with_settling_time(mut self, settle: Duration) -> Self {
        self.settle = settle;
        self
    }
}
