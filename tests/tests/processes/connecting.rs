//! Servers that are not there, or not servers: an error within bounds, and nothing is left.

use std::{fs, time::Duration};

use mcp_tool::{
    Discovery, Outcome, PagingDiscovery, StdioConnector, ToolCall, TransportError,
    mcp_transport::{Delivery, ErrorClass, ErrorKind},
};
use mcp_tool_cli::fault_server::{Ending, Holds, Scenario, Startup};

use crate::{
    after,
    bench::{Bench, gone},
    put,
};

/// Longer than a healthy server takes, shorter than a test.
const BOUND: Duration = Duration::from_millis(500);

async fn refusal(connector: &StdioConnector) -> TransportError {
    let error = connector.start().await.expect_err("there is no server");
    assert_eq!(error.delivery(), Delivery::Unsent);
    error
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_told_as_such() {
    for command in ["/does/not/exist", "does-not-exist-anywhere", "/"] {
        assert_eq!(refusal(&StdioConnector::new(command)).await.kind(), ErrorKind::CommandNotFound);
    }
    let bench = Bench::new("no-directory");
    let nowhere = bench.connector(&put()).current_dir(bench.file("nowhere"));
    assert_eq!(refusal(&nowhere).await.class(), ErrorClass::Connection);
    assert!(bench.record().starts().is_empty());
}

#[tokio::test]
async fn a_server_that_exits_at_once_is_told_at_once() {
    let bench = Bench::new("exits");
    let error = refusal(&bench.connector(&put().startup(Startup::Exit { code: 3 }))).await;
    assert_eq!((error.kind(), error.class()), (ErrorKind::Connect, ErrorClass::Connection));
    bench.all_gone().await;
}

#[tokio::test]
async fn a_banner_harms_nothing_unless_it_is_all() {
    let line = || "welcome to the server {\"really\": true}".to_owned();
    let bench = Bench::new("banner");
    let transport = bench.connector(&put().startup(Startup::Banner { line: line() })).start().await.unwrap();
    mcp_tool::Transport::call_tool(&transport, ToolCall::new("put")).await.unwrap();
    drop(transport);
    bench.all_gone().await;

    let bench = Bench::new("banner-then-exit");
    let connector = after(&bench, "echo $$ > \"$PID\"; echo welcome; exit 3", &put());
    let error = refusal(&connector.env("PID", bench.file("pid"))).await;
    assert_eq!((error.kind(), error.class()), (ErrorKind::Connect, ErrorClass::Connection));
    gone(fs::read_to_string(bench.file("pid")).unwrap().trim().parse().unwrap()).await;
}

#[tokio::test]
async fn a_server_that_says_nothing_or_no_mcp_is_given_up_within_the_bound() {
    for (name, scenario) in [
        ("mute", mute()),
        ("mute-with-a-child", mute().grandchild(Holds::All)),
        ("mute-and-stubborn", mute().ending(Ending::AtKill).grandchild(Holds::All)),
    ] {
        let bench = Bench::new(name);
        let error = refusal(&bench.connector(&scenario).with_connect_timeout(BOUND)).await;
        assert_eq!((error.kind(), error.class()), (ErrorKind::ConnectTimeout, ErrorClass::Connection));
        assert!(!bench.record().pids().is_empty());
        bench.all_gone().await;
    }
    // It answers every request with the request.
    let echo = StdioConnector::new("/bin/cat").with_connect_timeout(BOUND);
    let error = refusal(&echo).await;
    assert!(matches!(error.kind(), ErrorKind::ConnectTimeout | ErrorKind::Handshake), "{error:?}");
}

#[tokio::test]
async fn a_connect_that_is_dropped_half_way_leaves_nothing() {
    let scenario = mute().grandchild(Holds::All);
    let bench = Bench::new("dropped-connect");
    let connector = bench.connector(&scenario);
    tokio::select! {
        outcome = connector.start() => panic!("{outcome:?}"),
        _ = bench.wait(|record| record.pids().len() == 2) => {}
    }
    bench.all_gone().await;

    let bench = Bench::new("dropped-catalog");
    let discovery = PagingDiscovery::new(bench.connector(&scenario));
    tokio::select! {
        outcome = discovery.catalog() => panic!("{outcome:?}"),
        _ = bench.wait(|record| record.pids().len() == 2) => {}
    }
    bench.all_gone().await;
    assert_eq!(bench.record().starts().len(), 1);
}

#[tokio::test]
async fn a_server_that_needs_some_starts_is_reached_all_the_same() {
    let bench = Bench::new("needs-starts");
    let scenario = put().startup(Startup::ExitFirst { starts: 3 });
    let client = mcp_tool::Client::builder("bench", bench.connector(&scenario)).build();
    let answer = client.call(ToolCall::new("put")).await.unwrap();
    assert_eq!((answer.attempts, answer.unsent), (1, 0));
    assert_eq!(bench.record().starts().len(), 4);
    drop(client);
    bench.all_gone().await;
}

#[tokio::test]
async fn a_call_of_a_server_that_cannot_be_reached_is_not_executed() {
    let client = mcp_tool::Client::builder("bench", StdioConnector::new("/does/not/exist")).build();
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "unavailable"));
}

fn mute() -> Scenario {
    put().startup(Startup::NeverAnswers)
}
