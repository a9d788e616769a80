//! What one lost call says about its session, and what of the session outlives the loss.

use std::fs;

use mcp_tool::{Answer, Client, Discovery, Outcome, PagingDiscovery, ToolCall, ToolError, Trust};
use mcp_tool_cli::fault_server::{
    Event, Fault, Http, HttpFault, Moment, Record, Response, Scenario, Sessions, ToolSpec, When,
};
use serde_json::json;
use tokio::task::{JoinHandle, JoinSet};

use crate::server::Server;

/// A client, and the discovery behind it.
#[derive(Clone)]
struct Host {
    client: Client,
    discovery: PagingDiscovery<mcp_tool::HttpConnector>,
}

impl Host {
    fn of(server: &Server) -> Self {
        let discovery = PagingDiscovery::new(server.connector());
        let client = Client::with_discovery("http", discovery.clone()).trust(Trust::BOTH).build();
        Self { client, discovery }
    }

    async fn call(&self, tool: &str, key: &str) -> Result<Answer, ToolError> {
        self.client.call(ToolCall::new(tool).with_argument("key", key)).await
    }

    /// Begins a call, and waits until it has run.
    async fn begin(&self, server: &Server, tool: &'static str, key: &'static str) -> Calling {
        let host = self.clone();
        let calling = tokio::spawn(async move { host.call(tool, key).await });
        server.wait_for(move |record| runs(record, key) == 1).await;
        calling
    }
}

type Calling = JoinHandle<Result<Answer, ToolError>>;

/// `put` may be repeated, `drop` may not.
fn serving() -> Scenario {
    let put = ToolSpec::new("put").annotations(json!({"idempotentHint": true}));
    Scenario::new().tool(put).tool(ToolSpec::new("drop"))
}

fn runs(record: &Record, key: &str) -> usize {
    record.executions().iter().filter(|execution| execution.key == key).count()
}

/// How many sessions there were.
fn sessions(record: &Record) -> usize {
    record.versions().len()
}

/// The calls and listings that came in a session which the server does not know.
fn turned_away(record: &Record) -> Vec<String> {
    record.turned_away().into_iter().filter(|method| method.starts_with("tools/")).collect()
}

/// Whether anything that ends a session was read, whether it was known or not.
fn was_ended(record: &Record) -> bool {
    record.events().iter().any(|event| matches!(event, Event::Delete { .. }))
}

