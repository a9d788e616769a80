//! The end of a connection: everybody is told at once, each with its own evidence.

use std::{sync::Arc, time::Duration};

use mcp_transport::{
    CallReply, Delivery, ErrorClass, Event, Fence, StdioTransport, ToolCall, Transport,
    rmcp::{
        self, ClientHandler, ErrorData,
        service::{RequestContext, RoleClient},
    },
};
use serde_json::json;
use tokio::{task::JoinSet, time::Instant};

use crate::server::{Ends, connect, connect_as, ends, legacy, put, settle, text_result};

/// A host that never comes back with an answer to the server, so that rmcp's service takes its five
/// seconds to end.
struct Unhurried;

impl ClientHandler for Unhurried {
    async fn ping(&self, _: RequestContext<RoleClient>) -> Result<(), ErrorData> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_stream_fails_a_thousand_calls_in_flight_at_once() {
    let (transport, mut server) = connect_as(Unhurried, legacy()).await;
    let transport = Arc::new(transport);
    let mut events = transport.events();
    let mut calls = JoinSet::new();
    for _ in 0..1_000 {
        let transport = transport.clone();
        calls.spawn(async move { transport.call_tool(ToolCall::new("put")).await });
    }
    for _ in 0..1_000 {
        server.expect("tools/call").await;
    }
    server.send(json!({"jsonrpc": "2.0", "id": "s1", "method": "ping"})).await;
    settle().await;
    let began = Instant::now();
    drop(server);
    while let Some(reply) = calls.join_next().await {
        let error = reply.unwrap().unwrap_err();
        assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
    }
    assert_eq!(events.next().await, Event::Closed);
    assert_eq!(began.elapsed(), Duration::ZERO, "rmcp is still draining");
    assert!(transport.is_closed());
    let told = tokio::time::timeout(Duration::from_secs(1), async { transport.events().next().await }).await;
    assert_eq!(told, Ok(Event::Closed), "whoever asks later is told, too");
    let error = transport.call_tool(put()).await.unwrap_err();
    assert_eq!((error.kind().code(), error.delivery()), ("connection_closed", Delivery::Unsent));
    assert_eq!(transport.close().await, Fence::None);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_lacks_only_its_newline_is_one_and_half_an_answer_is_none() {
    for (cut, answered) in [(0, true), (1, false), (20, false)] {
        let (transport, mut server) = connect().await;
        let serve = async {
            let request = server.expect("tools/call").await;
            let id = &request["id"];
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": text_result("done")}).to_string();
            server.write(&answer[..answer.len() - cut]).await;
            drop(server);
        };
        let (reply, ()) = tokio::join!(transport.call_tool(put()), serve);
        match reply {
            Ok(reply) => assert!(answered && matches!(reply, CallReply::Result(_))),
            Err(error) => {
                assert!(!answered);
                assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
            }
        }
        assert!(transport.is_closed());
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_came_before_the_end_stand() {
    let (transport, mut server) = connect().await;
    let serve = async {
        let (first, second) = (server.expect("tools/call").await, server.expect("tools/call").await);
        server.answer(&second, text_result("second")).await;
        drop((server, first));
    };
    let (first, second, ()) = tokio::join!(transport.call_tool(put()), transport.call_tool(put()), serve);
    assert_eq!(first.unwrap_err().class(), ErrorClass::Connection);
    assert!(second.is_ok());
}

#[tokio::test(start_paused = true)]
async fn closing_ends_the_calls_in_flight_and_both_streams() {
    let (transport, mut server) = connect().await;
    let transport = Arc::new(transport);
    let call = tokio::spawn({
        let transport = transport.clone();
        async move { transport.call_tool(ToolCall::new("put")).await }
    });
    let request = server.expect("tools/call").await;
    assert_eq!(format!("{transport:?}"), "StdioTransport { closed: false, .. }");
    transport.close().await;
    assert_eq!(format!("{transport:?}"), "StdioTransport { closed: true, .. }");
    let error = call.await.unwrap().unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
    assert_eq!(server.line().await, None);
    server.send_or_not(json!({"jsonrpc": "2.0", "id": request["id"], "result": {}})).await;
    assert!(transport.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_transport_closes_its_side() {
    let (transport, mut server) = connect().await;
    drop(transport);
    assert_eq!(server.line().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_connect_leaves_nothing_open() {
    let Ends { mut server, reader, writer } = ends(1024);
    let connecting = StdioTransport::over(reader, writer, Unhurried, legacy());
    assert!(tokio::time::timeout(Duration::from_secs(5), connecting).await.is_err());
    server.expect("initialize").await;
    assert_eq!(server.line().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_shakes_hands_is_given_up_after_a_minute() {
    let Ends { mut server, reader, writer } = ends(1024);
    let began = Instant::now();
    let error = StdioTransport::over(reader, writer, Unhurried, legacy()).await.unwrap_err();
    assert_eq!((error.kind().code(), error.class()), ("connect_timeout", ErrorClass::Connection));
    assert_eq!(error.delivery(), Delivery::Unsent);
    assert_eq!(began.elapsed(), Duration::from_secs(60));
    server.expect("initialize").await;
    assert_eq!(server.line().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_failed_handshake_says_how() {
    for (answer, kind, class) in [
        (json!({"error": {"code": -32000, "message": "no"}}), "rejected", ErrorClass::Other),
        (json!({"result": {"tools": []}}), "handshake_failed", ErrorClass::Other),
    ] {
        let Ends { mut server, reader, writer } = ends(1024 * 64);
        let serve = async {
            let mut message = answer;
            message["jsonrpc"] = "2.0".into();
            message["id"] = server.expect("initialize").await["id"].clone();
            server.send(message).await;
            server.line().await
        };
        let (error, rest) = tokio::join!(
            StdioTransport::over(reader, writer, rmcp::model::ClientConfig::default(), legacy()),
            serve
        );
        let error = error.unwrap_err();
        assert_eq!((error.kind().code(), error.class()), (kind, class));
        assert_eq!((error.delivery(), rest), (Delivery::Unsent, None));
    }
    let Ends { server, reader, writer } = ends(1024 * 64);
    drop(server);
    let error = StdioTransport::over(reader, writer, Unhurried, legacy()).await.unwrap_err();
    assert_eq!((error.kind().code(), error.class()), ("connect_failed", ErrorClass::Connection));
}

#[test]
fn a_runtime_that_goes_down_ends_the_connection() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let first = runtime();
    let (transport, server) = first.block_on(connect());
    drop(first);
    let error = runtime().block_on(transport.call_tool(put())).unwrap_err();
    assert_eq!((error.kind().code(), error.delivery()), ("connection_closed", Delivery::Unsent));
    assert_eq!(runtime().block_on(transport.close()), Fence::None);
    drop(server);
}
