//! Pages that fail, and tools that are not what they should be.

use std::time::Duration;

use mcp_tool::{
    Client, Discovery, Outcome, ToolCall, Trust,
    mcp_discovery::{DiscoveryErrorKind, ListLimits, QuarantineReason, Warning},
};
use mcp_tool_cli::fault_server::{Fault, PageFault, Scenario, ToolSpec, Tools};
use serde_json::json;

use crate::{ERAS, bench::Bench, discovery, end, names};

fn four() -> Scenario {
    Scenario::new().tools(Tools::new().with_numbered("t", 4)).page_size(2)
}

fn idempotent(name: &str) -> ToolSpec {
    ToolSpec::new(name).annotations(json!({"idempotentHint": true}))
}

#[tokio::test]
async fn a_page_that_fails_once_is_asked_for_again() {
    for (page, era) in [(1, ERAS[0]), (2, ERAS[0]), (2, ERAS[1])] {
        let bench = Bench::new(&format!("page-{page}-fails-once-{era:?}"));
        let discovery = discovery(&bench, &four().era(era).on_page(page, PageFault::FailOnce));
        let catalog = discovery.catalog().await.unwrap();
        assert_eq!(names(&catalog), ["t0", "t1", "t2", "t3"]);
        let record = bench.record();
        assert_eq!((record.lists().len(), record.starts().len()), (3, 1));
        end(discovery, &bench).await;
    }
}

#[tokio::test]
async fn a_page_that_fails_twice_leaves_no_partial_list() {
    for (page, asked) in [(1, 2), (2, 3)] {
        let bench = Bench::new(&format!("page-{page}-fails"));
        let discovery = discovery(&bench, &four().on_page(page, PageFault::FailAlways));
        let error = discovery.catalog().await.unwrap_err();
        assert_eq!(error.kind(), DiscoveryErrorKind::Listing);
        let record = bench.record();
        assert_eq!((record.lists().len(), record.starts().len()), (asked, 1));
        bench.all_gone().await;
    }
}

#[tokio::test]
async fn a_page_that_hangs_is_given_up() {
    let bench = Bench::new("page-hangs");
    let limits = ListLimits::default().with_page_time(Duration::from_millis(50));
    let discovery = discovery(&bench, &four().on_page(2, PageFault::Hang)).with_limits(limits);
    assert_eq!(discovery.catalog().await.unwrap_err().kind(), DiscoveryErrorKind::TooSlow);
    bench.all_gone().await;
}

#[tokio::test]
async fn a_server_that_dies_on_the_first_page_is_started_again() {
    let bench = Bench::new("dies-on-page-1");
    let discovery = discovery(&bench, &four().on_page(1, PageFault::Die).from_start(2, four()));
    assert_eq!(discovery.catalog().await.unwrap().len(), 4);
    assert_eq!(bench.record().starts().len(), 2);
    end(discovery, &bench).await;
}

#[tokio::test]
async fn a_server_that_dies_on_a_later_page_gives_no_list_and_the_next_asks_anew() {
    let bench = Bench::new("dies-on-page-2");
    let discovery = discovery(&bench, &four().on_page(2, PageFault::Die).from_start(2, four()));
    assert_eq!(discovery.catalog().await.unwrap_err().kind(), DiscoveryErrorKind::Listing);
    assert_eq!(bench.record().starts().len(), 1);
    assert_eq!(names(&discovery.catalog().await.unwrap()), ["t0", "t1", "t2", "t3"]);
    assert_eq!(bench.record().starts().len(), 2);
    end(discovery, &bench).await;
}

#[tokio::test]
async fn without_a_complete_list_nothing_is_replayed() {
    let bench = Bench::new("replay-needs-a-list");
    let tools = Tools::new().with(idempotent("put")).with_numbered("t", 3);
    let scenario = || Scenario::new().tools(tools.clone()).page_size(2);
    let dies = scenario().on_page(2, PageFault::FailAlways);
    let discovery = discovery(&bench, &scenario().on_call(1, Fault::DieAfterCommit).from_start(2, dies));
    let client = Client::with_discovery("bench", discovery.clone()).trust(Trust::BOTH).build();
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unavailable"));
    let record = bench.record();
    assert_eq!((record.executions().len(), record.starts().len()), (1, 2));
    end(discovery, &bench).await;
}

#[tokio::test]
async fn a_name_that_is_listed_twice_merges_or_is_never_replayed() {
    for (second, code) in [(idempotent("put"), None), (ToolSpec::new("put"), Some("ambiguous_tool"))] {
        let bench = Bench::new(&format!("twice-{code:?}"));
        let tools = Tools::new().with(idempotent("put")).with(ToolSpec::new("get")).with(second);
        let scenario = Scenario::new().tools(tools).page_size(2).on_call(1, Fault::DieAfterCommit);
        let discovery = discovery(&bench, &scenario);
        let catalog = discovery.catalog().await.unwrap();
        assert_eq!(names(&catalog), ["put", "get"]);
        let warned = matches!(catalog.warnings(), [Warning::AmbiguousTool(name)] if name.as_str() == "put");
        assert_eq!((warned, catalog.tool("put").unwrap().is_ambiguous()), (code.is_some(), code.is_some()));

        let client = Client::with_discovery("bench", discovery.clone()).trust(Trust::BOTH).build();
        let outcome = client.call(ToolCall::new("put")).await;
        assert_eq!(outcome.err().map(|error| error.reason().code()), code);
        assert_eq!(bench.record().executions().len(), if code.is_some() { 1 } else { 2 });
        end(discovery, &bench).await;
    }
}

#[tokio::test]
async fn a_malformed_tool_is_set_aside_and_the_others_can_be_called() {
    let bench = Bench::new("malformed");
    let no_schema = ToolSpec::new("no_schema").raw(json!({"name": "no_schema"}));
    let no_name = ToolSpec::new("no_name").raw(json!({"inputSchema": {"type": "object"}}));
    let no_object = ToolSpec::new("no_object").raw(json!("no_object"));
    let odd = idempotent("odd").field("outputSchema", json!(7)).field("title", json!([]));
    let tools = [no_schema, idempotent("put"), no_name, no_object, odd].into_iter().collect();
    let discovery = discovery(&bench, &Scenario::new().tools(tools));
    let catalog = discovery.catalog().await.unwrap();
    assert_eq!(names(&catalog), ["put", "odd"]);
    let set_aside: Vec<_> = catalog.quarantined().iter().map(|tool| (tool.index(), tool.reason())).collect();
    let reasons = [
        (0, QuarantineReason::SchemaMissing),
        (2, QuarantineReason::NameMissing),
        (3, QuarantineReason::NotAnObject),
    ];
    assert_eq!(set_aside, reasons);
    let client = Client::with_discovery("bench", discovery.clone()).build();
    client.call(ToolCall::new("put")).await.unwrap();
    client.call(ToolCall::new("odd")).await.unwrap();
    let error = client.call(ToolCall::new("no_schema")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "unknown_tool"));
    assert_eq!(bench.record().received().len(), 2);
    end(discovery, &bench).await;
}
