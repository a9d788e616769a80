//! A host's own rmcp service as a transport.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_transport::{
    AdoptedService, CallReply, CancellationToken, Cursor, Delivery, ErrorClass, Fence, Guard, ToolCall,
    Transport, Withdrawn,
    rmcp::{model::ClientConfig, service::serve_client_with_lifecycle},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    server::{Ends, ROOM, Server, ends, modern, put, raw, raw_over, settle, text_result},
    valve::{Then, Valve},
};

async fn adopt() -> (Arc<AdoptedService>, Server) {
    let (service, server) = raw().await;
    (Arc::new(AdoptedService::new(service)), server)
}

#[tokio::test(start_paused = true)]
async fn one_call_is_one_raw_request_with_its_arguments_and_metadata() {
    let (adopted, mut server) = adopt().await;
    let meta = serde_json::from_value(json!({"key": "k-1", "progressToken": "own"})).unwrap();
    let call = put().with_argument("n", 1).with_meta(meta);
    let serve = async {
        let request = server.expect("tools/call").await;
        assert_eq!(
            (&request["params"]["name"], &request["params"]["arguments"]),
            (&json!("put"), &json!({"n": 1}))
        );
        assert_eq!(request["params"]["_meta"]["key"], "k-1");
        server.answer(&request, text_result("done")).await;
        server.hears_nothing().await;
    };
    let (reply, ()) = tokio::join!(adopted.call_tool(call), serve);
    assert_eq!(reply.unwrap().result().unwrap().content[0].as_text().unwrap().text, "done");
}

#[tokio::test(start_paused = true)]
async fn a_retired_service_takes_no_call_and_answers_those_that_it_has() {
    let (adopted, mut server) = adopt().await;
    let serve = async {
        let request = server.expect("tools/call").await;
        assert_eq!(adopted.retire().await, Fence::None);
        assert!(adopted.is_closed());
        let late = adopted.call_tool(put()).await.unwrap_err();
        assert_eq!((late.class(), late.delivery()), (ErrorClass::Connection, Delivery::Unsent));
        server.answer(&request, text_result("done")).await;
        server.hears_nothing().await;
    };
    let (reply, ()) = tokio::join!(adopted.call_tool(put()), serve);
    assert_eq!(reply.unwrap().result().unwrap().content[0].as_text().unwrap().text, "done");
}

/// Calls once and answers with this member.
async fn reply_to(member: &str, value: Value) -> Result<CallReply, mcp_transport::TransportError> {
    let (adopted, mut server) = adopt().await;
    let serve = async {
        let request = server.expect("tools/call").await;
        server.send(json!({"jsonrpc": "2.0", "id": request["id"], member: value})).await;
        server.hears_nothing().await;
    };
    tokio::join!(adopted.call_tool(put()), serve).0
}

