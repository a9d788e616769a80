//! What is to be done about one server, and when: pure, without a clock, a task, a handle or randomness.
//!
//! Events come in with the time, actions come out when they are asked for. The monitor does what it is told
//! here; whoever connects asks [`Machine::permit`] first, which is the one place where starts are counted.

use std::time::Duration;

use super::{DownReason, Supervision, link::Link, starts::Starts};
use crate::{ConnectionId, DiscoveryErrorKind, Generation, backoff};

/// A time, counted from any one moment, and a random number in `0.0..1.0` for a pause that begins then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) at: Duration,
    pub(super) spread: f64,
}

/// Something that has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Somebody connects or reconnects explicitly.
    Asked,
    /// Nobody does any more.
    Served,
    /// The server is stopped until somebody asks.
    Stopped,
    /// A flight has brought a listing. `probed`: silence on this connection means something.
    Listed { connection: ConnectionId, generation: Generation, probed: bool },
    /// A try of a flight came to nothing.
    Failed(DownReason),
    /// The flight that was permitted a start is over, however it ended.
    Landed,
    /// Our own try is over.
    Tried,
    /// This connection has ended, or was given up.
    Lost { connection: ConnectionId, reason: DownReason },
    /// The latest answer to a call over the present connection came at this time.
    Heard(Duration),
    /// A probe of this connection is over.
    Probed { connection: ConnectionId, verdict: Verdict },
    /// A call over this generation was lost, or came back with something that is no answer.
    Suspected(Generation),
    /// A call over this generation has had no answer at all.
    Doubted(Generation),
    /// The machine has slept.
    Slept,
    /// The server has asked to be left alone until this time.
    Held(Duration),
    /// The connector reaches another server now.
    Edited,
}

/// What a probe tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Something of the server answered.
    Alive,
    Failed,
    /// The server itself says that it does not know this session any more.
    Gone,
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Probe(ConnectionId),
    /// Give this connection up, unless a call is in flight on it; [`Event::Lost`] follows if it was.
    GiveUp(ConnectionId),
    /// Bring the server back, by one start; [`Event::Tried`] follows.
    Try,
}

/// The state without its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Connecting,
    Ready,
    Degraded,
    Down { reason: DownReason, next_try: Option<Duration> },
    Stopped,
}

/// All that is known of one server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Machine {
    rules: Supervision,
    starts: Starts,
    stopped: bool,
    link: Option<Link>,
    /// The latest connection that was lost.
    gone: Option<ConnectionId>,
    /// Why it is down, parked or not.
    reason: DownReason,
    next_try: Option<Duration>,
    /// Until when the server has asked to be left alone.
    held: Duration,
    /// Starts since the server stayed up for long enough.
    tries: u32,
    /// The budget was used up, and the server has not stayed up since.
    parked: bool,
    /// A flight was permitted a start and is not over.
    starting: bool,
    /// Why its latest try failed.
    failed: Option<DownReason>,
    /// Our own try is not over.
    trying: bool,
    /// The next start is the one that somebody asked for.
    asked: bool,
    /// The next start is ours.
    ours: bool,
    /// One start of ours is permitted beyond the budget.
    pardoned: bool,
}

impl Machine {
    pub(super) fn new(rules: Supervision) -> Self {
        Self {
            rules,
            starts: Starts::new(rules.starts, rules.window),
            stopped: false,
            link: None,
            gone: None,
            reason: DownReason::NotStarted,
            next_try: None,
            held: Duration::ZERO,
            tries: 0,
            parked: false,
            starting: false,
            failed: None,
            trying: false,
            asked: false,
            ours: false,
            pardoned: false,
        }
    }

