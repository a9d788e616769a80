//! Calls that wait: behind a blocked writer, behind each other, for their guard.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_transport::{
    CancellationToken, Delivery, ErrorClass, Fence, Guard, StdioTransport, ToolCall, Transport, Withdrawn,
    rmcp::model::ClientConfig,
};
use tokio::time::Instant;

use crate::{
    server::{Ends, ROOM, Server, connect_over, ends, legacy, put, settle, text_result},
    valve::{Then, Valve},
};

async fn connect() -> (Valve, Arc<StdioTransport>, Server) {
    let valve = Valve::default();
    let Ends { server, reader, writer } = ends(ROOM);
    let (transport, server) =
        connect_over(server, reader, valve.on(writer), ClientConfig::default(), legacy()).await;
    (valve, Arc::new(transport), server)
}

fn large() -> ToolCall {
    ToolCall::new("large").with_argument("text", "x".repeat(100_000))
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cut_while_it_waits_is_never_sent_and_the_others_are() {
    let (valve, transport, mut server) = connect().await;
    valve.allow(10, Then::Stall);
    let first = tokio::spawn({
        let transport = transport.clone();
        async move { transport.call_tool(large()).await }
    });
    settle().await;
    let token = CancellationToken::new();
    let cancelled = ToolCall::new("cancelled").with_cancellation(token.clone());
    let late = ToolCall::new("late").with_deadline(Duration::from_secs(1));
    let idle = ToolCall::new("idle").with_idle_timeout(Duration::from_secs(1));
    let (cancelled, late, idle, ()) = tokio::join!(
        transport.call_tool(cancelled),
        transport.call_tool(late),
        transport.call_tool(idle),
        async {
            let dropped = transport.call_tool(ToolCall::new("dropped"));
            assert!(tokio::time::timeout(Duration::from_millis(500), dropped).await.is_err());
            token.cancel();
        }
    );
    let [cancelled, late, idle] = [cancelled, late, idle].map(|reply| {
        let error = reply.unwrap_err();
        (error.kind().code(), error.delivery())
    });
    assert_eq!(cancelled, ("cancelled", Delivery::Unsent));
    assert_eq!(late, ("deadline", Delivery::Unsent));
    assert_eq!(idle, ("idle_timeout", Delivery::Unsent));

    valve.open();
    server.serve_one("first").await;
    assert!(first.await.unwrap().is_ok());
    let next = transport.call_tool(ToolCall::new("next"));
    let serve = async {
        let request = server.expect("tools/call").await;
        assert_eq!(request["params"]["name"], "next", "nothing was sent in between");
        server.answer(&request, text_result("next")).await;
    };
    assert!(tokio::join!(next, serve).0.is_ok());
    server.hears_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_frame_cut_in_the_middle_ends_sending_but_not_receiving() {
    let (valve, transport, mut server) = connect().await;
    let first = tokio::spawn({
        let transport = transport.clone();
        async move { transport.call_tool(ToolCall::new("first")).await }
    });
    let first_request = server.expect("tools/call").await;
    let mark = valve.accepted();
    valve.allow(10, Then::Stall);
    let cut = transport.call_tool(large().with_deadline(Duration::from_secs(1)));
    // It waits behind the frame that is cut, so nothing of it has left.
    let behind = transport.call_tool(ToolCall::new("behind"));
    let (cut, behind) = tokio::join!(cut, behind);
    assert_eq!(cut.unwrap_err().delivery(), Delivery::Unsent);
    let behind = behind.unwrap_err();
    assert_eq!((behind.class(), behind.delivery()), (ErrorClass::Connection, Delivery::Unsent));

    assert!(transport.is_closed());
    let refused = transport.call_tool(ToolCall::new("later")).await.unwrap_err();
    assert_eq!((refused.kind().code(), refused.delivery()), ("connection_closed", Delivery::Unsent));
    assert_eq!(transport.list_tools(None).await.unwrap_err().kind().code(), "connection_closed");
    valve.open();
    settle().await;
    assert_eq!(valve.accepted() - mark, 10, "not even a cancellation is sent");

    assert!(!first.is_finished());
    // A connection to be superseded waits for it, because the server may still answer.
    let retiring = tokio::spawn({
        let transport = transport.clone();
        async move { transport.retire().await }
    });
    settle().await;
    assert!(!retiring.is_finished());
    server.answer(&first_request, text_result("first")).await;
    assert!(first.await.unwrap().is_ok());
    assert_eq!(retiring.await.unwrap(), Fence::None);
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_what_may_still_be_answered() {
    let (valve, transport, mut server) = connect().await;
    let first = tokio::spawn({
        let transport = transport.clone();
        async move { transport.call_tool(put()).await }
    });
    server.expect("tools/call").await;
    valve.allow(10, Then::Stall);
    let _ = transport.call_tool(large().with_deadline(Duration::from_secs(1))).await;
    assert_eq!(transport.close().await, Fence::None);
    let error = first.await.unwrap().unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
}

#[tokio::test(start_paused = true)]
async fn a_frame_that_lacks_only_its_newline_ends_sending_too() {
    let (valve, transport, _server) = connect().await;
    let mark = valve.accepted();
    let call = || put().with_argument("text", "x".repeat(3_000));
    let _ = transport.call_tool(call()).await;
    let frame = valve.accepted_since(mark);
    let frame = frame.iter().position(|byte| *byte == b'\n').unwrap() + 1;

    let mark = valve.accepted();
    valve.allow(frame - 1, Then::Stall);
    let error = transport.call_tool(call()).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::Unknown);
    assert!(transport.is_closed(), "at once, not only when the writer moves again");
    valve.open();
    settle().await;
    assert_eq!(valve.accepted() - mark, frame - 1);
}

#[tokio::test(start_paused = true)]
async fn behind_a_blocked_writer_calls_end_by_their_deadline_and_closing_does_not_wait() {
    let (valve, transport, _server) = connect().await;
    valve.allow(10, Then::Stall);
    let stuck = tokio::spawn({
        let transport = transport.clone();
        async move { transport.call_tool(large()).await }
    });
    settle().await;
    let began = Instant::now();
    let error = transport.call_tool(put()).await.unwrap_err();
    assert_eq!((error.kind().code(), error.delivery()), ("deadline", Delivery::Unsent));
    assert_eq!(began.elapsed(), Duration::from_secs(1));

    let began = Instant::now();
    // Twice, at the same time and after each other.
    tokio::join!(transport.close(), transport.close());
    transport.close().await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    let error = stuck.await.unwrap().unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unsent));
    assert_eq!(transport.call_tool(put()).await.unwrap_err().delivery(), Delivery::Unsent);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_meets_a_broken_writer_fails_at_once() {
    let (valve, transport, _server) = connect().await;
    valve.allow(0, Then::Fail);
    let began = Instant::now();
    // All are accepted by the transport before the first of them finds the writer broken.
    let calls = (0..100).map(|_| {
        let transport = transport.clone();
        tokio::spawn(async move { transport.call_tool(ToolCall::new("put")).await })
    });
    for call in calls.collect::<Vec<_>>() {
        let error = call.await.unwrap().unwrap_err();
        assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unsent));
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_guard_is_asked_directly_before_the_first_byte() {
    let (valve, transport, mut server) = connect().await;
    let mark = valve.accepted();
    let allowed = Arc::new(AtomicBool::new(true));
    let asked = Arc::new(AtomicUsize::new(0));
    let guard = Guard::new({
        let (allowed, asked) = (allowed.clone(), asked.clone());
        move || {
            asked.fetch_add(1, Ordering::Relaxed);
            allowed.load(Ordering::Relaxed).then_some(()).ok_or(Withdrawn)
        }
    });
    // It was allowed when the call was made, and is not any more when the writer takes it.
    valve.allow(0, Then::Stall);
    let withdraw = async {
        settle().await;
        assert!(asked.load(Ordering::Relaxed) > 0);
        allowed.store(false, Ordering::Relaxed);
        valve.open();
    };
    let (reply, ()) = tokio::join!(transport.call_tool(put().with_guard(guard.clone())), withdraw);
    let error = reply.unwrap_err();
    assert_eq!((error.kind().code(), error.delivery()), ("withdrawn", Delivery::Unsent));
    assert_eq!(valve.accepted(), mark, "not one byte");

    // The stream lives, and a guard that allows is asked no more once the first byte has left.
    allowed.store(true, Ordering::Relaxed);
    valve.allow(1, Then::Stall);
    let go_on = async {
        settle().await;
        allowed.store(false, Ordering::Relaxed);
        valve.open();
        server.serve_one("done").await;
    };
    assert!(tokio::join!(transport.call_tool(put().with_guard(guard)), go_on).0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_or_late_before_it_begins_sends_nothing() {
    let (valve, transport, _server) = connect().await;
    let mark = valve.accepted();
    let token = CancellationToken::new();
    token.cancel();
    let error = transport.call_tool(put().with_cancellation(token.clone())).await.unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Abort, Delivery::Unsent));
    let error = transport.call_tool(put().with_deadline(Duration::ZERO)).await.unwrap_err();
    assert_eq!((error.kind().code(), error.delivery()), ("deadline", Delivery::Unsent));
    settle().await;
    assert_eq!(valve.accepted(), mark);

    transport.close().await;
    let error = transport.call_tool(put().with_cancellation(token)).await.unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Abort, Delivery::Unsent));
}

#[tokio::test(start_paused = true)]
async fn what_a_writer_with_a_buffer_holds_back_is_flushed() {
    let Ends { server, reader, writer } = ends(ROOM);
    let writer = tokio::io::BufWriter::with_capacity(64 * 1024, writer);
    let (transport, mut server) =
        connect_over(server, reader, writer, ClientConfig::default(), legacy()).await;
    assert!(tokio::join!(transport.call_tool(put()), server.serve_one("done")).0.is_ok());
}
