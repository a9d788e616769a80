//! Answers that come in pieces, in too large a piece, or as something else than a result.

use mcp_tool::{
    CallReply, Transport,
    mcp_transport::{Delivery, ErrorClass, ErrorKind},
};
use mcp_tool_cli::fault_server::{Era, Fault, Http, HttpFault, Reply, Resumed, Scenario};
use rmcp::ServiceError;

use crate::{call, counts, put, raw, server::Server, shows};

/// More than rmcp allows, and more than we do.
const TOO_LARGE: Fault = Fault::AnswerHuge { bytes: 20 << 20 };

#[tokio::test]
async fn r8_a_stream_is_resumed_a_bounded_number_of_times_in_total() {
    // A resumption that connects and ends empty, and one that is refused, as after a restart.
    for (resumed, at_least, ours) in [(Resumed::Empty, 100, 5), (Resumed::Status(404), 2, 1)] {
        let scenario = put()
            .http(Http::new().reply(Reply::SseWithIds).retry_ms(1))
            .on_call(1, HttpFault::SseEndsAfterId { resumed });

        let (server, raw) = raw::connect(&scenario).await;
        let peer = raw.peer().clone();
        let calling = tokio::spawn(async move { peer.call_tool(raw::put("a")).await });
        server.wait_for(move |record| record.resumes().len() >= at_least).await;
        shows("R8", !calling.is_finished() && counts(&server.record()) == (1, 1));
        calling.abort();
        server.stop().await;

        let server = Server::start(&scenario).await;
        let transport = server.connector().start().await.unwrap();
        let error = transport.call_tool(call("a")).await.unwrap_err();
        assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
        let record = server.record();
        assert_eq!((record.resumes().len(), counts(&record)), (ours, (1, 1)), "{resumed:?}");
        server.stop().await;
    }
}

#[tokio::test]
async fn r9_a_reply_that_is_too_large_is_no_lost_connection() {
    let as_event = put().http(Http::new().reply(Reply::Sse)).on_call(1, TOO_LARGE);
    let as_body = put().on_call(1, TOO_LARGE);

    let (server, raw) = raw::connect(&as_event).await;
    let error = raw.peer().call_tool(raw::put("a")).await.unwrap_err();
    shows("R9", matches!(error, ServiceError::TransportClosed) && counts(&server.record()) == (1, 1));
    server.stop().await;

    let (server, raw) = raw::connect(&as_body).await;
    let error = raw.peer().call_tool(raw::put("a")).await.unwrap_err();
    // The same as of a call that never left (R3).
    shows("R9", matches!(error, ServiceError::TransportSend(_)) && counts(&server.record()) == (1, 1));
    server.stop().await;

    for scenario in [as_event, as_body] {
        let server = Server::start(&scenario).await;
        let transport = server.connector().start().await.unwrap();
        let error = transport.call_tool(call("a")).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.class(), error.delivery()),
            (ErrorKind::ReplyTooLarge, ErrorClass::Other, Delivery::Unknown)
        );
        assert_eq!((counts(&server.record()), server.record().resumes().len()), ((1, 1), 0));
        transport.call_tool(call("b")).await.unwrap();
        server.stop().await;
    }
}

#[tokio::test]
async fn r22_a_task_keeps_its_id() {
    let scenario: Scenario = put().era(Era::Modern).on_call(1, Fault::Task);

    let server = Server::start(&scenario).await;
    let raw = raw::discover(server.url()).await;
    let error = raw.peer().call_tool(raw::put("a")).await.unwrap_err();
    shows("R22", matches!(error, ServiceError::UnexpectedResponse) && counts(&server.record()) == (1, 1));
    server.stop().await;

    let server = Server::start(&scenario).await;
    let transport = server.connector().start().await.unwrap();
    let reply = transport.call_tool(call("a")).await.unwrap();
    let CallReply::Task(task) = reply else { panic!("{reply:?}") };
    assert_eq!(task.task.task_id, format!("task-{}", server.record().received()[0].id));
    server.stop().await;
}
