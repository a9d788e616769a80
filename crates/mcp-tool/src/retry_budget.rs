use std::{fmt, time::Duration};

use tokio::time::Instant;

use crate::sync::{Mutex, PoisonError};

/// How many replays one server gets, over all invocations, so that a server that keeps failing is not
/// buried under repetitions.
///
/// The first replay of an invocation is its own and costs nothing: a server that dies under many calls
/// gets each of them once more at the most. Every further replay of an invocation takes one from a
/// bucket that all invocations of a [`Client`](crate::Client) share. When that is empty, the invocation
/// ends (`retry_budget`) and nothing reconnects on its behalf.
///
/// What was proven unsent is delivered without it: nothing reached the server then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryBudget {
    burst: u32,
    refill: Duration,
}

impl RetryBudget {
    /// A bucket that holds at most `burst` replays, is full in the beginning, and gains one each
    /// `refill` (zero: it is never empty). Default: 100, and one each second.
    pub const fn new(burst: u32, refill: Duration) -> Self {
        Self { burst, refill }
    }

    /// A bucket that is never empty: only the policy limits replays.
    pub const fn unlimited() -> Self {
        Self::new(u32::MAX, Duration::ZERO)
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::new(100, Duration::from_secs(1))
    }
}

/// What is left of a budget.
pub(crate) struct Bucket {
    budget: RetryBudget,
    filled: Mutex<Filled>,
}

struct Filled {
    replays: u32,
    /// Up to when the refilling has been counted.
    at: Instant,
}

impl Bucket {
    pub(crate) fn new(budget: RetryBudget) -> Self {
        Self { budget, filled: Mutex::new(Filled { replays: budget.burst, at: Instant::now() }) }
    }

    /// Whether a replay could be had now.
    pub(crate) fn has_one(&self) -> bool {
        self.with(|filled| filled.replays > 0)
    }

    /// Takes one replay, if there is one.
    pub(crate) fn take(&self) -> bool {
        self.with(|filled| match filled.replays.checked_sub(1) {
            Some(left) => {
                filled.replays = left;
                true
            }
            None => false,
        })
    }

    fn with<T>(&self, look: impl FnOnce(&mut Filled) -> T) -> T {
        let mut filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        filled.refill(&self.budget, Instant::now());
        look(&mut filled)
    }
}

impl Filled {
    fn refill(&mut self, budget: &RetryBudget, now: Instant) {
        let since = now.saturating_duration_since(self.at).as_nanos();
        // None: refilled faster than any clock tells.
        let Some(gained) = since.checked_div(budget.refill.as_nanos()) else {
            self.replays = budget.burst;
            return;
        };
        let missing = budget.burst - self.replays;
        match u32::try_from(gained) {
            Ok(gained) if gained < missing => {
                self.replays += gained;
                self.at += budget.refill * gained;
            }
            _ => *self = Self { replays: budget.burst, at: now },
        }
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").field("budget", &self.budget).finish_non_exhaustive()
    }
}

#[cfg(all(test, shuttle))]
mod interleavings;

#[cfg(test)]
mod tests {
    use super::*;

    /// How many can be taken at once.
    fn left(bucket: &Bucket) -> u32 {
        (0..).find(|_| !bucket.take()).unwrap_or_default()
    }

    #[tokio::test(start_paused = true)]
    async fn the_bucket_empties_and_fills_by_one_each_interval_up_to_its_size() {
        let bucket = Bucket::new(RetryBudget::new(3, Duration::from_secs(10)));
        assert!(bucket.has_one());
        assert_eq!((left(&bucket), bucket.has_one()), (3, false));
        tokio::time::advance(Duration::from_millis(9_999)).await;
        assert_eq!(left(&bucket), 0);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(left(&bucket), 1);
        // Asking in between loses none of the time that has passed.
        let mut taken = 0;
        for _ in 0..10 {
            tokio::time::advance(Duration::from_secs(4)).await;
            taken += left(&bucket);
        }
        assert_eq!(taken, 4);
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(left(&bucket), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn an_unlimited_one_is_never_empty_and_one_without_a_burst_always() {
        let unlimited = Bucket::new(RetryBudget::unlimited());
        assert!((0..1_000_000).all(|_| unlimited.take()));
        let none = Bucket::new(RetryBudget::new(0, Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert!(!none.has_one() && !none.take());
    }
}
