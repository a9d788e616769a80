use std::fs;

use mcp_tool::{
    Client, ConservativePolicy, Outcome, PagingDiscovery, StdioConnector, ToolCall, Trust,
    mcp_transport::Fence,
};
use mcp_tool_cli::fault_server::{Fault, Scenario, ToolSpec, When};
use serde_json::{Value, json};

use crate::bench::{Bench, process::runs};

fn put() -> ToolCall {
    ToolCall::new("put").with_argument("key", "the call")
}

/// The first server leaves its call to a child of its own, which does the work when told to, and dies.
fn works_late(bench: &Bench, annotations: Value) -> Scenario {
    let healthy = Scenario::new().tool(ToolSpec::new("put").annotations(annotations));
    let when = When::Trigger(bench.file("work"));
    healthy.clone().on_call(1, Fault::DieAndCommitLate { when }).from_start(2, healthy)
}

fn client(connector: StdioConnector) -> (Client, PagingDiscovery<StdioConnector>) {
    let discovery = PagingDiscovery::new(connector);
    let client = Client::with_discovery("bench", discovery.clone())
        .policy(ConservativePolicy::default().requiring_fence())
        .trust(Trust::BOTH)
        .build();
    (client, discovery)
}

#[tokio::test]
async fn what_an_old_server_has_started_is_gone_before_a_write_is_replayed() {
    let bench = Bench::new("late");
    let scenario = works_late(&bench, json!({ "idempotentHint": true }));
    let (client, discovery) = client(bench.connector(&scenario));
    let answer = client.call(put()).await.unwrap();
    assert_eq!((answer.attempts, answer.replays), (2, 1));
    // The worker waits for this file no more.
    assert!(!runs(bench.record().pids()[1]));
    fs::write(bench.file("work"), "").unwrap();
    discovery.close().await;
    bench.all_gone().await;
    assert!(bench.file("work").exists());
    assert_eq!(bench.record().executions().len(), 1, "only by the replay");
}

#[tokio::test]
async fn without_a_fence_a_write_is_not_replayed_where_the_operator_wants_one() {
    for (annotations, replays) in
        [(json!({ "idempotentHint": true }), 0), (json!({ "readOnlyHint": true }), 1)]
    {
        let bench = Bench::new("relay");
        let scenario = works_late(&bench, annotations);
        let (client, discovery) = client(bench.connector(&scenario).relay());
        match client.call(put()).await {
            Ok(answer) => assert_eq!((answer.replays, replays), (1, 1)),
            Err(error) => {
                let told = (error.outcome(), error.reason().code(), replays);
                assert_eq!(told, (Outcome::Unknown, "not_fenced", 0));
            }
        }
        assert_eq!(bench.record().executions().len(), replays);
        assert_eq!(discovery.close().await, Fence::None);
        bench.all_gone().await;
    }
}
