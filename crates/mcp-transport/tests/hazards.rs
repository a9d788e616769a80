//! The checklist for every upgrade of rmcp.
//!
//! Each test shows what rmcp does on its own, over the same in-memory streams and against the same
//! server, and then that it does not reach a caller of this crate. When the first half of a test fails
//! after an upgrade, rmcp no longer has that hazard, and its remedy may go. The numbers are those of the
//! list of hazards in the design. The hazards of HTTP and of real processes are tested where those are.

use std::time::Duration;

use mcp_transport::{
    CallReply, Delivery, StdioTransport, ToolCall, Transport, TransportError,
    rmcp::{
        ClientHandler, ErrorData, ServiceError,
        model::{CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest, ProtocolVersion},
        service::{PeerRequestOptions, RequestContext, RoleClient, serve_client_with_lifecycle},
    },
};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::{
    server::{
        Ends, ROOM, Server, connect, connect_as, connect_over, ends, legacy, modern, put, raw, raw_over,
        settle, text_result,
    },
    valve::{Then, Valve},
};

const HOUR: Duration = Duration::from_secs(3_600);

fn params() -> CallToolRequestParams {
    CallToolRequestParams::new("put")
}

fn request() -> ClientRequest {
    ClientRequest::CallToolRequest(CallToolRequest::new(params()))
}

