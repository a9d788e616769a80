//! The fuzz targets (fuzz/), fed by a mutator of bytes with a fixed seed: what libFuzzer does for hours, for
//! a few seconds, and the same in every run. `FUZZ_FACTOR=100` does it a hundred times as long.
//!
//! Besides what each target promises, nothing that it was fed stays in memory.
#![cfg(target_os = "linux")]

mod mutator;
#[path = "../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "it is a crate of its own for libFuzzer")]
mod targets;

use std::{env, fs, panic::catch_unwind, path::Path};

use self::mutator::Mutator;

/// No longer than this is an input.
const LONGEST: usize = 8 * 1024;
/// How much memory a target may take beyond what its first inputs took.
const GROWTH_KIB: u64 = 64 * 1024;

fn fuzz(target: &str, runs: u64, feed: fn(&[u8])) {
    let factor = env::var("FUZZ_FACTOR").map_or(1, |factor| factor.parse().expect("a number"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let seeds = fs::read_dir(folder.join("seeds").join(target)).unwrap();
    let mut seeds: Vec<_> = seeds.map(|seed| seed.unwrap().path()).collect();
    seeds.sort();
    let seeds: Vec<_> = seeds.iter().map(|seed| fs::read(seed).unwrap()).collect();
    let words = fs::read_to_string(folder.join("words")).unwrap();
    let mut mutator = Mutator::new(&seeds, &words, LONGEST);
    let try_one = |input: &[u8]| {
        if catch_unwind(|| feed(input)).is_err() {
            panic!("{target} is broken by {:?}", input.escape_ascii().to_string());
        }
    };
    seeds.iter().for_each(|seed| try_one(seed));
    let mut before = None;
    for run in 0..runs * factor {
        try_one(&mutator.next());
        if run == runs / 4 {
            before = Some(resident());
        }
    }
    let grown = resident().saturating_sub(before.unwrap_or_default());
    println!("{target}: {} inputs, grown by {grown} KiB", runs * factor + seeds.len() as u64);
    assert!(grown <= GROWTH_KIB, "{target} has grown by {grown} KiB");
}

/// What this process holds in memory, in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn whatever_a_server_writes_during_a_call_the_call_ends_and_the_next_one_is_answered() {
    fuzz("frames", 2_000, targets::frames);
}

#[test]
fn whatever_a_server_answers_to_a_handshake_it_ends() {
    fuzz("handshake", 2_000, targets::handshake);
}

#[test]
fn whatever_a_server_lists_the_listing_ends_and_can_be_read() {
    fuzz("listing", 1_000, targets::listing);
}

#[test]
fn whatever_an_event_stream_holds_the_call_ends_with_it() {
    fuzz("events", 1_000, targets::events);
}

#[test]
fn whatever_a_configuration_says_it_is_read_or_refused() {
    fuzz("config", 20_000, targets::config);
}
