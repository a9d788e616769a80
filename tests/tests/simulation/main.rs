//! What becomes of calls when everything goes wrong that can, at any moment and at any byte: played in
//! memory, on a paused clock, from a seed.
//!
//! A [`schedule`] says what callers do, how the server lists its tools, and what goes wrong in each of its
//! [`life`]s. [`play`] lets the shipped client, discovery and line transport go through it and records what
//! happens; [`judge`] knows nothing of their code, only what must be true.
//!
//! `SEED=7 SCHEDULES=1` plays one schedule and prints it. Over HTTP nothing is simulated: its client opens
//! sockets itself, and a socket does not stand still with tokio's clock.

mod bugs;
mod campaign;
mod connector;
mod coverage;
mod judge;
mod life;
#[path = "../bench/numbers.rs"]
mod numbers;
mod pipe;
mod play;
mod schedule;
mod server;
mod shrink;
mod tool;
mod wire;
mod world;

use std::env;

use campaign::{campaign, try_out};
use play::Rig;
use schedule::Schedule;

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn whatever_happens_what_callers_are_told_is_true() {
    let (seed, schedules) = (number("SEED", 1), number("SCHEDULES", 10_000));
    if schedules == 1 {
        let schedule = Schedule::draw(seed);
        let (record, complaints) = try_out(&schedule, &Rig::shipped());
        println!("{schedule:#?}\n{record}\n{complaints:#?}");
    }
    match campaign(seed..seed + schedules, &Rig::shipped()) {
        Ok(coverage) => {
            println!("{schedules} schedules\n{coverage}");
            let missing = coverage.missing();
            assert!(schedules < 10_000 || missing.is_empty(), "never seen: {missing:?}");
        }
        Err(reports) => panic!("{reports}"),
    }
}

#[test]
fn a_seed_always_plays_the_same() {
    for seed in 1..=500 {
        let trace = || try_out(&Schedule::draw(seed), &Rig::shipped()).0.to_string();
        assert_eq!(trace(), trace(), "seed {seed}");
    }
}
