//! Standard error: never in the way, and its end is there for whoever asks.

use mcp_tool::{Client, ToolCall};
use mcp_tool_cli::fault_server::Fault;

use crate::{
    after,
    bench::{Bench, process::until},
    put,
};

const FLOOD: usize = 2 << 20;
/// What is kept.
const TAIL: usize = 64 << 10;

#[tokio::test]
async fn a_flood_before_the_handshake_and_one_during_a_call_harm_nothing() {
    let bench = Bench::new("flood");
    let scenario = put().on_call(1, Fault::FloodStderr { bytes: FLOOD });
    let script =
        format!("head -c {FLOOD} /dev/zero | tr '\\0' . >&2; echo 'the end of it' >&2; exec \"$0\" \"$@\"");
    let connector = after(&bench, &script, &scenario);
    let client = Client::builder("bench", connector.clone()).build();
    client.catalog().await.unwrap();
    let tail = connector.stderr_tail();
    assert!(tail.ends_with(".the end of it\n"), "{:?}", &tail[tail.len().saturating_sub(100)..]);
    assert_eq!(tail.len(), TAIL);

    client.call(ToolCall::new("put")).await.unwrap();
    assert_eq!(bench.record().faults(), ["flood_stderr"]);
    drop(client);
    bench.all_gone().await;
    until("the rest to be read", || !connector.stderr_tail().contains("the end of it")).await;
    let tail = connector.stderr_tail();
    assert!(tail.ends_with("...") && tail.len() == TAIL, "{} bytes", tail.len());
}

#[tokio::test]
async fn the_tail_explains_why_a_server_did_not_start() {
    let bench = Bench::new("why");
    let connector = after(&bench, "echo 'no such module' >&2; exit 1", &put());
    connector.start().await.unwrap_err();
    assert_eq!(connector.stderr_tail(), "no such module\n");
    assert!(!format!("{connector:?}").contains("module"), "it is shown to nobody who does not ask");
}
