//! What is proven of a call that was lost with its server: real processes that read exactly so much of it,
//! and the server's ledger as the judge.
#![cfg(target_os = "linux")]

#[path = "../bench/mod.rs"]
mod bench;
mod cut;
mod fence;
mod losses;
#[path = "../bench/numbers.rs"]
mod numbers;
mod tcp;
mod unread;
