//! Servers that nobody here wrote, over the transports that ship: listed, called, killed under a call,
//! called again, audited, and nothing of them left.
//!
//! They are installed by `tests/real-servers/install target/real-servers`; then
//! `cargo test -p mcp-tool-tests --test real_servers -- --ignored` runs these.
#![cfg(target_os = "linux")]

mod audit;
mod family;
mod http;
#[path = "../bench/process.rs"]
mod process;
#[path = "../bench/program.rs"]
mod program;
mod server;
mod stdio;
