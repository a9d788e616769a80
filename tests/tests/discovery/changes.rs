//! Servers that say that their tools have changed.

use mcp_tool::{Client, Discovery, Outcome, ToolCall};
use mcp_tool_cli::fault_server::{Fault, Scenario, ToolSpec, Tools, When};
use serde_json::json;

use crate::{ERAS, bench::Bench, discovery, end, names};

#[tokio::test]
async fn changed_tools_are_listed_again_over_the_same_connection() {
    for era in ERAS {
        let bench = Bench::new(&format!("changed-{era:?}"));
        let tools = Tools::new().with(ToolSpec::new("put").description("another")).with(ToolSpec::new("new"));
        let scenario = Scenario::new().era(era).tool(ToolSpec::new("put"));
        let discovery = discovery(&bench, &scenario.on_call(1, Fault::ChangeTools { tools }));
        let client = Client::with_discovery("bench", discovery.clone()).build();
        let before = client.catalog().await.unwrap();
        let seen = client.tool("put").await.unwrap().unwrap();
        client.call(ToolCall::new("put")).await.unwrap();

        // Without being asked.
        bench.wait(|record| record.lists().len() == 2).await;
        let after = discovery.catalog().await.unwrap();
        assert_eq!(names(&after), ["put", "new"], "{era:?}");
        assert!(after.generation() > before.generation());
        assert_eq!(after.connection(), before.connection());

        // Who saw the former definition does not call the latter.
        let error = seen.call(seen.to_call()).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "tool_changed"));
        let record = bench.record();
        assert_eq!((record.received().len(), record.starts().len()), (1, 1));
        end(discovery, &bench).await;
    }
}

#[tokio::test]
async fn a_restart_that_changed_a_tool_is_told_to_who_holds_the_former() {
    let bench = Bench::new("handle");
    let tool = |text| ToolSpec::new("put").description(text).annotations(json!({"idempotentHint": true}));
    let first = Scenario::new().tool(tool("former")).dies(When::Trigger(bench.file("die")));
    let discovery = discovery(&bench, &first.from_start(2, Scenario::new().tool(tool("latter"))));
    let client = Client::with_discovery("bench", discovery.clone()).build();
    let seen = client.tool("put").await.unwrap().unwrap();
    let mut events = discovery.catalog().await.unwrap().transport().events();
    seen.call(seen.to_call()).await.unwrap();
    std::fs::write(bench.file("die"), "").unwrap();
    events.next().await;
    let error = seen.call(seen.to_call()).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "tool_changed"));
    client.call(ToolCall::new("put")).await.unwrap();
    assert_eq!(bench.record().received().len(), 2);
    end(discovery, &bench).await;
}
