//! Calls in flight while processes are killed, stopped and continued, pipes fill up and are closed, and
//! sockets are reset or go silent: at random moments, over real processes and real sockets. The ledger that
//! the server keeps on disk is the judge.
//!
//! A round is drawn from its seed: what is called, what happens, and after how many microseconds. What comes
//! first then is up to the machine, so a seed that failed once fails again only often.
//! `CHAOS_SEED=7 ROUNDS=1` plays one round.
#![cfg(target_os = "linux")]

#[path = "../bench/mod.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod bench;
mod judge;
#[path = "../bench/numbers.rs"]
mod numbers;
mod pipes;
mod relay;
mod round;
#[path = "../bench/server.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod server;
mod sockets;

use std::{collections::BTreeMap, env, sync::Arc};

use judge::Told;
use mcp_tool::{
    ConservativePolicy, Outcome,
    replay_policy::{Decision, policy_fn},
};
use round::{Harm, PipeHarm, Round};
use tokio::sync::Semaphore;

const ROUNDS: u64 = 1_000;
/// What `end` tells apart.
const ENDS: usize = 5;
/// Client and server at the same time.
const AT_ONCE: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_thousand_rounds_of_chaos_every_claim_is_true_and_nothing_is_left_running() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let (first, rounds) = (number("CHAOS_SEED").unwrap_or(1), number("ROUNDS").unwrap_or(ROUNDS));
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let played = (first..first + rounds).map(|seed| {
        let room = room.clone();
        tokio::spawn(async move {
            let _permit = room.acquire_owned().await.expect("nobody closes it");
            let round = Round::draw(seed);
            let harm = round.harm;
            let play = async move {
                match harm {
                    Harm::Pipe(harm) => pipes::play(&round, harm, ConservativePolicy::default()).await,
                    Harm::Socket(harm) => sockets::play(&round, harm).await,
                }
            };
            let played = tokio::spawn(play).await;
            let (told, complaints) = played.unwrap_or_else(|panic| (Vec::new(), vec![panic.to_string()]));
            (seed, harm, told, complaints)
        })
    });
    let (mut bad, mut struck) = (Vec::new(), BTreeMap::<String, u32>::new());
    let mut ends = BTreeMap::<&str, u32>::new();
    for round in played.collect::<Vec<_>>() {
        let (seed, harm, told, complaints) = round.await.expect("a panic was caught");
        for told in &told {
            *ends.entry(end(told)).or_default() += 1;
        }
        *struck.entry(format!("{harm:?}")).or_default() += 1;
        if !complaints.is_empty() {
            bad.push(format!("CHAOS_SEED={seed} ROUNDS=1: {harm:?}\n  {}", complaints.join("\n  ")));
        }
    }
    println!("{rounds} rounds: {struck:?}\ncalls: {ends:?}");
    assert!(bad.is_empty(), "{} of {rounds} rounds:\n{}", bad.len(), bad.join("\n"));
    let all = struck.len() == round::HARMS && ends.len() == ENDS;
    assert!(rounds < ROUNDS || all, "every harm was done, and calls ended in every way");
}

/// How a call ended.
fn end(told: &Told) -> &'static str {
    match told {
        Ok(answer) if answer.earlier_unknown => "answered after a replay",
        Ok(answer) if answer.unsent > 0 => "delivered after a try that proved unsent",
        Ok(_) => "answered",
        Err(error) if error.outcome() == Outcome::NotExecuted => "not executed",
        Err(_) => "unknown",
    }
}

#[tokio::test]
async fn a_policy_that_allows_everything_is_found_out() {
    let killed = (1..).map(Round::draw).filter(|round| matches!(round.harm, Harm::Pipe(PipeHarm::Kill)));
    for round in killed.take(200) {
        let (_, complaints) = pipes::play(&round, PipeHarm::Kill, policy_fn(|_| Decision::Replay)).await;
        if complaints.iter().any(|complaint| complaint.contains("a duplicate without permission")) {
            return;
        }
    }
    panic!("no write ran twice in 200 rounds");
}
