use tokio::time::Instant;

use crate::{ConnectionId, Generation};

/// How one supervised server is, at one moment.
///
/// It follows the facts, whoever brought them about: a call that connects, a rebuild for a replay, the
/// supervision itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The state.
    pub state: State,
    /// When this state began.
    pub since: Instant,
    /// The latest listing; none before the first. Also told while the server is down.
    pub generation: Option<Generation>,
    /// The connection that it came over.
    pub connection: Option<ConnectionId>,
    /// How many tools of that listing can be called.
    pub tools: usize,
    /// How many of its tools were set aside.
    pub quarantined: usize,
    /// How many times the server was started again, whoever caused it and whatever came of it.
    pub restarts: u64,
}

/// What state a supervised server is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A connection is being made, or listed for the first time.
    Connecting,
    /// There is a connection, and nothing speaks against it.
    Ready,
    /// There is a connection whose last probe failed. It is kept while calls are in flight on it, and
    /// until enough probes have failed.
    Degraded,
    /// There is no connection.
    Down {
        /// Why not.
        reason: DownReason,
        /// When the server is tried next without being asked; none when it is not.
        next_try: Option<Instant>,
    },
    /// The server was stopped, and stays so until it is connected or reconnected explicitly.
    Stopped,
}

/// Why a supervised server is down, as a stable word without content.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DownReason {
    /// Nobody has asked for it yet.
    NotStarted,
    /// The connection ended by itself: the process died, or its stream was closed.
    ConnectionLost,
    /// The connection was given up: its probes went unanswered, or its session was lost.
    Unresponsive,
    /// The last try to start or reach it failed.
    NotReached,
    /// Its command does not exist or may not be run, or no TLS connection comes about. Nothing but somebody
    /// who corrects that can help, so it is tried again slowly.
    Misconfigured,
    /// It was reached, and its tools could not be listed.
    NotListed,
    /// It was started too often: the start budget is used up. It is tried again slowly until it stays up.
    /// An explicit connect or reconnect, and another identity of the connector, end this at once. A call
    /// gets one try, if the last start was at least the minimum uptime ago.
    Parked,
}

impl DownReason {
    /// The stable snake_case code of this reason, for logs and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::ConnectionLost => "connection_lost",
            Self::Unresponsive => "unresponsive",
            Self::NotReached => "not_reached",
            Self::Misconfigured => "misconfigured",
            Self::NotListed => "not_listed",
            Self::Parked => "parked",
        }
    }
}

impl State {
    /// The stable snake_case code of this state, for logs and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Down { .. } => "down",
            Self::Stopped => "stopped",
        }
    }

    /// The same state but for the time of the next try.
    pub(super) fn is_same_as(self, other: Self) -> bool {
        match (self, other) {
            (Self::Down { reason, .. }, Self::Down { reason: other, .. }) => reason == other,
            _ => self == other,
        }
    }
}
