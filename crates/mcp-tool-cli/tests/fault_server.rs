//! The fault server from outside: a raw client over pipes, with the ledger as the judge.
#![cfg(unix)]

#[path = "fault_server/driver.rs"]
mod driver;

#[path = "fault_server/answers.rs"]
mod answers;
#[path = "fault_server/forms.rs"]
mod forms;
#[path = "fault_server/handshakes.rs"]
mod handshakes;
#[path = "fault_server/lists.rs"]
mod lists;
#[path = "fault_server/processes.rs"]
mod processes;
#[path = "fault_server/streams.rs"]
mod streams;

use mcp_tool_cli::fault_server::{Scenario, ToolSpec};
use serde_json::{Value, json};

/// The exit code of a death that a scenario asked for.
const DEATH: Option<i32> = Some(70);

fn put() -> Scenario {
    Scenario::new().tool(ToolSpec::new("put").annotations(json!({"idempotentHint": true})))
}

/// The good answer to a call.
fn answer(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "put ran"}], "isError": false}})
}

fn text_of(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap()
}
