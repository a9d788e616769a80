use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use metrics::{counter, gauge, histogram};
use tokio::time::Instant;

use crate::{Happening, InvocationInfo, Observer, Outcome, Reason, machine::AttemptKind};

/// An [`Observer`] that counts through the [`metrics`] facade, for whichever recorder the program
/// installed. One can serve many clients.
///
/// docs/observability.md lists what it counts. Labels hold the host's name of the server and stable
/// codes, never a tool's name or anything else that a server or a caller chose.
#[derive(Default)]
pub struct MetricsObserver {
    /// When the invocations under way that lost an attempt did so first.
    losses: Mutex<HashMap<u64, Instant>>,
}

impl MetricsObserver {
    /// Counts from now on.
    pub fn new() -> Self {
        Self::default()
    }

    fn losses(&self) -> MutexGuard<'_, HashMap<u64, Instant>> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for MetricsObserver {
    fn observe(&self, invocation: &InvocationInfo<'_>, happening: &Happening) {
        let server = invocation.server.to_owned();
        match *happening {
            Happening::Listed { connection, tools, quarantined, .. } => {
                counter!("mcp_reconnects_total", "server" => server.clone()).absolute(connection.get() - 1);
                gauge!("mcp_tools", "server" => server.clone()).set(as_f64(tools));
                gauge!("mcp_quarantined_tools", "server" => server).set(as_f64(quarantined));
            }
            Happening::Attempting { kind: AttemptKind::Resend, .. } => {
                counter!("mcp_first_deliveries_total", "server" => server).increment(1);
            }
            Happening::Attempting { .. } | Happening::Decided { .. } => {}
            Happening::Failed { .. } => {
                self.losses().entry(invocation.id).or_insert_with(Instant::now);
            }
            Happening::Ended { outcome, reason, attempts, replays } => {
                let outcome = outcome.map_or("completed", Outcome::code);
                let reason = reason.map_or("none", Reason::code);
                counter!("mcp_calls_total", "server" => server.clone(), "outcome" => outcome, "reason" => reason)
                    .increment(1);
                counter!("mcp_attempts_total", "server" => server.clone()).increment(attempts.into());
                counter!("mcp_replays_total", "server" => server.clone()).increment(replays.into());
                let lost = self.losses().remove(&invocation.id);
                if let Some(lost) = lost {
                    histogram!("mcp_recovery_seconds", "server" => server, "outcome" => outcome)
                        .record(lost.elapsed().as_secs_f64());
                }
            }
        }
    }
}

/// Exact for as many tools as fit into any memory.
#[expect(clippy::cast_precision_loss, reason = "a count of tools is far below 2^53")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

impl fmt::Debug for MetricsObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsObserver").finish_non_exhaustive()
    }
}
