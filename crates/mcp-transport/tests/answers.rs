//! What the server answers is handed on unchanged; what is no answer becomes a definite error.

use std::sync::Arc;

use mcp_transport::{
    AdoptedService, CallReply, Cursor, Delivery, ErrorClass, Transport, TransportError,
    rmcp::model::InputRequiredResult,
};
use serde_json::{Value, json};

use crate::server::{Server, connect, put, raw, text_result};

/// Calls once and answers with this member of the JSON-RPC message.
async fn reply_to(member: &str, value: Value) -> Result<CallReply, TransportError> {
    let (transport, mut server) = connect().await;
    let serve = async {
        let request = server.expect("tools/call").await;
        server.send(json!({"jsonrpc": "2.0", "id": request["id"], member: value})).await;
        server.hears_nothing().await;
    };
    let (reply, ()) = tokio::join!(transport.call_tool(put()), serve);
    assert!(!transport.is_closed());
    assert!(tokio::join!(transport.call_tool(put()), server.serve_one("next")).0.is_ok());
    reply
}

#[tokio::test(start_paused = true)]
async fn a_result_is_handed_on_whether_it_says_error_or_not() {
    let reply = reply_to("result", text_result("done")).await.unwrap();
    assert!(!reply.is_error());
    assert_eq!(reply.result().unwrap().content[0].as_text().unwrap().text, "done");

    let mut failed = text_result("database connection lost, broken pipe, ECONNRESET");
    failed["isError"] = true.into();
    assert!(reply_to("result", failed).await.unwrap().is_error());

    let structured = json!({"structuredContent": {"n": 1}, "resultType": "complete"});
    let reply = reply_to("result", structured).await.unwrap();
    assert_eq!(reply.result().unwrap().structured_content, Some(json!({"n": 1})));
}

