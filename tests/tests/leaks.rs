//! Many connections, one after the other. A program of its own, since it counts what the whole process holds.
#![cfg(target_os = "linux")]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use mcp_tool::{Client, StdioConnector, ToolCall, Transport, mcp_transport::Fence};
use mcp_tool_cli::fault_server::{Ledger, Scenario, ToolSpec};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_connections_leave_neither_processes_nor_descriptors() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("leaks-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let ledger = Ledger::new(folder.join("leaks.jsonl"));
    let scenario = Scenario::new().tool(ToolSpec::new("put"));
    let connector =
        StdioConnector::new(env!("CARGO_BIN_EXE_fault-server")).args(scenario.to_args(ledger.path()));
    // What the runtime opens once, it opens for the first.
    connector.start().await.unwrap().close().await;
    let before = entries("/proc/self/fd");

    for _ in 0..100 {
        let transport = connector.start().await.unwrap();
        transport.call_tool(ToolCall::new("put")).await.unwrap();
        assert_eq!(transport.close().await, Fence::GroupGone);
    }
    for _ in 0..100 {
        let client = Client::builder("bench", connector.clone()).build();
        client.call(ToolCall::new("put")).await.unwrap();
        drop(client);
    }

    let record = ledger.read().unwrap();
    assert_eq!((record.starts().len(), record.executions().len()), (201, 200));
    // Reaped, too: a zombie would still be there.
    until("the servers to be gone", || {
        !record.pids().iter().any(|pid| fs::exists(format!("/proc/{pid}")).unwrap())
    })
    .await;
    until("the descriptors to be closed", || entries("/proc/self/fd") <= before).await;
    fs::remove_dir_all(folder).unwrap();
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Waits for what nobody tells of: dropping a client does not wait for its server.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
