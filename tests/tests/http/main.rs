//! What one lost call over Streamable HTTP leads to: every fault, with a tool that may be repeated and
//! one that may not, in both eras, over real sockets. The server's ledger is the judge: executions, and
//! one POST per attempt.

#[path = "../bench/server.rs"]
mod server;

use std::time::Duration;

use mcp_tool::{Client, HttpConnector, Outcome, ToolCall, Trust};
use mcp_tool_cli::fault_server::{
    Era, Fault, Http, HttpFault, Moment, Reply, Response, Resumed, Scenario, Sessions, ToolSpec,
};
use serde_json::json;

use crate::server::Server;

/// What must come of a call that meets a fault.
#[derive(Clone, Copy, PartialEq)]
enum Comes {
    /// The server's answer, with the first attempt.
    Answer,
    /// A loss of the connection: replayed where that is safe.
    Loss,
    /// The end, with this reason, and nothing sent again.
    End(&'static str),
}

struct Case {
    fault: Fault,
    reply: Reply,
    /// Executions by the first attempt.
    executed: usize,
    comes: Comes,
}

fn case(fault: impl Into<Fault>, executed: usize, comes: Comes) -> Case {
    Case { fault: fault.into(), reply: Reply::Json, executed, comes }
}

fn sse(reply: Reply, fault: impl Into<Fault>, executed: usize, comes: Comes) -> Case {
    Case { reply, ..case(fault, executed, comes) }
}

fn cases(era: Era) -> Vec<Case> {
    use Comes::{Answer, End, Loss};
    use HttpFault::{JsonCut, Reset, Respond, SseCut, SseEnds, SseEndsAfterId};
    use Moment::{AfterCommit, BeforeCommit};
    let status = |code| Respond(BeforeCommit, Response::new(code).text("text/plain", "no"));
    // There are no sessions to lose from 2026-07-28 on.
    let lost_session = if era == Era::Legacy { Loss } else { End("http_status") };
    vec![
        case(Reset(BeforeCommit), 0, Loss),
        case(Reset(AfterCommit), 1, Loss),
        case(Fault::DieBeforeCommit, 0, Loss),
        case(Fault::DieAfterCommit, 1, Loss),
        case(JsonCut, 1, Loss),
        sse(Reply::Sse, SseCut, 1, Loss),
        sse(Reply::Sse, SseEnds, 1, Loss),
        sse(Reply::SseWithIds, SseEndsAfterId { resumed: Resumed::Answer }, 1, Answer),
        sse(Reply::SseWithIds, SseEndsAfterId { resumed: Resumed::Empty }, 1, Loss),
        sse(Reply::SseWithIds, SseEndsAfterId { resumed: Resumed::Status(404) }, 1, Loss),
        case(Respond(BeforeCommit, Response::new(404)), 0, lost_session),
        case(Respond(AfterCommit, Response::new(404)), 1, lost_session),
        case(Respond(BeforeCommit, Response::not_found_by_proxy()), 0, lost_session),
        case(Respond(BeforeCommit, Response::unauthorised()), 0, End("authorisation_required")),
        case(status(401), 0, End("authorisation_required")),
        case(status(403), 0, End("authorisation_required")),
        case(status(400), 0, End("http_status")),
        case(Respond(BeforeCommit, Response::too_many_requests(1)), 0, End("http_status")),
        case(status(503), 0, End("http_status")),
        case(Respond(AfterCommit, Response::new(503)), 1, End("http_status")),
        case(Respond(AfterCommit, Response::new(500).rpc_error(-32603, "session not found")), 1, Answer),
        case(Respond(BeforeCommit, Response::redirect(307)), 0, End("http_status")),
        case(Respond(AfterCommit, Response::redirect(308)), 1, End("http_status")),
        case(Respond(BeforeCommit, Response::redirect(302)), 0, End("http_status")),
        case(Respond(AfterCommit, Response::new(202)), 1, End("invalid_reply")),
        case(Respond(AfterCommit, Response::new(204)), 1, End("invalid_reply")),
        case(Respond(AfterCommit, Response::new(200).answer_as("text/html")), 1, End("invalid_reply")),
        case(
            Respond(AfterCommit, Response::new(200).text("application/json", "{}")),
            1,
            End("invalid_reply"),
        ),
        case(Fault::AnswerWrongId, 1, End("invalid_reply")),
        case(Fault::AnswerNoToolResult, 1, End("invalid_reply")),
        case(Fault::AnswerHuge { bytes: 20 << 20 }, 1, End("reply_too_large")),
        sse(Reply::Sse, Fault::AnswerHuge { bytes: 20 << 20 }, 1, End("reply_too_large")),
        case(Fault::AnswerHuge { bytes: 11 << 20 }, 1, Answer),
        case(Fault::Hang, 1, End("deadline")),
        case(Fault::lost_connection_error(), 1, Answer),
        case(Fault::lost_connection_result(), 1, Answer),
    ]
}

async fn meets(case: Case, era: Era, safe: bool) {
    let row = format!("{} {:?} {era:?} safe={safe}", case.fault.name(), case.reply);
    let put = match safe {
        true => ToolSpec::new("put").annotations(json!({ "idempotentHint": true })),
        false => ToolSpec::new("put"),
    };
    let scenario =
        Scenario::new().era(era).tool(put).http(Http::new().reply(case.reply)).on_call(1, case.fault);
    let server = Server::start(&scenario).await;
    let client = Client::builder("http", server.connector()).trust(Trust::BOTH).build();
    let deadline = Duration::from_secs(if case.comes == Comes::End("deadline") { 2 } else { 60 });
    let result =
        client.call(ToolCall::new("put").with_argument("key", row.as_str()).with_deadline(deadline)).await;

    let (executed, attempts) = match (case.comes, safe) {
        (Comes::Loss, true) => (case.executed + 1, 2),
        _ => (case.executed, 1),
    };
    let record = server.record();
    match (&result, case.comes) {
        (Ok(answer), Comes::Answer) => assert_eq!((answer.attempts, answer.replays), (1, 0), "{row}"),
        (Ok(answer), Comes::Loss) if safe => {
            assert_eq!(
                (answer.attempts, answer.replays, answer.earlier_unknown),
                (2, 1, answer.earlier_unknown),
                "{row}"
            );
        }
        (Err(error), Comes::Loss) if !safe => {
            assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unannotated"), "{row}");
        }
        (Err(error), Comes::End(reason)) => {
            assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, reason), "{row}");
        }
        _ => panic!("{row}: {result:?}, {record:?}"),
    }
    if let Err(error) = &result {
        assert_eq!((error.attempts(), error.replays()), (attempts, attempts - 1), "{row}");
    }
    assert_eq!(record.executions().len(), executed, "executions, {row}");
    assert_eq!(record.received().len(), attempts as usize, "one POST per attempt, {row}");

    let next = client.call(ToolCall::new("put").with_argument("key", "the next")).await;
    assert!(next.is_ok(), "the next call works, {row}: {next:?}");
    server.stop().await;
}

