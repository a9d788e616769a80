//! Servers that mean harm: each takes what it can of this side's memory and time. For each of them
//!
//! - a call under a deadline, or a listing, ends with a definite outcome;
//! - the memory of this process stays within a bound: each case runs in a process of its own, whose peak
//!   the kernel tells;
//! - another server goes on answering calls, on the one thread that both share.
//!
//! The peers are `hostile-server` over stdio, and sockets of the test's own over HTTP.
#![cfg(target_os = "linux")]

mod alone;
#[path = "../bench/mod.rs"]
#[expect(dead_code, reason = "the server next door needs few of its parts")]
mod bench;
mod healthy;
mod http;
mod listings;
mod peer;
mod stdio;
mod streams;
mod tokens;
