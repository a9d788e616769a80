//! Stock rmcp, as a host would use it that trusts its defaults.

use mcp_tool_cli::fault_server::Scenario;
use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, ProtocolVersion},
    service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle},
    transport::TokioChildProcess,
};
use serde_json::{Map, Value};
use tokio::process::Command;

use crate::bench::Bench;

pub(crate) type Raw = RunningService<RoleClient, ()>;

/// Starts the fault server and completes the handshake of before 2026-07-28.
pub(crate) async fn connect(bench: &Bench, scenario: &Scenario) -> Raw {
    ().serve(child(bench, scenario)).await.expect("a healthy handshake")
}

/// The same with the handshake of 2026-07-28.
pub(crate) async fn discover(bench: &Bench, scenario: &Scenario) -> Raw {
    let modern = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let connected = serve_client_with_lifecycle((), child(bench, scenario), modern).await;
    connected.expect("a healthy handshake")
}

fn child(bench: &Bench, scenario: &Scenario) -> TokioChildProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fault-server"));
    command.args(scenario.to_args(bench.ledger.path()));
    TokioChildProcess::new(command).expect("a child")
}

/// A call of `put` with this key.
pub(crate) fn put(key: &str) -> CallToolRequestParams {
    CallToolRequestParams::new("put").with_arguments(Map::from_iter([("key".to_owned(), Value::from(key))]))
}

/// The same with so much text that it does not fit into a pipe.
pub(crate) fn long_put(key: &str) -> CallToolRequestParams {
    let mut params = put(key);
    params.arguments.get_or_insert_default().insert("text".to_owned(), Value::from("x".repeat(256 << 10)));
    params
}
