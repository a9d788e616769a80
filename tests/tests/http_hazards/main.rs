//! The checklist for every upgrade of rmcp: what it does that must not reach a caller, and where that is
//! tested. Here: over Streamable HTTP.
//!
//! Each test runs one hazard twice over real sockets, with the fault server's ledger as the judge: with
//! stock rmcp, where the hazard must still show, and through this project, where it must not. A test that
//! fails on its first half says that this rmcp no longer has the hazard: then the remedy named there may
//! be dropped, and with it the test. A test that fails on its second half says that a remedy does not
//! reach any more.
//!
//! | hazard | what rmcp does | what is done about it | here | tests/hazards |
//! |---|---|---|---|---|
//! | R1 | posts a call again in a session of its own making after a 404 | its recovery is off, a request is posted once | `resends` | |
//! | R2 | answers the other calls of that session with an error of its own | the same | `resends` | |
//! | R3, R4 | one error for a call that never left and for one that ran | the body that was asked for or not, per request | `evidence` | over pipes |
//! | R5 | lists from a cache after the server has gone | lists by a request of our own, past the cache | `listings` | over pipes |
//! | R6 | follows cursors without bound | own walk, with limits; knows no transport | | over pipes |
//! | R7 | answers `input_required` with further POSTs | one request per attempt, the answer handed on | `resends` | over pipes |
//! | R8 | resumes an event stream without bound | own resumption, bounded in total | `streams` | |
//! | R9 | an event over its limit looks like a closed transport | the size is told to the call | `streams` | the lost line |
//! | R10 | a layer posts again after a 401 | a request is posted once | `resends` | |
//! | R11 | 307 and 308 are followed | redirects are off | `resends` | |
//! | R13 | no timeout | idle timeout and deadline | `waiting` | over pipes |
//! | R14 | a dropped call cancels, and nobody learns that it ran | the outcome is told to an observer | `waiting` | over pipes |
//! | R15 | ends the direct child only | a process group | | there |
//! | R16 | an idle connection that is used again breaks, which proves nothing | no idle connections | `evidence` | |
//! | R17 | one malformed tool fails the page | tools are read one by one | `listings` | over pipes |
//! | R18 | closing waits for a blocked write | closing seals, and ends the group within bounds | | there |
//! | R19 | its timeout waits for a blocked write | a deadline of our own, outside | | there |
//! | R20 | calls in flight fail only after the child has ended | the end of its output ends them | | there |
//! | R21 | "transport closed" leaves the peer open; a wrapper around the transport is told of a send that never was | evidence is taken below rmcp's worker | `evidence` | |
//! | R22 | the id of a task is lost | the raw answer is read | `streams` | over pipes |
//! | R23 | an abandoned call that waited is sent later | no queue, and the seal | `waiting` | in a full pipe |
//! | R24 | the first calls on a connection lack the headers for their parameters | a listing before every call, also before a replay | `listings` | |
//!
//! There is no R12. R19 does not show over HTTP: there rmcp's own timeout fires, as the test of R21 sees;
//! a call that races the end of rmcp's loop and hangs strikes once in a thousand times and is shown
//! nowhere. What needs neither a process nor a socket is tested once more in mcp-transport, on a link in
//! memory (`tests/hazards.rs` there).

mod evidence;
#[path = "../bench/invocations.rs"]
mod invocations;
mod layer;
mod listings;
mod raw;
mod relay;
mod resends;
#[path = "../bench/server.rs"]
mod server;
mod streams;
mod waiting;

use mcp_tool::ToolCall;
use mcp_tool_cli::fault_server::{Record, Scenario, ToolSpec};
use serde_json::json;

/// The first half of each test: fails when a remedy has nothing to remedy any more.
#[track_caller]
fn shows(hazard: &str, still: bool) {
    assert!(still, "{hazard}: this rmcp no longer does that, so the remedy may now be dropped");
}

/// A server with one tool.
fn put() -> Scenario {
    Scenario::new().tool(ToolSpec::new("put").annotations(json!({"idempotentHint": true})))
}

fn call(key: &str) -> ToolCall {
    ToolCall::new("put").with_argument("key", key)
}

/// How many calls were read, and how many ran.
fn counts(record: &Record) -> (usize, usize) {
    (record.received().len(), record.executions().len())
}

/// The calls that ran, by their keys.
fn keys(record: &Record) -> Vec<String> {
    let executions = record.executions().into_iter();
    executions.map(|execution| execution.key.as_str().unwrap_or_default().to_owned()).collect()
}
