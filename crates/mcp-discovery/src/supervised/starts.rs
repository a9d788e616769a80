use std::{collections::VecDeque, time::Duration};

/// The budget of starts, and how much of it is used up.
///
/// Pure: times are given, counted from any one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Starts {
    budget: usize,
    window: Duration,
    /// The newest ones, oldest first; no more than the budget.
    recent: VecDeque<Duration>,
}

impl Starts {
    pub(super) fn new(budget: u32, window: Duration) -> Self {
        Self { budget: budget.max(1) as usize, window, recent: VecDeque::new() }
    }

    /// The server is started, within the budget or not.
    pub(super) fn record(&mut self, now: Duration) {
        if self.recent.len() == self.budget {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
    }

    pub(super) fn has_room(&self, now: Duration) -> bool {
        self.has_room_from().is_none_or(|from| from <= now)
    }

    /// When there is room again; none when there is room at any time.
    pub(super) fn has_room_from(&self) -> Option<Duration> {
        let oldest = self.recent.front().filter(|_| self.recent.len() == self.budget)?;
        Some(oldest.saturating_add(self.window))
    }

    pub(super) fn last(&self) -> Option<Duration> {
        self.recent.back().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn there_is_room_for_the_budget_in_any_window_and_no_more() {
        let mut starts = Starts::new(2, s(10));
        assert!(starts.has_room(s(0)) && starts.last().is_none());
        starts.record(s(0));
        starts.record(s(3));
        assert!(!starts.has_room(s(3)) && !starts.has_room(s(9)));
        assert_eq!((starts.has_room_from(), starts.last()), (Some(s(10)), Some(s(3))));
        assert!(starts.has_room(s(10)));
        starts.record(s(10));
        assert!(!starts.has_room(s(12)) && starts.has_room(s(13)));
    }

    #[test]
    fn what_is_over_the_budget_counts_too() {
        let mut starts = Starts::new(1, s(10));
        starts.record(s(0));
        starts.record(s(5));
        assert_eq!(starts.has_room_from(), Some(s(15)));
    }

    #[test]
    fn extreme_settings_do_not_panic() {
        let mut starts = Starts::new(0, Duration::MAX);
        assert!(starts.has_room(s(0)), "a budget of none is one of one");
        starts.record(s(1));
        assert!(!starts.has_room(s(u64::from(u32::MAX))));
    }
}