#[tokio::test]
async fn a_lost_answer_leaves_the_session_as_it_is() {
    for fault in [HttpFault::Reset(Moment::AfterCommit), HttpFault::JsonCut, HttpFault::SseEnds] {
        let server = Server::start(&serving().on_call(1, fault.clone()).on_call(3, fault)).await;
        let host = Host::of(&server);
        let answer = host.call("put", "a").await.unwrap();
        assert_eq!((answer.attempts, answer.replays), (2, 1));
        // Listed before the call and again before its replay, in one session.
        assert_eq!((sessions(&server.record()), server.record().lists().len()), (1, 2));

        let error = host.call("drop", "b").await.unwrap_err();
        assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unannotated"));
        // Nothing is done on behalf of a call that may not go out again; the next one asks first.
        assert_eq!(server.record().lists().len(), 2);
        host.call("drop", "c").await.unwrap();
        let record = server.record();
        assert_eq!((sessions(&record), record.lists().len()), (1, 3));
        assert!(!was_ended(&record) && turned_away(&record).is_empty());
        host.discovery.close().await;
        assert_eq!(server.record().ended_sessions(), 1);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_session_that_a_restart_has_ended_is_replaced_for_the_call_or_the_one_after() {
    // A 404 is a refusal that says so. What a status of the server's own means, only a listing can tell;
    // a page is asked for twice.
    let turned_away_at = |sessions| match sessions {
        Sessions::NotFound => vec!["tools/call"],
        _ => vec!["tools/call", "tools/list", "tools/list"],
    };
    for (at, tool, first) in [
        (Sessions::NotFound, "put", Ok(2)),
        (Sessions::NotFound, "drop", Err("unannotated")),
        (Sessions::BadRequest, "put", Err("http_status")),
        (Sessions::BadRequest, "drop", Err("http_status")),
    ] {
        let scenario = serving().http(Http::new().sessions(at)).on_call(1, Fault::DieAfterAnswer);
        let server = Server::start(&scenario).await;
        let host = Host::of(&server);
        host.call("put", "before").await.unwrap();
        server.wait_for(|record| record.ports().len() == 2).await;

        let lost = host.call(tool, "lost").await;
        let seen = lost.as_ref().map(|answer| answer.attempts).map_err(|error| error.reason().code());
        assert_eq!(seen, first, "{at:?} {tool}: {lost:?}");
        assert_eq!(host.call(tool, "next").await.unwrap().attempts, 1);
        let record = server.record();
        assert_eq!(
            (sessions(&record), turned_away(&record)),
            (2, turned_away_at(at).into_iter().map(str::to_owned).collect())
        );
        assert_eq!((runs(&record, "lost"), runs(&record, "next")), (usize::from(first.is_ok()), 1));
        // It is no longer asked for, and the new one stays.
        host.call(tool, "after").await.unwrap();
        assert_eq!((sessions(&server.record()), server.record().ended_sessions()), (2, 0));
        server.stop().await;
    }
}

#[tokio::test]
async fn a_session_whose_loss_is_told_as_an_answer_to_each_request_is_replaced_all_the_same() {
    let http = Http::new().sessions(Sessions::BadRequestAnswered);
    let server = Server::start(&serving().http(http).on_call(1, Fault::DieAfterAnswer)).await;
    let host = Host::of(&server);
    host.call("drop", "before").await.unwrap();
    server.wait_for(|record| record.ports().len() == 2).await;
    // An answer is an answer. But its status is a reason to ask whether the session is still there.
    let answer = host.call("drop", "lost").await.unwrap();
    assert!(answer.reply.is_error() && answer.attempts == 1);
    server.wait_for(|record| turned_away(record).contains(&"tools/list".to_owned())).await;
    host.call("drop", "next").await.unwrap().reply.result().unwrap();
    let record = server.record();
    assert_eq!((sessions(&record), runs(&record, "lost"), runs(&record, "next")), (2, 0, 1));
    server.stop().await;
}

/// A server whose first call waits for a file, and whose second finds its session lost.
async fn with_one_in_flight(first: impl FnOnce(When) -> Fault) -> (Server, Host) {
    let folder = tempfile::tempdir().unwrap();
    let first = first(When::Trigger(folder.path().join("now")));
    let lost = HttpFault::Respond(Moment::BeforeCommit, Response::new(404));
    let server = Server::start_in(folder, &serving().on_call(1, first).on_call(2, lost)).await;
    let host = Host::of(&server);
    (server, host)
}

#[tokio::test]
async fn a_call_in_flight_is_answered_in_its_old_session_which_ends_only_then() {
    let (server, host) = with_one_in_flight(|when| Fault::AnswerLate { when }).await;
    let in_flight = host.begin(&server, "put", "in flight").await;
    let replayed = host.call("put", "replayed").await.unwrap();
    assert_eq!((replayed.attempts, sessions(&server.record())), (2, 2));
    // Had anything ended the old session, it would have been read by now.
    for _ in 0..5 {
        host.call("put", "in the new session").await.unwrap();
    }
    assert!(!was_ended(&server.record()) && !in_flight.is_finished());

    fs::write(server.file("now"), "").unwrap();
    let answer = in_flight.await.unwrap().unwrap();
    assert_eq!((answer.attempts, answer.replays), (1, 0));
    let record = server.wait_for(was_ended).await;
    assert_eq!((record.ended_sessions(), runs(&record, "in flight")), (1, 1));
    // That was not the new one.
    host.call("put", "after").await.unwrap();
    assert_eq!((sessions(&server.record()), server.record().ended_sessions()), (2, 1));
    host.discovery.close().await;
    assert_eq!(server.record().ended_sessions(), 2);
    server.stop().await;
}

#[tokio::test]
async fn a_straggler_of_an_old_session_leaves_the_new_one_alone() {
    let late = |when| HttpFault::ResetLate { when }.into();
    for (tool, comes) in [("put", Ok(2)), ("drop", Err("unannotated"))] {
        let (server, host) = with_one_in_flight(late).await;
        let straggler = host.begin(&server, tool, "straggler").await;
        host.call("put", "replayed").await.unwrap();
        assert_eq!((sessions(&server.record()), server.record().lists().len()), (2, 2));

        fs::write(server.file("now"), "").unwrap();
        let lost = straggler.await.unwrap();
        let seen = lost.as_ref().map(|answer| answer.attempts).map_err(|error| error.reason().code());
        assert_eq!(seen, comes, "{lost:?}");
        assert_eq!(host.call("put", "after").await.unwrap().attempts, 1);
        let record = server.wait_for(was_ended).await;
        // Its own replay has to see a listing of its own; nobody else has.
        assert_eq!((sessions(&record), record.lists().len()), (2, 2 + usize::from(comes.is_ok())));
        assert_eq!(
            (record.ended_sessions(), runs(&record, "straggler")),
            (1, 1 + usize::from(comes.is_ok()))
        );
        server.stop().await;
    }
}

#[tokio::test]
async fn calls_that_are_lost_together_share_one_session() {
    const CALLS: usize = 8;
    // With the process, or only their answers.
    for (dies, made) in [(true, 2), (false, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let trigger = folder.path().join("die");
        let scenario = match dies {
            true => {
                let all_hang = serving().on_every_call(Fault::Hang).dies(When::Trigger(trigger));
                all_hang.from_start(2, serving())
            }
            false => (1..=CALLS as u32).fold(serving(), |scenario, call| {
                scenario.on_call(call, HttpFault::Reset(Moment::AfterCommit))
            }),
        };
        let server = Server::start_in(folder, &scenario).await;
        let host = Host::of(&server);
        host.discovery.catalog().await.unwrap();
        let mut calls = JoinSet::new();
        for call in 0..CALLS {
            let host = host.clone();
            calls.spawn(async move { host.call("put", &call.to_string()).await });
        }
        server.wait_for(|record| record.executions().len() >= CALLS).await;
        fs::write(server.file("die"), "").unwrap();
        for answer in calls.join_all().await {
            assert_eq!(answer.unwrap().attempts, 2);
        }
        let record = server.record();
        assert_eq!(sessions(&record), made);
        assert!((0..CALLS).all(|call| runs(&record, &call.to_string()) == 2), "{record:?}");
        server.stop().await;
    }
}