#[tokio::test(start_paused = true)]
async fn a_result_without_content_is_an_empty_success() {
    for empty in [json!({}), json!({"_meta": {"a": 1}}), json!({"resultType": "complete"})] {
        let reply = reply_to("result", empty).await.unwrap();
        assert!(!reply.is_error() && reply.result().unwrap().content.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_json_rpc_error_is_an_answer() {
    let error = json!({"code": -32603, "message": "connection lost", "data": {"why": "text"}});
    let CallReply::Error(error) = reply_to("error", error).await.unwrap() else { panic!("an error") };
    assert_eq!((error.code.0, error.message.as_ref()), (-32603, "connection lost"));
    assert_eq!(error.data, Some(json!({"why": "text"})));
}

#[tokio::test(start_paused = true)]
async fn a_task_keeps_its_id() {
    let task = json!({
        "resultType": "task", "taskId": "t-17", "status": "working",
        "createdAt": "2026-11-30T10:00:00Z", "lastUpdatedAt": "2026-11-30T10:00:00Z", "ttlMs": 60000,
    });
    let CallReply::Task(task) = reply_to("result", task).await.unwrap() else { panic!("a task") };
    assert_eq!(task.task.task_id, "t-17");
}

#[tokio::test(start_paused = true)]
async fn a_request_for_input_is_one_answer_to_one_single_request() {
    let input = json!({
        "resultType": "input_required", "requestState": "s1",
        "inputRequests": {"who": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "who?", "requestedSchema": {"type": "object", "properties": {}},
        }}},
    });
    // `reply_to` has seen that nothing followed.
    let reply = reply_to("result", input).await.unwrap();
    let CallReply::InputRequired(input) = reply else { panic!("a request for input: {reply:?}") };
    assert_eq!(input.request_state.as_deref(), Some("s1"));
}

#[tokio::test(start_paused = true)]
async fn a_continuation_is_the_same_call_with_the_answers_and_the_servers_own_state() {
    let (lines, at_lines) = connect().await;
    let (service, at_service) = raw().await;
    let transports: [(Arc<dyn Transport>, Server); 2] =
        [(Arc::new(lines), at_lines), (Arc::new(AdoptedService::new(service)), at_service)];
    for (transport, mut server) in transports {
        let asked = InputRequiredResult::from_request_state("s1");
        let answers = [("who".to_owned(), json!({"action": "accept", "content": {"name": "canary"}}))];
        let call = put().with_argument("key", "a");
        assert!(!call.is_continuation());
        let continuation = call.continuing(&asked, answers.into());
        assert!(continuation.is_continuation() && !format!("{continuation:?}").contains("canary"));
        let serve = async {
            let request = server.expect("tools/call").await;
            server.answer(&request, text_result("done")).await;
            request
        };
        let (reply, request) = tokio::join!(transport.call_tool(continuation), serve);
        assert!(reply.is_ok());
        let params = &request["params"];
        assert_eq!((&params["name"], &params["arguments"]), (&json!("put"), &json!({"key": "a"})));
        assert_eq!(params["requestState"], "s1");
        assert_eq!(params["inputResponses"]["who"]["content"]["name"], "canary");

        let (_, request) = tokio::join!(transport.call_tool(put()), server.next());
        assert!(request["params"].get("requestState").is_none());
        assert!(request["params"].get("inputResponses").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_none_of_a_call_is_a_definite_error_in_doubt() {
    for (member, value) in [
        ("result", json!("text")),
        ("result", json!([])),
        ("result", json!([null, null])),
        ("result", json!(null)),
        ("result", json!({"content": "text"})),
        ("result", json!({"content": [{"type": "text"}]})),
        ("result", json!({"tools": []})),
        ("result", json!({"resultType": "of the future", "x": 1})),
        ("error", json!("text")),
        ("error", json!({"code": "E", "message": 1})),
        ("neither", json!({})),
    ] {
        let error = reply_to(member, value.clone()).await.unwrap_err();
        assert_eq!(
            (error.class(), error.delivery(), error.kind().code()),
            (ErrorClass::Other, Delivery::Unknown, "invalid_reply"),
            "{member}: {value}"
        );
    }
}

async fn list(
    serve: impl AsyncFnOnce(&mut Server, Value),
) -> Result<mcp_transport::ToolPage, TransportError> {
    let (transport, mut server) = connect().await;
    let serve = async {
        let request = server.expect("tools/list").await;
        serve(&mut server, request).await;
    };
    tokio::join!(transport.list_tools(Some(Cursor::new(""))), serve).0
}

#[tokio::test(start_paused = true)]
async fn a_page_holds_every_tool_as_it_came_and_cursors_are_passed_on() {
    let tools = json!([{"name": "good", "inputSchema": {}}, {"name": 7, "annotations": "wrong"}, "no tool"]);
    let page = list(async |server, request| {
        assert_eq!(request["params"]["cursor"], "", "the empty cursor is one like any other");
        server.answer(&request, json!({"tools": tools, "nextCursor": ""})).await;
    });
    let page = page.await.unwrap();
    let raw: Vec<Value> = page.tools.iter().map(|tool| serde_json::from_str(tool.json()).unwrap()).collect();
    assert_eq!(
        Value::from(raw),
        json!([
            {"name": "good", "inputSchema": {}}, {"name": 7, "annotations": "wrong"}, "no tool",
        ])
    );
    assert_eq!(page.next, Some(Cursor::new("")));
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_is_refused_or_makes_no_sense_is_an_error() {
    let refused = list(async |server, request| {
        let error = json!({"code": -32601, "message": "method not found"});
        server.send(json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).await;
    });
    let refused = refused.await.unwrap_err();
    assert_eq!((refused.kind().code(), refused.class()), ("rejected", ErrorClass::Other));
    let nonsense = list(async |server, request| server.answer(&request, json!({"tools": 7})).await);
    assert_eq!(nonsense.await.unwrap_err().kind().code(), "invalid_reply");
}