async fn never<F: Future>(future: F) -> bool {
    timeout(HOUR, future).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn r3_a_failed_send_is_told_alike_whether_the_request_left_or_not() {
    let frame = {
        let (service, mut server) = raw().await;
        let call = tokio::spawn(async move { service.call_tool(params()).await });
        let line = server.line().await.unwrap();
        call.abort();
        line.len()
    };
    for (bytes, delivery) in [(frame - 1, Delivery::Unsent), (frame, Delivery::Unknown)] {
        let valve = Valve::default();
        let Ends { server, reader, writer } = ends(ROOM);
        let (service, _server) = raw_over(server, reader, valve.on(writer), ClientConfig::default()).await;
        valve.allow(bytes, Then::Fail);
        let error = service.peer().call_tool(params()).await.unwrap_err();
        assert!(matches!(error, ServiceError::TransportSend(_)), "{error}");

        let valve = Valve::default();
        let Ends { server, reader, writer } = ends(ROOM);
        let ours = connect_over(server, reader, valve.on(writer), ClientConfig::default(), legacy());
        let (transport, _server) = ours.await;
        valve.allow(bytes, Then::Fail);
        assert_eq!(transport.call_tool(put()).await.unwrap_err().delivery(), delivery);
    }
}

#[tokio::test(start_paused = true)]
async fn r4_a_lost_response_is_told_like_a_connection_that_was_closed_before() {
    let (service, mut server) = raw().await;
    let peer = service.peer().clone();
    let call = tokio::spawn(async move { peer.call_tool(params()).await });
    server.expect("tools/call").await;
    drop(server);
    assert!(matches!(call.await.unwrap(), Err(ServiceError::TransportClosed)));
    assert!(matches!(service.peer().call_tool(params()).await, Err(ServiceError::TransportClosed)));

    let (transport, mut server) = connect().await;
    let serve = async {
        server.expect("tools/call").await;
        drop(server);
    };
    let lost = tokio::join!(transport.call_tool(put()), serve).0.unwrap_err();
    let closed = transport.call_tool(put()).await.unwrap_err();
    assert_eq!((lost.delivery(), closed.delivery()), (Delivery::Unknown, Delivery::Unsent));
}

async fn serve_page(server: &mut Server) {
    let request = server.expect("tools/list").await;
    let tool = json!({"name": "put", "inputSchema": {"type": "object"}});
    server.answer(&request, json!({"tools": [tool], "ttlMs": 1, "cacheScope": "private"})).await;
}

#[tokio::test(start_paused = true)]
async fn r5_a_list_of_tools_comes_from_a_cache_after_the_server_has_gone() {
    let (service, mut server) = raw().await;
    let (page, ()) = tokio::join!(service.list_tools(None), serve_page(&mut server));
    assert_eq!(page.unwrap().tools.len(), 1);
    drop(server);
    // rmcp's cache reads the clock of the machine; it serves stale pages all the same.
    assert_eq!(service.list_tools(None).await.unwrap().tools.len(), 1);

    let (transport, mut server) = connect().await;
    for _ in 0..2 {
        let (page, ()) = tokio::join!(transport.list_tools(None), serve_page(&mut server));
        assert_eq!(page.unwrap().tools.len(), 1);
    }
    drop(server);
    assert_eq!(transport.list_tools(None).await.unwrap_err().class(), mcp_transport::ErrorClass::Connection);
}

#[tokio::test(start_paused = true)]
async fn r6_a_constant_cursor_is_followed_without_end() {
    let page = json!({"tools": [{"name": "put", "inputSchema": {}}], "nextCursor": "same"});
    let (service, mut server) = raw().await;
    let serve = async {
        for _ in 0..1_000 {
            let request = server.expect("tools/list").await;
            server.answer(&request, page.clone()).await;
        }
    };
    tokio::select! {
        tools = service.list_all_tools() => panic!("it ended: {tools:?}"),
        () = serve => {}
    }

    // Here a page is a page: whoever wants more asks for it, within bounds of its own.
    let (transport, mut server) = connect().await;
    let serve = async {
        let request = server.expect("tools/list").await;
        server.answer(&request, page.clone()).await;
        server.hears_nothing().await;
    };
    let (page, ()) = tokio::join!(transport.list_tools(None), serve);
    assert_eq!(page.unwrap().next.unwrap().as_str(), "same");
}

/// Answers the first calls with a request for nothing but another round; counts the calls that come
/// until the reply is there.
async fn rounds<T>(server: &mut Server, rounds: usize, reply: impl Future<Output = T>) -> (T, usize) {
    let mut calls = 0;
    let mut reply = std::pin::pin!(reply);
    loop {
        let message = tokio::select! {
            reply = &mut reply => return (reply, calls),
            message = server.next() => message,
        };
        if message["method"] == "tools/call" {
            calls += 1;
            let again = json!({"resultType": "input_required", "requestState": "s"});
            let answer = if calls <= rounds { again } else { text_result("done") };
            server.answer(&message, answer).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r7_one_call_sends_several_requests() {
    let Ends { mut server, reader, writer } = ends(ROOM);
    let connecting = serve_client_with_lifecycle(ClientConfig::default(), (reader, writer), modern());
    let service = tokio::join!(connecting, server.shake_hands()).0.unwrap();
    assert_eq!(service.peer_info().unwrap().protocol_version, ProtocolVersion::V_2026_07_28);
    let (reply, calls) = rounds(&mut server, 2, service.call_tool(params())).await;
    assert_eq!((reply.is_ok(), calls), (true, 3), "{reply:?}");

    let (transport, mut server) = connect_as(ClientConfig::default(), modern()).await;
    let (reply, calls) = rounds(&mut server, 2, transport.call_tool(put())).await;
    assert!(matches!(reply, Ok(CallReply::InputRequired(_))));
    assert_eq!(calls, 1);
}

async fn serve_17_mebibytes(server: &mut Server) {
    let request = server.expect("tools/call").await;
    let text = "x".repeat(17 * 1024 * 1024);
    server.answer(&request, text_result(&text)).await;
}

#[tokio::test(start_paused = true)]
async fn r9_a_line_over_the_limit_leaves_its_call_waiting() {
    let (service, mut server) = raw().await;
    let call = service.call_tool(params());
    let mut call = std::pin::pin!(call);
    tokio::select! {
        reply = &mut call => panic!("it ended: {reply:?}"),
        () = serve_17_mebibytes(&mut server) => {}
    }
    assert!(never(call).await);

    let (transport, mut server) = connect().await;
    let call = transport.call_tool(ToolCall::new("put"));
    let error = tokio::join!(call, serve_17_mebibytes(&mut server)).0.unwrap_err();
    assert_eq!((error.kind().code(), error.delivery()), ("reply_too_large", Delivery::Unknown));
}

#[tokio::test(start_paused = true)]
async fn r13_a_call_has_no_timeout() {
    let (service, _server) = raw().await;
    assert!(never(service.call_tool(params())).await);
    let (transport, _server) = connect().await;
    assert_eq!(transport.call_tool(ToolCall::new("put")).await.unwrap_err().kind().code(), "idle_timeout");
}

#[tokio::test(start_paused = true)]
async fn r14_an_abandoned_call_is_cancelled_by_one_way_of_calling_and_not_by_another() {
    let (service, mut server) = raw().await;
    assert!(timeout(Duration::from_millis(1), service.call_tool(params())).await.is_err());
    server.expect("tools/call").await;
    server.expect("notifications/cancelled").await;
    let handle = service.send_request_with_option(request(), PeerRequestOptions::no_options()).await.unwrap();
    assert!(timeout(Duration::from_millis(1), handle.await_response()).await.is_err());
    server.expect("tools/call").await;
    server.hears_nothing().await;

    let (transport, mut server) = connect().await;
    assert!(timeout(Duration::from_millis(1), transport.call_tool(put())).await.is_err());
    server.expect("tools/call").await;
    server.expect("notifications/cancelled").await;
}

#[tokio::test(start_paused = true)]
async fn r17_one_malformed_tool_fails_the_whole_page() {
    let page = json!({"tools": [
        {"name": "good", "inputSchema": {"type": "object"}},
        {"name": "bad", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": "yes"}},
    ]});
    let serve = async |server: &mut Server| {
        let request = server.expect("tools/list").await;
        server.answer(&request, page.clone()).await;
    };
    let (service, mut server) = raw().await;
    let (tools, ()) = tokio::join!(service.list_tools(None), serve(&mut server));
    assert!(matches!(tools, Err(ServiceError::UnexpectedResponse)));

    let (transport, mut server) = connect().await;
    let (tools, ()) = tokio::join!(transport.list_tools(None), serve(&mut server));
    assert_eq!(tools.unwrap().tools.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn r18_and_r19_a_server_that_stops_reading_defeats_the_timeout_and_the_close() {
    let valve = Valve::default();
    let Ends { server, reader, writer } = ends(ROOM);
    let (mut service, _server) = raw_over(server, reader, valve.on(writer), ClientConfig::default()).await;
    valve.allow(10, Then::Stall);
    let options = PeerRequestOptions::with_timeout(Duration::from_millis(500));
    let handle = service.send_request_with_option(request(), options).await.unwrap();
    assert!(never(handle.await_response()).await);
    assert!(never(service.close()).await);

    let valve = Valve::default();
    let Ends { server, reader, writer } = ends(ROOM);
    let ours = connect_over(server, reader, valve.on(writer), ClientConfig::default(), legacy());
    let (transport, _server): (StdioTransport, _) = ours.await;
    valve.allow(10, Then::Stall);
    let began = Instant::now();
    let (call, ()) = tokio::join!(transport.call_tool(ToolCall::new("put")), async {
        settle().await;
        transport.close().await;
    });
    assert_eq!(call.unwrap_err().delivery(), Delivery::Unsent);
    assert!(began.elapsed() < Duration::from_millis(10));
}

/// A host that never comes back with an answer to the server.
struct Unhurried;

impl ClientHandler for Unhurried {
    async fn ping(&self, _: RequestContext<RoleClient>) -> Result<(), ErrorData> {
        std::future::pending().await
    }
}

/// Reads a call, asks the host something, and is gone.
async fn ask_and_go(mut server: Server) {
    server.expect("tools/call").await;
    server.send(json!({"jsonrpc": "2.0", "id": "s", "method": "ping"})).await;
    settle().await;
}

#[tokio::test(start_paused = true)]
async fn r20_calls_in_flight_learn_of_the_end_only_when_the_service_has_drained() {
    let Ends { server, reader, writer } = ends(ROOM);
    let (service, server) = raw_over(server, reader, writer, Unhurried).await;
    let began = Instant::now();
    let (reply, ()) = tokio::join!(service.call_tool(params()), ask_and_go(server));
    assert!(reply.is_err() && began.elapsed() >= Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(!service.is_closed(), "though it is");

    let (transport, server) = connect_as(Unhurried, legacy()).await;
    let began = Instant::now();
    let (reply, ()) = tokio::join!(transport.call_tool(ToolCall::new("put")), ask_and_go(server));
    assert!(reply.is_err() && began.elapsed() < Duration::from_millis(10));
    assert!(transport.is_closed());
}

#[tokio::test(start_paused = true)]
async fn r22_the_id_of_a_task_is_lost() {
    let task = json!({
        "resultType": "task", "taskId": "t-17", "status": "working", "ttlMs": null,
        "createdAt": "2026-11-30T10:00:00Z", "lastUpdatedAt": "2026-11-30T10:00:00Z",
    });
    let serve = async |server: &mut Server| {
        let request = server.expect("tools/call").await;
        server.answer(&request, task.clone()).await;
    };
    let (service, mut server) = raw().await;
    let (reply, ()) = tokio::join!(service.peer().call_tool(params()), serve(&mut server));
    assert!(matches!(reply, Err(ServiceError::UnexpectedResponse)));

    let (transport, mut server) = connect().await;
    let (reply, ()) = tokio::join!(transport.call_tool(put()), serve(&mut server));
    assert!(matches!(reply, Ok(CallReply::Task(task)) if task.task.task_id == "t-17"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_its_newline_is_thrown_away() {
    let serve = async |mut server: Server| {
        let request = server.expect("tools/call").await;
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": text_result("done")});
        server.write(answer.to_string()).await;
    };
    let (service, server) = raw().await;
    let (reply, ()) = tokio::join!(service.call_tool(params()), serve(server));
    assert!(matches!(reply, Err(ServiceError::TransportClosed)));

    let (transport, server) = connect().await;
    let (reply, ()): (Result<_, TransportError>, ()) =
        tokio::join!(transport.call_tool(put()), serve(server));
    assert!(reply.is_ok());
}
