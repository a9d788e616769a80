//! Requests about tasks: one raw request each, and an answer that bypasses rmcp.

use std::sync::Arc;

use mcp_transport::{
    AdoptedService, CallReply, Delivery, ErrorClass, TaskReply, TaskRequest, Transport, TransportError,
    rmcp::model::TaskPayload,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::server::{Server, connect, put, raw, settle};

fn get() -> TaskRequest {
    TaskRequest::Get("t-17".into())
}

fn state(status: &str, more: &Value) -> Value {
    let mut state = json!({
        "resultType": "complete", "taskId": "t-17", "status": status, "ttlMs": null,
        "createdAt": "2026-11-30T10:00:00Z", "lastUpdatedAt": "2026-11-30T10:00:00Z",
    });
    state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    state
}

/// Each kind of transport that runs on rmcp, with the server at its other end.
async fn transports() -> [(Arc<dyn Transport>, Server); 2] {
    let (lines, at_lines) = connect().await;
    let (service, at_service) = raw().await;
    [(Arc::new(lines), at_lines), (Arc::new(AdoptedService::new(service)), at_service)]
}

/// Makes one request and answers it with this member.
async fn reply_to(
    transport: &dyn Transport,
    server: &mut Server,
    request: TaskRequest,
    (member, value): (&str, Value),
) -> (Result<TaskReply, TransportError>, Value) {
    let method = request.method();
    let serve = async {
        let request = server.expect(method).await;
        server.send(json!({"jsonrpc": "2.0", "id": request["id"], member: value})).await;
        server.hears_nothing().await;
        request
    };
    tokio::join!(transport.task(request), serve)
}

#[tokio::test(start_paused = true)]
async fn the_state_of_a_task_is_read_from_one_request() {
    for (transport, mut server) in transports().await {
        let result = json!({"content": [{"type": "text", "text": "done"}], "isError": true});
        let answer = ("result", state("completed", &json!({"result": result})));
        let (reply, request) = reply_to(&*transport, &mut server, get(), answer).await;
        assert_eq!(request["params"]["taskId"], "t-17");
        let Ok(TaskReply::State(task)) = reply else { panic!("{reply:?}") };
        let reply = CallReply::of_task(task.payload).unwrap();
        assert!(reply.is_error() && reply.result().is_some());

        let answer = ("result", state("working", &json!({"pollIntervalMs": 7})));
        let (reply, _) = reply_to(&*transport, &mut server, get(), answer).await;
        let Ok(TaskReply::State(task)) = reply else { panic!("{reply:?}") };
        assert_eq!((task.task.poll_interval_ms, &task.payload), (Some(7), &TaskPayload::Working));
        assert!(CallReply::of_task(task.payload).is_err(), "it has not ended");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_failed_answers_with_its_error() {
    for (transport, mut server) in transports().await {
        let answer = ("result", state("failed", &json!({"error": {"code": -32000, "message": "no"}})));
        let (reply, _) = reply_to(&*transport, &mut server, get(), answer).await;
        let Ok(TaskReply::State(task)) = reply else { panic!("{reply:?}") };
        let reply = CallReply::of_task(task.payload);
        assert!(matches!(reply, Ok(CallReply::Error(error)) if error.code.0 == -32000));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_is_told_of_a_task_is_acknowledged() {
    for (transport, mut server) in transports().await {
        let responses = [("colour".to_owned(), json!({"action": "decline"}))].into();
        let update = TaskRequest::Update("t-17".into(), responses);
        let acknowledged = || ("result", json!({"resultType": "complete"}));
        let (reply, request) = reply_to(&*transport, &mut server, update, acknowledged()).await;
        assert!(matches!(reply, Ok(TaskReply::Acknowledged)));
        assert_eq!(request["params"]["inputResponses"]["colour"]["action"], "decline");
        let cancel = TaskRequest::Cancel("t-17".into());
        let (reply, request) = reply_to(&*transport, &mut server, cancel, acknowledged()).await;
        assert!(matches!(reply, Ok(TaskReply::Acknowledged)));
        assert_eq!(request["params"]["taskId"], "t-17");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_in_answer_to_it_is_a_rejection_and_what_is_no_state_an_invalid_reply() {
    for (transport, mut server) in transports().await {
        let forgotten = ("error", json!({"code": -32602, "message": "unknown task"}));
        let (reply, _) = reply_to(&*transport, &mut server, get(), forgotten).await;
        let error = reply.unwrap_err();
        assert_eq!((error.kind().code(), error.class()), ("rejected", ErrorClass::Other));
        for wrong in [json!({}), state("completed", &json!({})), state("vanished", &json!({}))] {
            let (reply, _) = reply_to(&*transport, &mut server, get(), ("result", wrong)).await;
            assert_eq!(reply.unwrap_err().kind().code(), "invalid_reply");
        }
        assert!(!transport.is_closed());
    }
}

#[tokio::test(start_paused = true)]
async fn it_ends_within_the_time_of_a_listing_and_with_its_connection() {
    for (transport, mut server) in transports().await {
        let began = Instant::now();
        let error = transport.task(get()).await.unwrap_err();
        assert_eq!((error.kind().code(), began.elapsed().as_secs()), ("deadline", 30));
        server.expect("tasks/get").await;
        server.expect("notifications/cancelled").await;
        let lose = async {
            server.expect("tasks/get").await;
            drop(server);
        };
        let error = tokio::join!(transport.task(get()), lose).0.unwrap_err();
        assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
        let error = transport.task(get()).await.unwrap_err();
        assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unsent));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_leaves_nothing_behind() {
    let (transport, mut server) = connect().await;
    tokio::select! {
        _ = transport.task(get()) => panic!("nobody answers"),
        () = settle() => {}
    }
    let request = server.expect("tasks/get").await;
    let cancelled = server.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    assert!(tokio::join!(transport.call_tool(put()), server.serve_one("next")).0.is_ok());
}
