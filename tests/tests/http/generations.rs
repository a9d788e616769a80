//! What one lost call says about its session, and what of it outlives the loss.

use mcp_tool::{Client, ToolCall, Trust};
use mcp_tool_cli::fault_server::{Fault, Http, Scenario, Sessions, ToolSpec};
use serde_json::json;

use crate::server::Server;

#[tokio::test]
async fn a_server_that_was_restarted_while_idle_costs_the_next_call_nothing_or_the_one_after() {
    // A 404 is a refusal, so the call is in the peer's word; a status of the server's own is in doubt.
    for (sessions, safe, first) in [
        (Sessions::NotFound, true, Ok(())),
        (Sessions::NotFound, false, Err("unannotated")),
        (Sessions::BadRequest, true, Err("http_status")),
        (Sessions::BadRequest, false, Err("http_status")),
    ] {
        let put = match safe {
            true => ToolSpec::new("put").annotations(json!({ "readOnlyHint": true })),
            false => ToolSpec::new("put"),
        };
        let scenario =
            Scenario::new().tool(put).http(Http::new().sessions(sessions)).on_call(1, Fault::DieAfterAnswer);
        let server = Server::start(&scenario).await;
        let client = Client::builder("http", server.connector()).trust(Trust::BOTH).build();
        client.call(ToolCall::new("put")).await.unwrap();
        server.wait_for(|record| record.ports().len() == 2).await;
        let second = client.call(ToolCall::new("put")).await;
        let reason = second.as_ref().map(drop).map_err(|error| error.reason().code());
        assert_eq!(reason, first, "{sessions:?} safe={safe}: {second:?}");
        client.call(ToolCall::new("put")).await.unwrap();
        server.stop().await;
    }
}

#[tokio::test]
async fn a_call_to_a_server_that_is_down_is_delivered_when_it_is_back() {
    let scenario = Scenario::new().tool(ToolSpec::new("put")).on_call(1, Fault::DieAfterAnswer);
    let server = Server::start(&scenario).await;
    let client = Client::builder("http", server.connector()).build();
    client.call(ToolCall::new("put")).await.unwrap();
    server.stay_down().await;
    let calling =
        tokio::spawn(
            async move { client.call(ToolCall::new("put").with_argument("key", "delivered")).await },
        );
    server.come_back();
    let answer = calling.await.unwrap().unwrap();
    assert_eq!((answer.attempts, answer.replays), (1, 0));
    let executed = server.record().executions();
    assert_eq!(executed.iter().filter(|execution| execution.key == "delivered").count(), 1);
    server.stop().await;
}
