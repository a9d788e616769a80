use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// By how much the wall clock must have run ahead. Shorter than the shortest idle timeout of anything
/// between a client and a server, longer than a correction by a time service.
const JUMP: Duration = Duration::from_secs(5);

/// Both clocks at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) wall: SystemTime,
    /// Stands still while the machine sleeps, on Linux and macOS.
    pub(crate) monotonic: Instant,
}

impl Reading {
    fn now() -> Self {
        Self { wall: SystemTime::now(), monotonic: Instant::now() }
    }
}

/// Notices that the machine has slept: a connection from before that may be dead, and nothing has told.
#[derive(Clone)]
pub(crate) struct Sleep {
    read: Arc<dyn Fn() -> Reading + Send + Sync>,
    last: Arc<Mutex<Reading>>,
}

impl Sleep {
    pub(crate) fn new() -> Self {
        Self::with_clocks(Reading::now)
    }

    pub(crate) fn with_clocks(read: impl Fn() -> Reading + Send + Sync + 'static) -> Self {
        Self { last: Arc::new(Mutex::new(read())), read: Arc::new(read) }
    }

    /// Whether the wall clock has jumped since this was asked last. A clock that was put back, or put
    /// right by little, is no sleep.
    pub(crate) fn has_passed(&self) -> bool {
        let now = (self.read)();
        let last = std::mem::replace(&mut *self.last.lock().unwrap_or_else(PoisonError::into_inner), now);
        let wall = now.wall.duration_since(last.wall).unwrap_or_default();
        wall.saturating_sub(now.monotonic.saturating_duration_since(last.monotonic)) >= JUMP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told after the clocks went on by so many milliseconds each.
    fn told(wall: i64, monotonic: u64) -> bool {
        let start = Reading::now();
        let then = Reading {
            wall: match u64::try_from(wall) {
                Ok(forward) => start.wall + Duration::from_millis(forward),
                Err(_) => start.wall - Duration::from_millis(wall.unsigned_abs()),
            },
            monotonic: start.monotonic + Duration::from_millis(monotonic),
        };
        let readings = Mutex::new([then, start].to_vec());
        let sleep = Sleep::with_clocks(move || readings.lock().unwrap().pop().unwrap_or(then));
        let told = sleep.has_passed();
        assert!(!sleep.has_passed(), "told once");
        told
    }

    #[test]
    fn a_wall_clock_that_ran_ahead_of_the_monotonic_one_tells_of_a_sleep() {
        assert!(told(5_000, 0) && told(3_600_000, 1_000) && told(65_000, 60_000));
        assert!(!told(0, 0) && !told(4_999, 0) && !told(60_000, 60_000) && !told(64_999, 60_000));
        assert!(!told(-3_600_000, 1_000) && !told(1_000, 3_600_000));
    }
}
