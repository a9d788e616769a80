//! Servers that are watched over, as processes and over HTTP.
#![cfg(target_os = "linux")]

#[path = "../bench/mod.rs"]
mod bench;
mod http;
mod processes;
#[path = "../bench/server.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod server;

use std::time::Duration;

use mcp_tool::{
    Connector,
    mcp_discovery::{ConnectionId, DownReason, State, Status, SupervisedDiscovery, Supervision},
};
use mcp_tool_cli::fault_server::{Scenario, ToolSpec};
use serde_json::json;
use tokio::time::timeout;

use crate::bench::process::PATIENCE;

fn put() -> Scenario {
    Scenario::new().tool(ToolSpec::new("put").annotations(json!({"idempotentHint": true})))
}

/// Everything sooner than by default.
fn rules() -> Supervision {
    Supervision::default()
        .with_probe_interval(Duration::from_millis(200))
        .with_probe_timeout(Duration::from_millis(300))
        .with_base(Duration::from_millis(20))
        .with_min_uptime(Duration::from_secs(2))
}

fn supervised(connector: impl Connector + 'static, rules: Supervision) -> SupervisedDiscovery {
    SupervisedDiscovery::builder(connector).with_supervision(rules).build()
}

/// Waits until the server is like this.
async fn reaches(server: &SupervisedDiscovery, wanted: impl Fn(&Status) -> bool) -> Status {
    let mut watch = server.watch();
    let status = timeout(PATIENCE, watch.wait_for(wanted)).await;
    status.unwrap_or_else(|_| panic!("waited in vain: {:?}", server.status())).unwrap().clone()
}

/// Waits until the server is ready over another connection than this.
async fn replaced(server: &SupervisedDiscovery, before: ConnectionId) -> Status {
    reaches(server, |status| status.state == State::Ready && status.connection > Some(before)).await
}

fn is_down(status: &Status, reason: DownReason) -> bool {
    matches!(status.state, State::Down { reason: why, .. } if why == reason)
}
