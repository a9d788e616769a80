//! What rmcp does over stdio that must not reach a caller: the checklist for every upgrade of rmcp.
//!
//! Each test runs one hazard twice over real processes, with the fault server's ledger as the judge:
//! with stock rmcp (`TokioChildProcess`, no remedy), where the hazard must still show, and through this
//! project, where it must not. A test that fails on its first half says that this rmcp no longer has the
//! hazard: then the remedy named there may be dropped, and with it the test. A test that fails on its
//! second half says that a remedy does not reach any more.
//!
//! | hazard | what rmcp does | what is done about it |
//! |---|---|---|
//! | R3, R4 | one error for a call that never left and for one that ran | the line transport counts what was accepted, per request |
//! | R5 | lists from a cache after the server has gone | lists by a request of our own, past the cache |
//! | R6 | follows cursors without bound | own walk, with limits |
//! | R7 | answers `input_required` with further `tools/call` | one request per attempt, the answer handed on |
//! | R9 | drops a line over 16 MiB, and the call hangs | own line reader, which fails that call |
//! | R13 | no timeout | idle timeout and deadline |
//! | R14 | a dropped call cancels, and nobody learns that it ran | the outcome is told to an observer |
//! | R15 | ends the direct child only | a process group |
//! | R17 | one malformed tool fails the page | tools are read one by one |
//! | R18 | closing waits for a blocked write | closing seals, and ends the group within bounds |
//! | R19 | its timeout waits for a blocked write | a deadline of our own, outside |
//! | R20 | calls in flight fail only after the child has ended | the end of its output ends them |
//! | R22 | the id of a task is lost | the raw answer is read |
//! | R23 | an abandoned call is sent later | the seal |
//!
//! R1, R2, R8, R10, R11, R16, R21 and R24 are about HTTP. The other half of R19, a call that races the end of
//! rmcp's loop and hangs, strikes once in a thousand times and is not shown here.
#![cfg(target_os = "linux")]

#[path = "../bench/mod.rs"]
mod bench;
mod endings;
mod evidence;
#[path = "../bench/invocations.rs"]
mod invocations;
mod listings;
mod raw;
mod replies;
mod standstill;
mod waiting;

use std::time::Duration;

/// On a paused clock: so long that whoever has not come back by then never will.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// On a paused clock this passes once every task waits for something else.
const A_MOMENT: Duration = Duration::from_millis(1);

/// The first half of each test: fails when a remedy has nothing to remedy any more.
#[track_caller]
fn shows(hazard: &str, still: bool) {
    assert!(still, "{hazard}: this rmcp no longer does that, so the remedy may now be dropped");
}
