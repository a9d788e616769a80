//! Processes from their start to their end: whatever happens, nothing is left.
#![cfg(target_os = "linux")]

#[path = "../bench/mod.rs"]
mod bench;
mod connecting;
mod diagnostics;
mod ending;

use mcp_tool::StdioConnector;
use mcp_tool_cli::fault_server::{Scenario, ToolSpec};
use serde_json::json;

use bench::Bench;

fn put() -> Scenario {
    Scenario::new().tool(ToolSpec::new("put").annotations(json!({"idempotentHint": true})))
}

/// Starts the fault server by a shell that does something first. `$0` and `$@` are the server.
fn after(bench: &Bench, script: &str, scenario: &Scenario) -> StdioConnector {
    StdioConnector::new("/bin/sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_fault-server")])
        .args(scenario.to_args(bench.ledger.path()))
}
