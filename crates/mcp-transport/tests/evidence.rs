//! The proof of unsent, with the frame cut at every byte.

use std::time::Duration;

use mcp_transport::{
    CancellationToken, Delivery, ErrorClass, StdioTransport, ToolCall, Transport, TransportError,
    rmcp::model::ClientConfig,
};
use serde_json::Value;

use crate::{
    server::{Ends, ROOM, Server, connect_over, ends, legacy, put, settle, text_result},
    valve::{Then, Valve},
};

async fn connect(valve: &Valve) -> (StdioTransport, Server) {
    let Ends { server, reader, writer } = ends(ROOM);
    connect_over(server, reader, valve.on(writer), ClientConfig::default(), legacy()).await
}

/// More than 2,000 bytes, with everything in it that needs escaping.
fn long_call() -> ToolCall {
    put().with_argument("text", "ab\"c\\é\n☃{}[]".repeat(120))
}

/// The call's frame, its newline included, as it leaves on a fresh connection.
async fn frame() -> Vec<u8> {
    let valve = Valve::default();
    let (transport, mut server) = connect(&valve).await;
    let mark = valve.accepted();
    let (reply, ()) = tokio::join!(transport.call_tool(long_call()), server.serve_one("done"));
    assert!(reply.is_ok());
    let frame = valve.accepted_since(mark);
    assert!(frame.len() > 2_000 && frame.ends_with(b"\n"), "{}", frame.len());
    frame
}

/// Makes the call on a fresh connection whose writer accepts this much of the frame and then stalls or
/// fails. Then the writer is opened, and whatever else it gets is returned.
async fn cut_at(bytes: usize, then: Then) -> (TransportError, StdioTransport, Vec<u8>) {
    let valve = Valve::default();
    let (transport, _server) = connect(&valve).await;
    let mark = valve.accepted();
    valve.allow(bytes, then);
    let error = transport.call_tool(long_call()).await.unwrap_err();
    assert_eq!(valve.accepted() - mark, bytes, "cut at {bytes}, then {then:?}");
    valve.open();
    settle().await;
    let rest = valve.accepted_since(mark + bytes);
    (error, transport, rest)
}

#[tokio::test(start_paused = true)]
async fn a_cut_frame_is_unsent_exactly_when_it_cannot_be_parsed_and_no_more_of_it_leaves() {
    let frame = frame().await;
    for bytes in 0..=frame.len() {
        let parsable = serde_json::from_slice::<Value>(&frame[..bytes]).is_ok();
        assert_eq!(parsable, bytes >= frame.len() - 1);
        let expected = if parsable { Delivery::Unknown } else { Delivery::Unsent };
        for then in [Then::Stall, Then::Fail] {
            let (error, transport, rest) = cut_at(bytes, then).await;
            assert_eq!(error.delivery(), expected, "cut at {bytes}, then {then:?}");
            let lost = then == Then::Fail && bytes < frame.len();
            let class = if lost { ErrorClass::Connection } else { ErrorClass::Other };
            assert_eq!(error.class(), class, "cut at {bytes}, then {then:?}");
            let dead = then == Then::Fail || (bytes > 0 && bytes < frame.len());
            assert_eq!(transport.is_closed(), dead, "cut at {bytes}, then {then:?}");
            let rest = String::from_utf8(rest).unwrap();
            if bytes == frame.len() && then == Then::Stall {
                // The request has left whole: the server is told that nobody waits.
                assert!(rest.contains(r#""method":"notifications/cancelled""#), "{rest}");
            } else {
                assert_eq!(rest, "", "cut at {bytes}, then {then:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_and_a_dropped_call_are_sealed_like_one_past_its_deadline() {
    let frame = frame().await;
    let json = frame.len() - 1;
    for bytes in [0, 1, json / 2, json - 1, json, frame.len()] {
        for dropped in [false, true] {
            let valve = Valve::default();
            let (transport, _server) = connect(&valve).await;
            let mark = valve.accepted();
            valve.allow(bytes, Then::Stall);
            let token = CancellationToken::new();
            let call = transport.call_tool(long_call().with_cancellation(token.clone()));
            if dropped {
                let _ = tokio::time::timeout(Duration::from_millis(1), call).await;
            } else {
                let cancel = async {
                    settle().await;
                    token.cancel();
                };
                let error = tokio::join!(call, cancel).0.unwrap_err();
                let expected = if bytes < json { Delivery::Unsent } else { Delivery::Unknown };
                assert_eq!((error.class(), error.delivery()), (ErrorClass::Abort, expected), "{bytes}");
            }
            valve.open();
            settle().await;
            let rest = String::from_utf8(valve.accepted_since(mark + bytes)).unwrap();
            assert_eq!(rest.contains("notifications/cancelled"), bytes == frame.len(), "{bytes}: {rest}");
            assert!(rest.is_empty() || bytes == frame.len(), "{bytes}: {rest}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_for_a_request_that_has_not_left_whole_is_for_somebody_else() {
    let frame = frame().await;
    let request: Value = serde_json::from_slice(&frame).unwrap();
    for bytes in [0, frame.len() - 2] {
        let valve = Valve::default();
        let (transport, mut server) = connect(&valve).await;
        valve.allow(bytes, Then::Stall);
        let early = async {
            settle().await;
            // The id and the token that the call has, though the server cannot know them.
            server.progress(&request, 1).await;
            server.answer(&request, text_result("early")).await;
        };
        let call = long_call().with_progress(|_| panic!("it is not its progress"));
        let (reply, ()) = tokio::join!(transport.call_tool(call), early);
        let error = reply.unwrap_err();
        assert_eq!((error.kind().code(), error.delivery()), ("deadline", Delivery::Unsent));
    }
    // Once it has left, it is: the newline is not waited for.
    let valve = Valve::default();
    let (transport, mut server) = connect(&valve).await;
    valve.allow(frame.len() - 1, Then::Stall);
    let answer = async {
        settle().await;
        server.answer(&request, text_result("done")).await;
    };
    assert!(tokio::join!(transport.call_tool(long_call()), answer).0.is_ok());
}
