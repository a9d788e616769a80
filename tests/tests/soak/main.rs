//! A host's life in fast motion: servers over processes and HTTP that are killed, stopped, edited, removed
//! and brought back at random while calls of all kinds go on. The ledgers judge what was claimed of the
//! calls, and what the host's process holds must not grow.
//!
//! `SOAK_SECONDS` says how long (default: 300), `SOAK_SEED` which chances (default: 1):
//! `cargo test -p mcp-tool-tests --test soak -- --ignored --nocapture`.
#![cfg(target_os = "linux")]

#[path = "../bench/mod.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod bench;
mod calls;
mod chaos;
mod definition;
mod figures;
mod fleet;
mod holdings;
mod judge;
#[path = "../bench/numbers.rs"]
mod numbers;
#[path = "../bench/server.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod server;

use std::{
    env,
    time::{Duration, Instant},
};

use crate::{
    calls::Callers, figures::Figures, fleet::Fleet, holdings::Holdings, judge::judge, numbers::Numbers,
};

/// Storms before what the process holds is noted: allocators and pools grow to the size that they need.
const WARM_UP: usize = 2;
const LEAST_ROUNDS: usize = WARM_UP + 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs for as long as it is told to; CI runs it beside the mutants"]
async fn soak() {
    let (seconds, seed) = (number("SOAK_SECONDS", 300), number("SOAK_SEED", 1));
    println!("{seconds} s from seed {seed}");
    let began = Instant::now();
    let length = Duration::from_secs(seconds);
    let storm = (length / 8).clamp(Duration::from_secs(2), Duration::from_secs(30));
    let mut numbers = Numbers(seed);

    // What the process opens once, it opens for a first fleet.
    let figures = Figures::default();
    let mut first = Fleet::new(figures.clone());
    first.calm_down(&mut numbers).await;
    first.end().await;
    let empty = Holdings::settled(None).await;
    println!("without servers: {empty}");

    let mut fleet = Fleet::new(figures.clone());
    let (mut usual, mut round) = (None, 0);
    fleet.calm_down(&mut numbers).await;
    while began.elapsed() < length || round < LEAST_ROUNDS {
        round += 1;
        let end = Instant::now() + storm;
        let callers = Callers::start(fleet.servers(), numbers.below(u64::MAX), end);
        let deeds = fleet.storm(&mut numbers, end).await;
        let claims = callers.join().await;
        fleet.calm_down(&mut numbers).await;
        let verdict = judge(&claims, fleet.take_retired().await, figures.take_attempts());
        let holdings = Holdings::settled(usual.as_ref()).await;
        println!("round {round} ({:>4} s): {deeds} deeds, {verdict}; {holdings}", began.elapsed().as_secs());
        if round == WARM_UP {
            usual = Some(holdings);
        }
    }
    println!("{figures}");
    fleet.end().await;
    let left = Holdings::settled(Some(&empty)).await;
    println!("without servers again: {left}");
}

fn number(variable: &str, default: u64) -> u64 {
    env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}
