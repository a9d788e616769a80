//! Makes a schedule that fails as small as it can be and still fail.

use mcp_tool::Trust;

use crate::{
    life::{Connect, Era, Life},
    schedule::{Call, LONG, Schedule},
};

/// Leaves out one thing after the other, for as long as what is left still fails.
pub(crate) fn shrink(schedule: &Schedule, fails: impl Fn(&Schedule) -> bool) -> Schedule {
    let mut smallest = schedule.clone();
    while let Some(smaller) = smaller(&smallest).into_iter().find(&fails) {
        smallest = smaller;
    }
    smallest
}

/// Every schedule with one thing less.
fn smaller(schedule: &Schedule) -> Vec<Schedule> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Schedule)| {
        let mut changed = schedule.clone();
        change(&mut changed);
        if changed != *schedule {
            all.push(changed);
        }
    };
    for call in (0..schedule.calls.len()).filter(|_| schedule.calls.len() > 1) {
        with(&|schedule| _ = schedule.calls.remove(call));
    }
    for life in (0..schedule.lives.len()).filter(|_| schedule.lives.len() > 1) {
        with(&|schedule| _ = schedule.lives.remove(life));
    }
    for life in 0..schedule.lives.len() {
        for change in LIFE {
            with(&|schedule| change(&mut schedule.lives[life]));
        }
        for noise in 0..schedule.lives[life].noise.len() {
            with(&|schedule| _ = schedule.lives[life].noise.remove(noise));
        }
        for call in 0..schedule.lives[life].calls.len() {
            with(&|schedule| schedule.lives[life].calls[call] = None);
        }
    }
    for call in 0..schedule.calls.len() {
        for change in CALL {
            with(&|schedule| change(&mut schedule.calls[call]));
        }
    }
    for flip in 0..schedule.flips.len() {
        with(&|schedule| _ = schedule.flips.remove(flip));
    }
    with(&|schedule| schedule.moves.clear());
    with(&|schedule| schedule.trust = Trust::BOTH);
    all
}

const LIFE: [fn(&mut Life); 9] = [
    |life| life.connect = Connect::Works,
    |life| life.era = Era::Legacy,
    |life| life.listing = None,
    |life| life.requests = None,
    |life| life.write = usize::MAX,
    |life| life.answers = None,
    |life| life.dies = None,
    |life| life.pace = 10,
    |life| _ = life.calls.pop_if(|call| call.is_none()),
];

const CALL: [fn(&mut Call); 6] = [
    |call| call.cancelled = None,
    |call| call.dropped = None,
    |call| call.looked_up = None,
    |call| call.deadline = LONG,
    |call| call.idle = LONG / 2,
    |call| call.text = 0,
];
