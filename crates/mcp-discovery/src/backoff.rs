use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

/// How often a server is tried, and how long to wait between the tries.
///
/// The first try is made at once. Each pause is twice the one before, up to a cap, and is shortened by
/// a random part of up to one half, so that clients that lost the same server do not return in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    retries: u32,
    base: Duration,
    cap: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self { retries: 5, base: Duration::from_millis(100), cap: Duration::from_secs(5) }
    }
}

impl Reconnect {
    /// How many more tries follow the first one. Default: 5.
    #[must_use]
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// The longest possible first pause. Default: 100 ms.
    #[must_use]
    pub fn with_base(mut self, base: Duration) -> Self {
        self.base = base;
        self
    }

    /// The longest pause. Default: 5 s.
    #[must_use]
    pub fn with_cap(mut self, cap: Duration) -> Self {
        self.cap = cap;
        self
    }

    /// The pauses before the further tries.
    pub(crate) fn pauses(self) -> impl Iterator<Item = Duration> {
        (0..self.retries).map(move |tries| pause(self.base, self.cap, tries, random()))
    }
}

/// The pause after this many others: twice the one before, up to a cap, and shortened by up to one half.
/// `spread` is random, in `0.0..1.0`.
pub(crate) fn pause(base: Duration, cap: Duration, others: u32, spread: f64) -> Duration {
    let longest = base.saturating_mul(2_u32.saturating_pow(others)).min(cap);
    longest / 2 + (longest / 2).mul_f64(spread)
}

/// A random number in `0.0..1.0`, good enough to spread clients: std seeds its hashers randomly.
pub(crate) fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_cap_and_lose_at_most_half() {
        let longest = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000];
        for _ in 0..100 {
            let pauses: Vec<_> = Reconnect::default().with_retries(8).pauses().collect();
            assert_eq!(pauses.len(), longest.len());
            for (pause, longest) in pauses.iter().zip(longest.map(Duration::from_millis)) {
                assert!((longest / 2..=longest).contains(pause), "{pause:?} of {longest:?}");
            }
        }
    }

    #[test]
    fn pauses_differ() {
        let mut first = Reconnect::default().pauses();
        let mut second = Reconnect::default().pauses();
        assert!((0..5).any(|_| first.next() != second.next()));
    }

    #[test]
    fn extreme_settings_do_not_panic() {
        let extreme = Reconnect::default().with_base(Duration::MAX).with_cap(Duration::MAX);
        assert!(extreme.with_retries(100).pauses().all(|pause| pause >= Duration::MAX / 4));
        let none = Reconnect::default().with_base(Duration::ZERO);
        assert!(none.pauses().all(|pause| pause.is_zero()));
        assert_eq!(Reconnect::default().with_retries(0).pauses().count(), 0);
    }
}
