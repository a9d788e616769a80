//! Answers that come by event streams which end early, or with something else.

use mcp_tool::{Client, Outcome, ToolCall, Trust};
use mcp_tool_cli::fault_server::{Fault, Http, HttpFault, Reply, Resumed, Scenario, ToolSpec};
use serde_json::json;

use crate::server::Server;

#[tokio::test]
async fn a_stream_is_resumed_though_the_server_asks_to_come_again_first() {
    for status in [429, 503] {
        let fault = HttpFault::SseEndsAfterId { resumed: Resumed::StatusThenAnswer(status) };
        let http = Http::new().reply(Reply::SseWithIds);
        let server =
            Server::start(&Scenario::new().tool(ToolSpec::new("put")).http(http).on_call(1, fault)).await;
        let client = Client::builder("http", server.connector()).build();
        let answer = client.call(ToolCall::new("put")).await.unwrap();
        assert_eq!((answer.attempts, server.record().executions().len()), (1, 1), "{status}");
        assert_eq!(server.record().resumes().len(), 2, "{status}");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_stream_that_answers_another_request_is_an_invalid_reply_as_it_is_in_json() {
    let put = ToolSpec::new("put").annotations(json!({ "idempotentHint": true }));
    for reply in [Reply::Json, Reply::Sse, Reply::SseWithIds] {
        let scenario = Scenario::new().tool(put.clone()).http(Http::new().reply(reply));
        let server = Server::start(&scenario.on_call(1, Fault::AnswerWrongId)).await;
        let client = Client::builder("http", server.connector()).trust(Trust::BOTH).build();
        let error = client.call(ToolCall::new("put")).await.unwrap_err();
        assert_eq!(
            (error.outcome(), error.reason().code()),
            (Outcome::Unknown, "invalid_reply"),
            "{reply:?}"
        );
        assert_eq!(server.record().executions().len(), 1, "{reply:?}");
        server.stop().await;
    }
}
