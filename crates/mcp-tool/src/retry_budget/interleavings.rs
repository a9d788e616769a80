//! Invocations that want replays at once, from several threads: in every order in which they can come.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test -p mcp-tool --lib interleavings`

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use shuttle::{Config, Runner, scheduler::DfsScheduler, thread};

use super::*;

const BURST: u32 = 1;

/// Two invocations, each of which looks first and then takes, as an invocation does.
fn invocations(take: fn(&Bucket) -> bool) {
    let bucket = Arc::new(Bucket::new(RetryBudget::new(BURST, Duration::from_secs(3_600))));
    let takers: Vec<_> = (0..2)
        .map(|_| {
            let bucket = bucket.clone();
            thread::spawn(move || bucket.has_one() && take(&bucket))
        })
        .collect();
    let taken = takers.into_iter().map(|taker| taker.join().unwrap());
    assert_eq!(taken.filter(|taken| *taken).count(), BURST as usize);
}

fn in_every_order(take: fn(&Bucket) -> bool) {
    let schedules = Runner::new(DfsScheduler::new(None, false), Config::new()).run(move || invocations(take));
    println!("{schedules} schedules, all there are");
}

#[test]
fn however_many_want_a_replay_at_once_no_more_are_had_than_there_are() {
    in_every_order(Bucket::take);
}

#[test]
fn a_replay_that_is_had_on_a_look_alone_is_found_out() {
    let looked = |bucket: &Bucket| {
        bucket.take();
        true
    };
    let found = catch_unwind(AssertUnwindSafe(|| in_every_order(looked)));
    assert!(found.is_err());
}
