//! The contract suite on the transports of this crate, and on transports that are wrong on purpose: each
//! of those breaks one clause, and the suite names that one.
//!
//! A [`ScriptedTransport`](mcp_transport::ScriptedTransport) is not among them: its far end is a script.

mod child;
mod closures;
mod http;
mod lines;
mod queue;
mod streams;
mod wrong;

use mcp_transport::contract::{Behaviour, Report};

#[track_caller]
fn is_kept(report: &Report, skipped: &[Behaviour]) {
    assert_eq!(report.skipped(), skipped, "{report}");
    assert!(report.violations().is_empty(), "{report}");
}

#[track_caller]
fn violates(report: &Report, codes: &[&str]) {
    let found: Vec<_> = report.violations().iter().map(|violation| violation.code()).collect();
    assert_eq!(found, codes, "{report}");
}
