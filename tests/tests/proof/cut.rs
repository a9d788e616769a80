use std::sync::Arc;

use mcp_tool::{
    ToolCall, Transport, TransportError,
    mcp_transport::{Delivery, ErrorClass},
};
use mcp_tool_cli::fault_server::{Fault, Scenario, ToolSpec};
use tokio::sync::Semaphore;

use crate::bench::Bench;

/// Makes every frame of the call longer than this.
const LENGTH: usize = 2_000;
/// Beyond the frame's end, newline included. Cuts that the frame does not reach are not played.
const LAST: usize = LENGTH + 400;
/// Servers that run at the same time.
const AT_ONCE: usize = 6;

/// What the server read, whether it ran the call, and what the client claimed.
struct Cut {
    bytes: usize,
    executions: usize,
    claimed: Delivery,
}

/// A server in another process reads exactly so many bytes of the call, runs it if they are a complete JSON
/// text, and dies.
async fn cut(bytes: usize) -> Cut {
    let (error, executions) = lost(&format!("cut-{bytes}"), Fault::DieAfterBytes { bytes }).await;
    assert_eq!(error.class(), ErrorClass::Connection, "{bytes}: {error:?}");
    Cut { bytes, executions, claimed: error.delivery() }
}

/// The length of the frame's JSON text: what a server reads up to where the call can first be run.
async fn length_of_the_json() -> usize {
    let (mut short, mut whole) = (LENGTH, LAST);
    while whole - short > 1 {
        let middle = short + (whole - short) / 2;
        // Unlike the other fault, this one reads no further than the frame's end.
        let (error, _) = lost(&format!("length-{middle}"), Fault::DieMidRead { bytes: middle }).await;
        match error.delivery() {
            Delivery::Unsent => short = middle,
            _ => whole = middle,
        }
    }
    whole
}

/// What a call that meets this fault is told, and how often it was run.
async fn lost(name: &str, fault: Fault) -> (TransportError, usize) {
    let bench = Bench::new(name);
    let scenario = Scenario::new().tool(ToolSpec::new("put")).on_call(1, fault);
    let transport = bench.connector(&scenario).start().await.unwrap();
    transport.list_tools(None).await.unwrap();
    let call = ToolCall::new("put").with_argument("text", "x".repeat(LENGTH));
    let error = transport.call_tool(call).await.unwrap_err();
    transport.close().await;
    (error, bench.record().executions().len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_which_its_server_read_n_bytes_is_unsent_exactly_when_they_are_no_complete_json() {
    let length = length_of_the_json().await;
    let room = Arc::new(Semaphore::new(AT_ONCE));
    // Up to the newline.
    let cuts = (0..=length + 1).map(|bytes| {
        let room = room.clone();
        tokio::spawn(async move {
            let _permit = room.acquire_owned().await.unwrap();
            cut(bytes).await
        })
    });
    let mut unsent = 0;
    for played in cuts.collect::<Vec<_>>() {
        let Cut { bytes, executions, claimed } = played.await.unwrap();
        let right = if bytes < length { (0, Delivery::Unsent) } else { (1, Delivery::Unknown) };
        assert_eq!((executions, claimed), right, "{bytes} of {length} bytes were read");
        unsent += usize::from(claimed == Delivery::Unsent);
    }
    assert_eq!(unsent, length);
    println!("{} cuts of a JSON text of {length} bytes, {unsent} of them proven unsent", length + 2);
}
