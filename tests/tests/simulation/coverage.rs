//! What did happen, counted: a fault that never strikes tests nothing.

use std::{collections::BTreeMap, fmt};

use mcp_tool::{Happening, machine::AttemptKind};

use crate::{
    life::{CALLS, CONNECTS, CallFault, LISTINGS, NOISES, Noise, READS, WRITES},
    schedule::Schedule,
    world::{Event, Got, Harm, Record},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Seen {
    Harm(Harm),
    Harmless(Noise),
    Struck(CallFault),
    TrustChanged,
    Resent,
    Replayed,
    Cancelled,
    /// Answered, after it was sent more than once.
    Recovered,
    /// Answered, after a first try that was proven unsent.
    Delivered,
    /// Ran twice, as declared.
    RanTwice,
    /// Calls at one time.
    Callers(usize),
    Ended(&'static str),
}

/// How often each thing was seen.
#[derive(Default)]
pub(crate) struct Coverage(BTreeMap<Seen, u64>);

/// The codes of the endings that a line-wise connection can bring.
const ENDINGS: [&str; 22] = [
    "answered",
    "ambiguous_tool",
    "cancelled",
    "contradictory_hints",
    "deadline",
    "idle_timeout",
    "invalid_reply",
    "malformed_hints",
    "not_declared_safe",
    "not_looked_up",
    "replay_limit",
    "resend_limit",
    "server_changed",
    "server_untrusted",
    "tool_changed",
    "tool_vanished",
    "trust_withdrawn",
    "unannotated",
    "unavailable",
    "unknown_tool",
    "workspace_untrusted",
    "dropped",
];

impl Coverage {
    pub(crate) fn add(&mut self, schedule: &Schedule, record: &Record) {
        let mut ran = BTreeMap::<usize, u32>::new();
        self.count(Seen::Callers(schedule.calls.len()));
        for (_, event) in &record.events {
            match event {
                Event::Hurt { by, .. } => self.count(Seen::Harm(*by)),
                Event::Harmless { noise, .. } => self.count(Seen::Harmless(*noise)),
                Event::Struck { fault, .. } => self.count(Seen::Struck(*fault)),
                Event::Trust(_) => self.count(Seen::TrustChanged),
                Event::Cancelled { .. } => self.count(Seen::Cancelled),
                Event::Dropped { .. } => self.count(Seen::Ended("dropped")),
                Event::Executed { key, .. } => *ran.entry(*key).or_default() += 1,
                Event::Told { happening: Happening::Attempting { kind, .. }, .. } => match kind {
                    AttemptKind::First => {}
                    AttemptKind::Resend => self.count(Seen::Resent),
                    AttemptKind::Replay => self.count(Seen::Replayed),
                },
                Event::Got { got, .. } => self.got(*got),
                _ => {}
            }
        }
        for _ in ran.values().filter(|times| **times > 1) {
            self.count(Seen::RanTwice);
        }
    }

    fn got(&mut self, got: Got) {
        match got {
            Got::Answer { earlier_unknown, unsent, .. } => {
                self.count(Seen::Ended("answered"));
                if earlier_unknown {
                    self.count(Seen::Recovered);
                }
                if unsent > 0 {
                    self.count(Seen::Delivered);
                }
            }
            Got::Error { code, .. } => self.count(Seen::Ended(code)),
            Got::NoTool => self.count(Seen::Ended("not_looked_up")),
            Got::Panicked => self.count(Seen::Ended("panicked")),
        }
    }

    fn count(&mut self, seen: Seen) {
        *self.0.entry(seen).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (seen, times) in other.0 {
            *self.0.entry(seen).or_default() += times;
        }
    }

    /// What should have been seen, and was not.
    pub(crate) fn missing(&self) -> Vec<Seen> {
        let harms = (CONNECTS.map(Harm::Connect).into_iter())
            .chain(LISTINGS.map(Harm::Listing))
            .chain(WRITES.map(Harm::Write))
            .chain(READS.map(Harm::Read))
            .chain([Harm::Died]);
        let others = [
            Seen::TrustChanged,
            Seen::Resent,
            Seen::Replayed,
            Seen::Cancelled,
            Seen::Recovered,
            Seen::Delivered,
            Seen::RanTwice,
        ];
        let wanted = (harms.map(Seen::Harm))
            .chain(CALLS.map(Seen::Struck))
            .chain(NOISES.map(Seen::Harmless))
            .chain((1..=4).map(Seen::Callers))
            .chain(ENDINGS.map(Seen::Ended))
            .chain(others);
        wanted.filter(|seen| !self.0.contains_key(seen)).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (seen, times) in &self.0 {
            writeln!(f, "{times:>9} {seen:?}")?;
        }
        Ok(())
    }
}