#[tokio::test(start_paused = true)]
async fn every_form_of_answer_is_handed_on() {
    let task = json!({
        "resultType": "task", "taskId": "t-17", "status": "working", "ttlMs": null,
        "createdAt": "2026-11-30T10:00:00Z", "lastUpdatedAt": "2026-11-30T10:00:00Z",
    });
    let reply = reply_to("result", task).await;
    assert!(matches!(reply, Ok(CallReply::Task(task)) if task.task.task_id == "t-17"));
    let input = json!({"resultType": "input_required", "requestState": "s"});
    assert!(matches!(reply_to("result", input).await, Ok(CallReply::InputRequired(_))));
    let error = json!({"code": -32603, "message": "connection lost"});
    assert!(matches!(reply_to("error", error).await, Ok(CallReply::Error(error)) if error.code.0 == -32603));
    for empty in [json!({}), json!({"resultType": "complete"}), json!({"_meta": {"a": 1}})] {
        let reply = reply_to("result", empty).await.unwrap();
        assert!(!reply.is_error() && reply.result().unwrap().content.is_empty());
    }
    for wrong in [json!("text"), json!({"content": "text"}), json!({"tools": []}), json!({"resultType": "x"})]
    {
        let error = reply_to("result", wrong.clone()).await.unwrap_err();
        let told = (error.class(), error.delivery(), error.kind().code());
        assert_eq!(told, (ErrorClass::Other, Delivery::Unknown, "invalid_reply"), "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_come_from_the_server_whole_and_with_their_cursors() {
    let tools = json!([
        {"name": "good", "inputSchema": {"type": "object"}},
        {"name": "bad", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": "yes"}},
    ]);
    for tools in [json!([tools[0]]), tools] {
        for result_type in [None, Some("complete")] {
            let (adopted, mut server) = adopt().await;
            for cursor in [None, Some(Cursor::new("")), Some(Cursor::new("")), None] {
                let serve = async {
                    let request = server.expect("tools/list").await;
                    let asked = request["params"].get("cursor").map(|cursor| cursor.as_str().unwrap());
                    assert_eq!(asked, cursor.as_ref().map(Cursor::as_str));
                    let mut page = json!({"tools": tools, "nextCursor": "", "ttlMs": 60_000});
                    if let Some(result_type) = result_type {
                        page["resultType"] = result_type.into();
                    }
                    server.answer(&request, page).await;
                };
                let (page, ()) = tokio::join!(adopted.list_tools(cursor.clone()), serve);
                let page = page.unwrap();
                let raw: Vec<Value> =
                    page.tools.iter().map(|tool| serde_json::from_str(tool.json()).unwrap()).collect();
                assert_eq!((Value::from(raw), page.next), (tools.clone(), Some(Cursor::new(""))));
            }
        }
    }
    let (adopted, mut server) = adopt().await;
    let refuse = async {
        let request = server.expect("tools/list").await;
        let error = json!({"code": -32601, "message": "no tools"});
        server.send(json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).await;
    };
    assert_eq!(tokio::join!(adopted.list_tools(None), refuse).0.unwrap_err().kind().code(), "rejected");
    let began = Instant::now();
    assert_eq!(adopted.list_tools(None).await.unwrap_err().kind().code(), "deadline");
    assert_eq!(began.elapsed(), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cut_tells_the_server_and_waits_for_nobody() {
    let (adopted, mut server) = adopt().await;
    let began = Instant::now();
    let late = adopted.call_tool(put()).await.unwrap_err();
    assert_eq!((late.kind().code(), late.delivery()), ("deadline", Delivery::Unknown));
    assert_eq!(began.elapsed(), Duration::from_secs(1));

    let token = CancellationToken::new();
    let cancel = async {
        settle().await;
        token.cancel();
    };
    let call = adopted.call_tool(put().with_cancellation(token.clone()));
    let cancelled = tokio::join!(call, cancel).0.unwrap_err();
    assert_eq!((cancelled.class(), cancelled.delivery()), (ErrorClass::Abort, Delivery::Unknown));

    assert!(timeout(Duration::from_millis(1), adopted.call_tool(put())).await.is_err());
    for _ in 0..3 {
        let request = server.expect("tools/call").await;
        let cancelled = server.expect("notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], request["id"]);
        server.answer(&request, text_result("late")).await;
    }
    assert!(tokio::join!(adopted.call_tool(put()), server.serve_one("next")).0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn progress_resets_the_idle_timeout() {
    let (adopted, mut server) = adopt().await;
    let call = ToolCall::new("slow").with_idle_timeout(Duration::from_secs(10));
    let began = Instant::now();
    let work = async {
        let request = server.expect("tools/call").await;
        for step in 1..=5 {
            sleep(Duration::from_secs(9)).await;
            server.progress(&request, step).await;
        }
        server.expect("notifications/cancelled").await;
        server.hears_nothing().await;
    };
    let error = tokio::join!(adopted.call_tool(call), work).0.unwrap_err();
    let told = (error.class(), error.delivery(), error.kind().code());
    assert_eq!(told, (ErrorClass::Other, Delivery::Unknown, "idle_timeout"));
    assert_eq!(began.elapsed().as_secs(), 5 * 9 + 10);
}

#[tokio::test(start_paused = true)]
async fn the_guard_is_asked_before_each_try_to_enter_rmcps_queue() {
    let (adopted, mut server) = adopt().await;
    let withdrawn = put().with_guard(Guard::new(|| Err(Withdrawn)));
    let error = adopted.call_tool(withdrawn).await.unwrap_err();
    assert_eq!((error.kind().code(), error.delivery()), ("withdrawn", Delivery::Unsent));
    server.hears_nothing().await;

    // More calls than rmcp's queue has room for; then the permission goes before it has room again.
    let allowed = Arc::new(AtomicBool::new(true));
    let (answered, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let calls: Vec<_> = (0..1_500)
        .map(|_| {
            let (adopted, allowed) = (adopted.clone(), allowed.clone());
            let (answered, refused) = (answered.clone(), refused.clone());
            tokio::spawn(async move {
                let guard = move || allowed.load(Ordering::Relaxed).then_some(()).ok_or(Withdrawn);
                match adopted.call_tool(ToolCall::new("put").with_guard(Guard::new(guard))).await {
                    Ok(_) => answered.fetch_add(1, Ordering::Relaxed),
                    Err(error) => {
                        assert_eq!((error.kind().code(), error.delivery()), ("withdrawn", Delivery::Unsent));
                        refused.fetch_add(1, Ordering::Relaxed)
                    }
                };
            })
        })
        .collect();
    tokio::spawn(async move { allowed.store(false, Ordering::Relaxed) });
    let mut received = 0;
    while let Ok(Some(line)) = timeout(Duration::from_millis(1), server.line()).await {
        received += 1;
        let request: Value = serde_json::from_str(&line).unwrap();
        server.answer(&request, text_result("done")).await;
    }
    for call in calls {
        call.await.unwrap();
    }
    let (answered, refused) = (answered.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
    assert_eq!((answered, answered + refused), (received, 1_500));
    assert!(refused > 0 && received > 0, "{received} received, {refused} refused");
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_in_doubt_and_a_closed_one_is_not() {
    let (adopted, mut server) = adopt().await;
    let serve = async {
        server.expect("tools/call").await;
        drop(server);
    };
    let lost = tokio::join!(adopted.call_tool(put()), serve).0.unwrap_err();
    assert_eq!((lost.class(), lost.delivery()), (ErrorClass::Connection, Delivery::Unknown));
    assert!(adopted.is_closed());
    let closed = adopted.call_tool(put()).await.unwrap_err();
    assert_eq!((closed.class(), closed.delivery()), (ErrorClass::Connection, Delivery::Unsent));

    // A send that failed proves nothing here, wherever it failed.
    let valve = Valve::default();
    let Ends { server, reader, writer } = ends(ROOM);
    let (service, _server) = raw_over(server, reader, valve.on(writer), ClientConfig::default()).await;
    valve.allow(0, Then::Fail);
    let error = AdoptedService::new(service).call_tool(put()).await.unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
}

#[tokio::test(start_paused = true)]
async fn behind_a_blocked_writer_a_call_and_the_close_end_by_their_bounds() {
    let valve = Valve::default();
    let Ends { server, reader, writer } = ends(ROOM);
    let (service, _server) = raw_over(server, reader, valve.on(writer), ClientConfig::default()).await;
    let adopted = AdoptedService::new(service).with_close_timeout(Duration::from_secs(3));
    valve.allow(10, Then::Stall);
    let began = Instant::now();
    let call = ToolCall::new("put").with_idle_timeout(Duration::from_secs(1));
    let error = adopted.call_tool(call.with_deadline(Duration::from_secs(5))).await.unwrap_err();
    assert_eq!((error.kind().code(), error.delivery()), ("deadline", Delivery::Unknown));
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    let began = Instant::now();
    assert_eq!(adopted.close().await, Fence::None);
    assert!(began.elapsed() <= Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn closing_ends_the_calls_in_flight_and_the_service() {
    let (adopted, mut server) = adopt().await;
    assert_eq!(format!("{adopted:?}"), "AdoptedService { closed: false, .. }");
    let closing = async {
        server.expect("tools/call").await;
        tokio::join!(adopted.close(), adopted.close());
    };
    let (lost, ()) = tokio::join!(adopted.call_tool(ToolCall::new("put")), closing);
    assert_eq!(lost.unwrap_err().class(), ErrorClass::Connection);
    assert!(adopted.is_closed() && adopted.peer().is_transport_closed());
    assert_eq!(adopted.list_tools(None).await.unwrap_err().delivery(), Delivery::Unsent);
}

#[tokio::test(start_paused = true)]
async fn closing_a_shared_service_leaves_the_hosts_own_use_of_it_alone() {
    let Ends { mut server, reader, writer } = ends(ROOM);
    let connecting = serve_client_with_lifecycle(ClientConfig::default(), (reader, writer), modern());
    let service = tokio::join!(connecting, server.shake_hands()).0.unwrap();
    let shared = AdoptedService::from_peer(service.peer().clone());
    assert!(tokio::join!(shared.call_tool(put()), server.serve_one("ours")).0.is_ok());
    let began = Instant::now();
    let closing = async {
        server.expect("tools/call").await;
        shared.close().await;
        server.expect("notifications/cancelled").await;
    };
    let (ended, ()) = tokio::join!(shared.call_tool(put()), closing);
    assert_eq!(ended.unwrap_err().class(), ErrorClass::Connection);
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(shared.call_tool(put()).await.unwrap_err().kind().code(), "connection_closed");
    let params = mcp_transport::rmcp::model::CallToolRequestParams::new("put");
    assert!(tokio::join!(service.peer().call_tool(params), server.serve_one("theirs")).0.is_ok());
}
