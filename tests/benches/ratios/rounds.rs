//! Measures several sides in turn, in short rounds, so that whatever else the machine does meets all of
//! them; what is reported is the median of the rounds' ratios.

use std::{
    fmt,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// How long one side runs in one round, if it can be that short: most turns pass without an interruption.
const TURN: Duration = Duration::from_millis(2);
/// The most of one sitting.
const ROUNDS: usize = 50;
const LEAST_ROUNDS: usize = 2;

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// How often all sides are made anew, since where their memory lies decides a part of their speed.
    pub(crate) sittings: u32,
    /// For about how long, if that is enough for two rounds of each sitting.
    pub(crate) budget: Duration,
}

/// One side of a comparison: does its work this many times.
pub(crate) type Side<'a> = Box<dyn FnMut(u32) + 'a>;

/// What one side costs, each time.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// Of the whole process, and of no other.
    cpu: Duration,
}

/// What one side costs against the first.
pub(crate) struct Outcome {
    /// The median over the rounds.
    pub(crate) wall: Duration,
    /// The least over the rounds: what nothing else has disturbed.
    pub(crate) fastest: Duration,
    pub(crate) ratio: Ratio,
    pub(crate) cpu_ratio: Ratio,
}

/// The median of the rounds' ratios, between their quartiles.
pub(crate) struct Ratio {
    low: f64,
    pub(crate) median: f64,
    high: f64,
}

impl Ratio {
    pub(crate) fn of(mut ratios: Vec<f64>) -> Self {
        ratios.sort_by(f64::total_cmp);
        let at = |quarters: usize| ratios[(ratios.len() - 1) * quarters / 4];
        Self { low: at(1), median: at(2), high: at(3) }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, median, high } = self;
        f.pad(&format!("{median:.3} ({low:.2}-{high:.2})"))
    }
}

/// Compares every side with the first one.
pub(crate) fn compare<'a, const N: usize>(effort: Effort, sides: impl Fn() -> [Side<'a>; N]) -> [Outcome; N] {
    let mut costs = [const { Vec::new() }; N];
    for _ in 0..effort.sittings {
        let begun = Instant::now();
        let mut sides = sides();
        let times = sides.each_mut().map(times_per_turn);
        for round in 0..ROUNDS {
            if round >= LEAST_ROUNDS && begun.elapsed() > effort.budget / effort.sittings {
                break;
            }
            // Each side comes first, second and last as often as any other.
            for turn in 0..N {
                let side = (round + turn) % N;
                // Untimed: the side before it has left its own code and data in the caches. A long turn
                // does not mind.
                sides[side](times[side] / 8);
                costs[side].push(cost_of(&mut sides[side], times[side]));
            }
        }
    }
    costs.each_ref().map(|side| outcome(side, &costs[0]))
}

/// Also warms the side up.
fn times_per_turn(side: &mut Side<'_>) -> u32 {
    let mut times = 1;
    while cost_of(side, times).wall * times < TURN {
        times *= 2;
    }
    times
}

fn cost_of(side: &mut Side<'_>, times: u32) -> Cost {
    let (wall, cpu) = (Instant::now(), cpu_time());
    side(times);
    Cost { wall: wall.elapsed() / times, cpu: (cpu_time() - cpu) / times }
}

pub(crate) fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("time is not negative")
}

fn outcome(side: &[Cost], base: &[Cost]) -> Outcome {
    let mut walls: Vec<Duration> = side.iter().map(|cost| cost.wall).collect();
    walls.sort();
    let ratio = |of: fn(&Cost) -> Duration| {
        let pairs = side.iter().zip(base);
        Ratio::of(pairs.map(|(side, base)| of(side).div_duration_f64(of(base))).collect())
    };
    Outcome {
        wall: walls[walls.len() / 2],
        fastest: walls[0],
        ratio: ratio(|cost| cost.wall),
        cpu_ratio: ratio(|cost| cost.cpu),
    }
}
