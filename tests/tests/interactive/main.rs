//! Calls that take long and talk back, over real processes and sockets, with the server's ledger as the
//! judge: tasks, questions of the server, continuations, cancellations.
#![cfg(target_os = "linux")]

#[path = "../bench/mod.rs"]
mod bench;
mod continuations;
#[path = "../bench/server.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod server;
mod stage;
mod tasks;

use mcp_tool_cli::fault_server::{Scenario, ToolSpec};
use serde_json::json;

/// A server with a tool that says nothing of itself, so that nothing of it is ever replayed, and with one
/// that may be.
fn tools() -> Scenario {
    let safe = ToolSpec::new("get").annotations(json!({"readOnlyHint": true}));
    Scenario::new().tool(ToolSpec::new("put")).tool(safe)
}
