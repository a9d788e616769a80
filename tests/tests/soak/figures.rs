//! How the calls of a soak ended.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use mcp_tool::{Happening, InvocationInfo, Observer};

/// Counts. Clones are the same counts.
#[derive(Clone, Default)]
pub(crate) struct Figures(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    ends: BTreeMap<String, u64>,
    replays: u64,
    /// Since they were taken last.
    attempts: u64,
}

impl Figures {
    /// The attempts of all calls that have ended since this was asked last.
    pub(crate) fn take_attempts(&self) -> u64 {
        std::mem::take(&mut self.0.lock().unwrap().attempts)
    }
}

impl Observer for Figures {
    fn observe(&self, _: &InvocationInfo<'_>, happening: &Happening) {
        let &Happening::Ended { outcome, reason, attempts, replays, .. } = happening else { return };
        let end = match (outcome, reason) {
            (Some(outcome), Some(reason)) => format!("{}, {}", outcome.code(), reason.code()),
            _ => "answered".to_owned(),
        };
        let mut counts = self.0.lock().unwrap();
        *counts.ends.entry(end).or_default() += 1;
        counts.replays += u64::from(replays);
        counts.attempts += u64::from(attempts);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.0.lock().unwrap();
        writeln!(f, "{} replays; calls by their end:", counts.replays)?;
        counts.ends.iter().try_for_each(|(end, calls)| writeln!(f, "  {calls:>8}  {end}"))
    }
}