async fn every_fault(era: Era) {
    for safe in [true, false] {
        let rows = cases(era).into_iter().map(|case| tokio::spawn(meets(case, era, safe)));
        for row in rows.collect::<Vec<_>>() {
            row.await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_ends_as_the_table_says_with_sessions() {
    every_fault(Era::Legacy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_ends_as_the_table_says_without_sessions() {
    every_fault(Era::Modern).await;
}

#[tokio::test]
async fn a_server_that_was_restarted_while_idle_costs_the_next_call_nothing_or_the_one_after() {
    // A 404 is a refusal, so the call is in the peer's word; a status of the server's own is in doubt.
    for (sessions, safe, first) in [
        (Sessions::NotFound, true, Ok(())),
        (Sessions::NotFound, false, Err("unannotated")),
        (Sessions::BadRequest, true, Err("http_status")),
        (Sessions::BadRequest, false, Err("http_status")),
    ] {
        let put = match safe {
            true => ToolSpec::new("put").annotations(json!({ "readOnlyHint": true })),
            false => ToolSpec::new("put"),
        };
        let scenario =
            Scenario::new().tool(put).http(Http::new().sessions(sessions)).on_call(1, Fault::DieAfterAnswer);
        let server = Server::start(&scenario).await;
        let client = Client::builder("http", server.connector()).trust(Trust::BOTH).build();
        client.call(ToolCall::new("put")).await.unwrap();
        server.wait_for(|record| record.ports().len() == 2).await;
        let second = client.call(ToolCall::new("put")).await;
        let reason = second.as_ref().map(drop).map_err(|error| error.reason().code());
        assert_eq!(reason, first, "{sessions:?} safe={safe}: {second:?}");
        client.call(ToolCall::new("put")).await.unwrap();
        server.stop().await;
    }
}

#[tokio::test]
async fn a_call_to_a_server_that_is_down_is_delivered_when_it_is_back() {
    let scenario = Scenario::new().tool(ToolSpec::new("put")).on_call(1, Fault::DieAfterAnswer);
    let server = Server::start(&scenario).await;
    let client = Client::builder("http", server.connector()).build();
    client.call(ToolCall::new("put")).await.unwrap();
    server.stay_down().await;
    let calling =
        tokio::spawn(
            async move { client.call(ToolCall::new("put").with_argument("key", "delivered")).await },
        );
    server.come_back();
    let answer = calling.await.unwrap().unwrap();
    assert_eq!((answer.attempts, answer.replays), (1, 0));
    let executed = server.record().executions();
    assert_eq!(executed.iter().filter(|execution| execution.key == "delivered").count(), 1);
    server.stop().await;
}

#[tokio::test]
async fn bad_addresses_are_told_in_one_line_without_a_secret() {
    for url in ["", "not a url", "ftp://host/x", "http://", "file:///etc/passwd"] {
        assert!(HttpConnector::new(url).is_err(), "{url}");
    }
    let html = Http::new().handshake(Response::new(200).text("text/html", "<html>canary</html>"));
    let server = Server::start(&Scenario::new().http(html)).await;
    let port = server.port();
    for url in [
        format!("http://canary:canary@127.0.0.1:{port}/canary?canary"),
        "http://127.0.0.1:1/canary".to_owned(),
    ] {
        let connector = HttpConnector::new(&url).unwrap();
        let client = Client::builder("http", connector).build();
        let call = ToolCall::new("put").with_deadline(Duration::from_secs(30));
        let error = client.call(call).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotExecuted);
        let told = format!("{error} {error:?} {:?}", error.transport_error());
        assert!(!told.contains("canary"), "{told}");
        assert!(!error.to_string().contains('\n'));
    }
    server.stop().await;
}