    pub(super) fn condition(&self) -> Condition {
        match &self.link {
            _ if self.stopped => Condition::Stopped,
            Some(link) if link.is_failing() => Condition::Degraded,
            Some(_) => Condition::Ready,
            None if self.asked || self.starting || self.trying => Condition::Connecting,
            None if self.parked => Condition::Down { reason: DownReason::Parked, next_try: self.next_try },
            None => Condition::Down { reason: self.reason, next_try: self.next_try },
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    pub(super) fn has_link(&self) -> bool {
        self.link.is_some()
    }

    /// Asked directly before every start, whoever causes it. Permits it and counts it, or says why not.
    ///
    /// A start that somebody asked for explicitly is permitted always; our own within the budget, and once
    /// beyond it when the server has become another. That of a call is permitted within the budget, too;
    /// beyond it a call may start a server whose last start lies back by the minimum uptime, so that calls
    /// bring a parked server back, but cannot make it spin.
    pub(super) fn permit(&mut self, now: Moment) -> Result<(), DiscoveryErrorKind> {
        if self.stopped {
            return Err(DiscoveryErrorKind::Stopped);
        }
        // There was room for ours when it was due, or it was pardoned; whoever takes that room takes both.
        let is_promised = self.asked || self.ours;
        (self.asked, self.ours, self.pardoned) = (false, false, false);
        if !is_promised && (self.parked || !self.starts.has_room(now.at)) {
            if !self.parked {
                self.fall(now, self.reason);
            }
            let spaced = |last: Duration| last.saturating_add(self.rules.min_uptime) <= now.at;
            if !self.starts.last().is_none_or(spaced) {
                return Err(DiscoveryErrorKind::Parked);
            }
        }
        self.starts.record(now.at);
        self.tries = self.tries.saturating_add(1);
        self.starting = true;
        self.failed = None;
        Ok(())
    }

    /// Whether a flight whose try failed may make another.
    pub(super) fn permits_another(&self, now: Moment) -> bool {
        !self.stopped && !self.parked && self.starts.has_room(now.at)
    }

    pub(super) fn on(&mut self, now: Moment, event: Event) {
        match event {
            Event::Asked => {
                self.stopped = false;
                self.parked = false;
                self.tries = 0;
                self.asked = true;
            }
            Event::Served => self.asked = false,
            Event::Stopped => self.stop(),
            Event::Listed { connection, generation, probed } => {
                if !self.stopped && Some(connection) > self.gone {
                    self.listed(now.at, connection, generation, probed);
                }
            }
            Event::Failed(reason) => self.failed = Some(reason),
            Event::Landed => self.landed(now),
            Event::Tried => self.tried(now),
            Event::Lost { connection, reason } => self.lost(now, connection, reason),
            Event::Heard(at) => self.link.iter_mut().for_each(|link| link.heard(at)),
            Event::Probed { connection, verdict } => {
                let enough = self.rules.probe_failures;
                let probed = self.link.iter_mut().filter(|link| link.connection() == connection);
                probed.for_each(|link| link.probed(now.at, verdict, enough));
            }
            Event::Suspected(generation) => {
                self.link.iter_mut().for_each(|link| link.suspected(generation));
            }
            Event::Doubted(generation) => self.link.iter_mut().for_each(|link| link.doubted(generation)),
            Event::Slept => self.link.iter_mut().for_each(Link::slept),
            Event::Held(until) => self.held_until(until),
            Event::Edited => self.edited(now.at),
        }
    }

    /// What is to be done now. `busy`: calls are in flight on the present connection.
    pub(super) fn due(&mut self, now: Moment, busy: bool) -> Option<Action> {
        if self.stopped {
            return None;
        }
        match &mut self.link {
            Some(_) if self.held > now.at => None,
            Some(link) => link.due(now.at, busy, &self.rules),
            None => self.due_try(now),
        }
    }

    /// When [`due`](Self::due) is to be asked next, if nothing happens before.
    pub(super) fn wakes_at(&self) -> Option<Duration> {
        match &self.link {
            _ if self.stopped => None,
            Some(link) => link.wakes_at(&self.rules).map(|at| at.max(self.held)),
            None if self.starting || self.trying => None,
            None => self.next_try,
        }
    }

    fn due_try(&mut self, now: Moment) -> Option<Action> {
        if self.starting || self.trying || self.next_try.is_none_or(|next| next > now.at) {
            return None;
        }
        if !self.starts.has_room(now.at) && !self.pardoned {
            // Calls have used it up since.
            self.fall(now, self.reason);
            return None;
        }
        self.trying = true;
        self.ours = true;
        Some(Action::Try)
    }

    fn stop(&mut self) {
        self.stopped = true;
        self.gone = self.link.take().map(|link| link.connection()).max(self.gone);
        self.reason = DownReason::NotStarted;
        self.next_try = None;
        self.failed = None;
        self.asked = false;
        self.ours = false;
        self.pardoned = false;
    }

    fn listed(&mut self, now: Duration, connection: ConnectionId, generation: Generation, probed: bool) {
        self.failed = None;
        self.next_try = None;
        match self.link.as_mut().filter(|link| link.connection() == connection) {
            Some(link) => link.answered(now),
            None => self.link = Some(Link::new(connection, generation, now, probed)),
        }
    }

    fn landed(&mut self, now: Moment) {
        self.starting = false;
        let failed = self.failed.take();
        if self.stopped || self.link.is_some() {
            return;
        }
        match failed {
            Some(reason) => self.fall(now, reason),
            // Everybody who waited has left. A server that was never there is not started unasked.
            None if self.reason == DownReason::NotStarted => {}
            None => self.fall(now, self.reason),
        }
    }

    fn tried(&mut self, now: Moment) {
        self.trying = false;
        self.ours = false;
        let is_due = self.next_try.is_some_and(|next| next <= now.at);
        if !self.stopped && !self.starting && self.link.is_none() && is_due {
            // It came to no start. The next one is not made at once, whatever kept this from it.
            self.tries = self.tries.max(1);
            self.fall(now, self.reason);
        }
    }

    fn lost(&mut self, now: Moment, connection: ConnectionId, reason: DownReason) {
        let Some(link) = self.link.filter(|link| link.connection() == connection) else {
            return;
        };
        self.link = None;
        self.gone = Some(connection);
        if now.at.saturating_sub(link.since()) >= self.rules.min_uptime {
            self.tries = 0;
            self.parked = false;
        }
        self.fall(now, reason);
    }

    /// Neither a probe nor a start is due before that.
    fn held_until(&mut self, until: Duration) {
        self.held = until;
        self.next_try = self.next_try.map(|next| next.max(until));
    }

    fn edited(&mut self, now: Duration) {
        self.held = Duration::ZERO;
        if self.link.is_some() {
            return;
        }
        self.parked = false;
        self.tries = 0;
        if self.next_try.is_some() {
            // It has one start for being another. Spaced, lest one that is another all the time spins.
            let rested = self.starts.last().map(|last| last.saturating_add(self.rules.min_uptime));
            let from = if self.starts.has_room(now) { now } else { rested.unwrap_or_default() };
            self.next_try = Some(from.max(now));
            self.pardoned = true;
        }
    }

    /// The server is down: decides when it is tried next.
    fn fall(&mut self, now: Moment, reason: DownReason) {
        self.parked |= !self.starts.has_room(now.at);
        let slowly = now.at.saturating_add(self.rules.parked_interval);
        let next = match reason {
            _ if self.parked => slowly.max(self.starts.has_room_from().unwrap_or_default()),
            DownReason::Misconfigured => slowly,
            _ => {
                let pause = self.tries.checked_sub(1).map_or(Duration::ZERO, |tries| {
                    backoff::pause(self.rules.base, self.rules.cap, tries, now.spread)
                });
                now.at.saturating_add(pause)
            }
        };
        self.reason = reason;
        self.next_try = Some(next.max(self.held));
    }
}

#[cfg(test)]
mod tests;
