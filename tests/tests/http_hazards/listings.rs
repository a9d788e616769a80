//! Lists of tools that are stale, not given at all, or needed before a call.

use std::time::Duration;

use mcp_tool::{Client, Discovery, HttpConnector, PagingDiscovery, Transport, Trust};
use mcp_tool_cli::fault_server::{Era, Fault, Scenario, ToolSpec, Tools};
use rmcp::service::ClientCacheConfig;
use serde_json::json;

use crate::{call, counts, put, raw, relay::Relay, server::Server, shows};

#[tokio::test]
async fn r5_a_server_that_is_gone_lists_nothing() {
    let scenario = put().from_start(2, Scenario::new().tool(ToolSpec::new("get")));

    let (server, raw) = raw::connect(&scenario).await;
    // This server gives its lists no time to live. Here they get one that is over at once, as if it did.
    let config = ClientCacheConfig::default().with_default_ttl(Duration::from_nanos(1));
    raw.peer().set_response_cache_config(config).await;
    raw.peer().list_all_tools().await.unwrap();
    server.stay_down().await;
    let stale = raw.peer().list_all_tools().await;
    shows("R5", stale.is_ok_and(|tools| tools.len() == 1) && server.record().lists().len() == 1);
    server.stop().await;

    let server = Server::start(&scenario).await;
    let discovery = PagingDiscovery::new(server.connector());
    let before = discovery.catalog().await.unwrap();
    server.stay_down().await;
    assert!(before.transport().list_tools(None).await.is_err());
    server.come_back();
    let after = discovery.rebuild(before.generation()).await.unwrap();
    assert!(after.tool("put").is_none() && after.tool("get").is_some());
    server.stop().await;
}

#[tokio::test]
async fn r17_one_malformed_tool_does_not_take_the_others_with_it() {
    let malformed = ToolSpec::new("bad").raw(json!({"name": "bad", "inputSchema": "none"}));
    let tools = Tools::new().with(ToolSpec::new("put")).with(malformed).with(ToolSpec::new("get"));
    let scenario = Scenario::new().tools(tools);

    let (server, raw) = raw::connect(&scenario).await;
    shows("R17", raw.peer().list_all_tools().await.is_err() && server.record().lists().len() == 1);
    server.stop().await;

    let server = Server::start(&scenario).await;
    let discovery = PagingDiscovery::new(server.connector());
    let catalog = discovery.catalog().await.unwrap();
    assert_eq!(catalog.tools().iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["put", "get"]);
    assert_eq!(catalog.quarantined().len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn r24_a_call_on_a_new_connection_has_the_headers_for_its_parameters() {
    let schema = json!({
        "type": "object",
        "properties": {"key": {"type": "string", "x-mcp-header": "Key"}},
    });
    let tool = ToolSpec::new("put").annotations(json!({"idempotentHint": true})).input_schema(schema);
    let healthy = Scenario::new().era(Era::Modern).tool(tool);
    // The heads of the calls, as they came over the wire.
    let calls = |relay: &Relay| relay.requests_with(r#""method":"tools/call""#);
    let has_header = |request: &String| request.to_ascii_lowercase().contains("\r\nmcp-param-key: a\r\n");

    let server = Server::start(&healthy).await;
    let relay = Relay::to(server.port()).await;
    let raw = raw::discover(relay.url()).await;
    raw.peer().call_tool(raw::put("a")).await.unwrap();
    shows("R24", calls(&relay).len() == 1 && !has_header(&calls(&relay)[0]));
    raw.peer().list_tools(None).await.unwrap();
    raw.peer().call_tool(raw::put("a")).await.unwrap();
    assert!(has_header(&calls(&relay)[1]), "{:?}", calls(&relay));
    server.stop().await;

    let server = Server::start(&healthy.clone().on_call(1, Fault::DieAfterCommit)).await;
    let relay = Relay::to(server.port()).await;
    let connector = HttpConnector::new(&relay.url()).unwrap();
    let client = Client::builder("http", connector).trust(Trust::BOTH).build();
    let answer = client.call(call("a")).await.unwrap();
    assert_eq!((answer.attempts, counts(&server.record())), (2, (2, 2)));
    assert_eq!(calls(&relay).len(), 2);
    assert!(calls(&relay).iter().all(has_header), "{:?}", calls(&relay));
    server.stop().await;
}
