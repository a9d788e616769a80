use std::time::Duration;

use super::{
    Supervision,
    machine::{Action, Verdict},
};
use crate::{ConnectionId, Generation};

/// A connection that is not known to have ended, and what speaks for it and against it.
///
/// Pure, as [`Machine`](super::machine::Machine) is, of which it is a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Link {
    connection: ConnectionId,
    /// Its first listing.
    first: Generation,
    since: Duration,
    /// Silence on it means something.
    is_probed: bool,
    /// When anything was answered last.
    heard: Duration,
    /// When it was probed last.
    asked: Duration,
    probing: bool,
    /// It is to be probed now.
    urgent: bool,
    /// One failure is enough.
    doubted: bool,
    /// How many probes in a row have failed.
    failures: u32,
    failed_at: Duration,
}

impl Link {
    pub(super) fn new(connection: ConnectionId, first: Generation, now: Duration, is_probed: bool) -> Self {
        Self {
            connection,
            first,
            since: now,
            is_probed,
            heard: now,
            asked: now,
            probing: false,
            urgent: false,
            doubted: false,
            failures: 0,
            failed_at: now,
        }
    }

    pub(super) fn connection(&self) -> ConnectionId {
        self.connection
    }

    pub(super) fn since(&self) -> Duration {
        self.since
    }

    pub(super) fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// A listing was answered.
    pub(super) fn answered(&mut self, now: Duration) {
        self.heard = now;
        self.is_alive();
    }

    /// The latest answer to a call came at this time.
    pub(super) fn heard(&mut self, at: Duration) {
        if at > self.heard {
            self.heard = at;
            if at >= self.failed_at {
                self.is_alive();
            }
        }
    }

    /// Something is wrong with a call over this generation; the connection is not silent, though.
    pub(super) fn suspected(&mut self, generation: Generation) {
        self.urgent |= self.first <= generation;
    }

    /// A call over this generation has had no answer. One more silence is enough.
    pub(super) fn doubted(&mut self, generation: Generation) {
        self.suspected(generation);
        self.doubted |= self.first <= generation;
    }

    /// The machine was asleep.
    pub(super) fn slept(&mut self) {
        self.urgent = true;
    }

    /// A probe is over. `enough`: how many failures in a row speak against the connection.
    pub(super) fn probed(&mut self, now: Duration, verdict: Verdict, enough: u32) {
        self.probing = false;
        // An answer to a call that came meanwhile tells more than the silence.
        let was_heard = self.heard > self.asked;
        match verdict {
            Verdict::Alive => self.answered(now),
            Verdict::Failed if was_heard => self.is_alive(),
            Verdict::Failed | Verdict::Gone => {
                let is_definite = self.doubted || verdict == Verdict::Gone;
                self.failures = if is_definite { enough } else { self.failures.saturating_add(1) };
                self.failed_at = now;
                self.doubted = false;
            }
        }
    }

    /// What is to be done now. `busy`: calls are in flight.
    pub(super) fn due(&mut self, now: Duration, busy: bool, rules: &Supervision) -> Option<Action> {
        if self.failures >= rules.probe_failures && !busy {
            return Some(Action::GiveUp(self.connection));
        }
        if self.wakes_at(rules).is_none_or(|due| due > now) {
            return None;
        }
        self.probing = true;
        self.urgent = false;
        self.asked = now;
        Some(Action::Probe(self.connection))
    }

    /// When it is to be probed.
    pub(super) fn wakes_at(&self, rules: &Supervision) -> Option<Duration> {
        match rules.probe_interval {
            _ if self.probing || !self.is_probed => None,
            _ if self.urgent => Some(Duration::ZERO),
            interval => Some(self.heard.max(self.asked).saturating_add(interval?)),
        }
    }

    fn is_alive(&mut self) {
        self.failures = 0;
        self.doubted = false;
    }
}
