//! Lists of tools that are stale, endless, or not given at all.

use std::{fs, time::Duration};

use mcp_tool::{
    Discovery, PagingDiscovery, Transport,
    mcp_discovery::{QuarantineReason, Warning},
};
use mcp_tool_cli::fault_server::{Cursors, Scenario, ToolSpec, Tools, When};
use rmcp::service::ClientCacheConfig;
use serde_json::json;

use crate::{
    bench::{Bench, process::until},
    raw, shows,
};

pub(crate) fn put_tool() -> ToolSpec {
    ToolSpec::new("put").annotations(json!({"idempotentHint": true}))
}

#[tokio::test]
async fn r5_a_server_that_is_gone_lists_nothing() {
    let scenario = |bench: &Bench| {
        let first = Scenario::new().tool(put_tool()).dies(When::Trigger(bench.file("die")));
        first.from_start(2, Scenario::new().tool(ToolSpec::new("get")))
    };

    let bench = Bench::new("r5-raw");
    let service = raw::connect(&bench, &scenario(&bench)).await;
    // This server gives its lists no time to live. Here they get one that is over at once, as if it did.
    let config = ClientCacheConfig::default().with_default_ttl(Duration::from_nanos(1));
    service.peer().set_response_cache_config(config).await;
    service.peer().list_all_tools().await.unwrap();
    fs::write(bench.file("die"), "").unwrap();
    until("rmcp to notice", || service.peer().is_transport_closed()).await;
    let stale = service.peer().list_all_tools().await;
    shows("R5", stale.is_ok_and(|tools| tools.len() == 1) && bench.record().lists().len() == 1);
    bench.all_gone().await;

    let bench = Bench::new("r5");
    let discovery = PagingDiscovery::new(bench.connector(&scenario(&bench)));
    let before = discovery.catalog().await.unwrap();
    let mut events = before.transport().events();
    fs::write(bench.file("die"), "").unwrap();
    events.next().await;
    assert!(before.transport().list_tools(None).await.is_err());
    let after = discovery.catalog().await.unwrap();
    assert!(after.tool("put").is_none() && after.tool("get").is_some());
    assert_eq!(bench.record().lists().len(), 2);
    discovery.close().await;
    bench.all_gone().await;
}

#[tokio::test]
async fn r6_a_cursor_that_leads_nowhere_ends_the_walk() {
    let scenario = Scenario::new().tool(put_tool()).cursors(Cursors::Constant);

    let bench = Bench::new("r6-raw");
    let service = raw::connect(&bench, &scenario).await;
    let peer = service.peer().clone();
    let walk = tokio::spawn(async move { peer.list_all_tools().await });
    bench.wait(|record| record.lists().len() > 200).await;
    shows("R6", !walk.is_finished());
    walk.abort();
    service.cancel().await.unwrap();
    bench.all_gone().await;

    let bench = Bench::new("r6");
    let discovery = PagingDiscovery::new(bench.connector(&scenario));
    let catalog = discovery.catalog().await.unwrap();
    assert_eq!((catalog.len(), catalog.warnings()), (1, &[Warning::NoProgress][..]));
    assert_eq!(bench.record().lists().len(), 2);
    discovery.close().await;
    bench.all_gone().await;
}

#[tokio::test]
async fn r17_one_malformed_tool_does_not_take_the_others_with_it() {
    let malformed = ToolSpec::new("bad").raw(json!({"name": "bad", "inputSchema": "none"}));
    let tools = Tools::new().with(put_tool()).with(malformed).with(ToolSpec::new("get"));
    let scenario = Scenario::new().tools(tools);

    let bench = Bench::new("r17-raw");
    let service = raw::connect(&bench, &scenario).await;
    shows("R17", service.peer().list_all_tools().await.is_err() && bench.record().lists().len() == 1);
    service.cancel().await.unwrap();
    bench.all_gone().await;

    let bench = Bench::new("r17");
    let discovery = PagingDiscovery::new(bench.connector(&scenario));
    let catalog = discovery.catalog().await.unwrap();
    assert_eq!(catalog.tools().iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["put", "get"]);
    let quarantined: Vec<_> =
        catalog.quarantined().iter().map(|tool| (tool.index(), tool.reason())).collect();
    assert_eq!(quarantined, [(1, QuarantineReason::SchemaNotAnObject)]);
    discovery.close().await;
    bench.all_gone().await;
}
