//! Deadline, idle timeout, progress, cancellation and dropping of calls that have left.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_transport::{CancellationToken, Delivery, ErrorClass, ToolCall, Transport};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::server::{connect, put, settle, text_result};

#[tokio::test(start_paused = true)]
async fn a_call_ends_by_its_deadline_and_the_server_is_told() {
    let (transport, mut server) = connect().await;
    let began = Instant::now();
    let error = transport.call_tool(put()).await.unwrap_err();
    assert_eq!((error.class(), error.kind().code()), (ErrorClass::Other, "deadline"));
    assert_eq!(error.delivery(), Delivery::Unknown);
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    let request = server.expect("tools/call").await;
    let cancelled = server.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    assert!(!transport.is_closed());
}

#[tokio::test(start_paused = true)]
async fn progress_resets_the_idle_timeout_and_reaches_the_listener_but_not_the_deadline() {
    let (transport, mut server) = connect().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let call = ToolCall::new("slow")
        .with_deadline(Duration::from_secs(100))
        .with_idle_timeout(Duration::from_secs(10))
        .with_progress({
            let seen = seen.clone();
            move |progress| {
                assert!(!format!("{progress:?}").contains("token"), "no content");
                seen.lock().unwrap().push(progress.progress);
            }
        });
    let began = Instant::now();
    let work = async {
        let request = server.expect("tools/call").await;
        for step in 1..=5 {
            sleep(Duration::from_secs(9)).await;
            server.progress(&request, step).await;
            // Nobody's progress, and no progress at all, are no sign of life.
            server.notify("notifications/progress", json!({"progressToken": 99, "progress": 1})).await;
            server.notify("notifications/message", json!({"level": "info", "data": "still here"})).await;
        }
    };
    let (reply, ()) = tokio::join!(transport.call_tool(call), work);
    assert_eq!(reply.unwrap_err().kind().code(), "idle_timeout");
    assert_eq!(began.elapsed(), Duration::from_secs(5 * 9 + 10));
    assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0]);

    let call = put().with_idle_timeout(Duration::from_millis(400));
    let work = async {
        server.expect("notifications/cancelled").await;
        let request = server.expect("tools/call").await;
        loop {
            sleep(Duration::from_millis(300)).await;
            server.progress(&request, 1).await;
        }
    };
    let began = Instant::now();
    tokio::select! {
        reply = transport.call_tool(call) => assert_eq!(reply.unwrap_err().kind().code(), "deadline"),
        () = work => {}
    }
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn without_an_idle_timeout_only_the_deadline_counts() {
    let (transport, _server) = connect().await;
    let call = ToolCall::new("quiet").without_idle_timeout().with_deadline(Duration::from_secs(3_000));
    let began = Instant::now();
    assert_eq!(transport.call_tool(call).await.unwrap_err().kind().code(), "deadline");
    assert_eq!(began.elapsed(), Duration::from_secs(3_000));
    let began = Instant::now();
    let quiet = ToolCall::new("quiet").with_deadline(Duration::from_secs(3_000));
    assert_eq!(transport.call_tool(quiet).await.unwrap_err().kind().code(), "idle_timeout");
    assert_eq!(began.elapsed(), mcp_transport::DEFAULT_IDLE_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_an_abort_and_the_server_is_told_at_once() {
    let (transport, mut server) = connect().await;
    let token = CancellationToken::new();
    let began = Instant::now();
    let call = transport.call_tool(put().with_cancellation(token.clone()));
    let cancel = async {
        let request = server.expect("tools/call").await;
        token.cancel();
        assert_eq!(server.expect("notifications/cancelled").await["params"]["requestId"], request["id"]);
        request
    };
    let (reply, request) = tokio::join!(call, cancel);
    let error = reply.unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Abort, Delivery::Unknown));
    assert_eq!(began.elapsed(), Duration::ZERO);

    // The late answer harms nothing.
    server.answer(&request, text_result("late")).await;
    server.progress(&request, 1).await;
    assert!(tokio::join!(transport.call_tool(put()), server.serve_one("next")).0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_tells_the_server_and_leaves_the_connection_alone() {
    let (transport, mut server) = connect().await;
    assert!(timeout(Duration::from_millis(1), transport.call_tool(ToolCall::new("put"))).await.is_err());
    let request = server.expect("tools/call").await;
    let cancelled = server.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    server.answer(&request, text_result("late")).await;
    assert!(tokio::join!(transport.call_tool(put()), server.serve_one("next")).0.is_ok());
    server.hears_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_there_wins_over_an_abort_and_an_abort_over_an_error() {
    let (transport, mut server) = connect().await;
    let token = CancellationToken::new();
    let mut call = std::pin::pin!(transport.call_tool(put().with_cancellation(token.clone())));
    assert!(timeout(Duration::ZERO, &mut call).await.is_err());
    server.serve_one("done").await;
    settle().await;
    token.cancel();
    assert!(call.await.is_ok());
    server.hears_nothing().await;

    let token = CancellationToken::new();
    let mut call = std::pin::pin!(transport.call_tool(put().with_cancellation(token.clone())));
    assert!(timeout(Duration::ZERO, &mut call).await.is_err());
    server.expect("tools/call").await;
    drop(server);
    settle().await;
    token.cancel();
    let error = call.await.unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Abort, Delivery::Unknown));
}

#[tokio::test(start_paused = true)]
async fn a_page_of_tools_ends_by_its_own_bound_and_the_server_is_told() {
    let (transport, mut server) = connect().await;
    let began = Instant::now();
    let error = transport.list_tools(None).await.unwrap_err();
    assert_eq!((error.class(), error.kind().code()), (ErrorClass::Other, "deadline"));
    assert_eq!(began.elapsed(), Duration::from_secs(30));
    server.expect("tools/list").await;
    server.expect("notifications/cancelled").await;
}
