//! Calls that wait for ever, or that go on after nobody waits for them any more.
//!
//! Where the hazard is that something never ends, the clock is paused once the processes are there: then
//! a day passes as soon as everybody waits.

use std::sync::Arc;

use mcp_tool::{
    Client, Outcome, Reason, ToolCall, Transport, Trust,
    mcp_transport::{DEFAULT_IDLE_TIMEOUT, Delivery, ErrorKind},
};
use mcp_tool_cli::fault_server::{Fault, Record, Scenario};
use rmcp::{
    model::{CallToolRequest, ClientRequest},
    service::PeerRequestOptions,
};
use tokio::time::{Duration, Instant, pause, resume, sleep, timeout};

use crate::{
    A_DAY, A_MOMENT, bench::Bench, invocations::Endings, listings::put_tool, raw, shows, standstill,
};

#[tokio::test]
async fn r13_a_call_that_is_never_answered_ends() {
    let scenario = put().on_call(1, Fault::Hang);

    let bench = Bench::new("r13-raw");
    let service = raw::connect(&bench, &scenario).await;
    pause();
    let answer = timeout(A_DAY, service.peer().call_tool(raw::put("a"))).await;
    shows("R13", answer.is_err());
    resume();
    bench.wait(|record| record.executions().len() == 1).await;
    service.cancel().await.unwrap();
    bench.all_gone().await;

    let bench = Bench::new("r13");
    let client = Client::builder("bench", bench.connector(&scenario)).trust(Trust::BOTH).build();
    client.catalog().await.unwrap();
    pause();
    let before = Instant::now();
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::IdleTimeout));
    assert!(before.elapsed() < DEFAULT_IDLE_TIMEOUT + Duration::from_secs(1), "{:?}", before.elapsed());
    resume();
    let record = bench.wait(|record| record.executions().len() == 1).await;
    assert_eq!((record.received().len(), record.starts().len()), (1, 1));
    drop(client);
    bench.all_gone().await;
}

#[tokio::test]
async fn r14_a_call_that_nobody_waits_for_is_told_as_unknown() {
    let scenario = put().on_call(1, Fault::Hang);
    let ran = |record: &Record| record.executions().len() == 1;
    let was_cancelled = |record: &Record| record.cancellations().len() == 1;

    let bench = Bench::new("r14-raw");
    let service = raw::connect(&bench, &scenario).await;
    tokio::select! {
        answer = service.peer().call_tool(raw::put("a")) => panic!("{answer:?}"),
        _ = bench.wait(ran) => {}
    }
    // The server is told to cancel what has run, and nobody is told anything.
    bench.wait(was_cancelled).await;
    shows("R14", bench.record().executions().len() == 1);
    service.cancel().await.unwrap();
    bench.all_gone().await;

    let bench = Bench::new("r14");
    let endings = Endings::default();
    let client = Client::builder("bench", bench.connector(&scenario)).observer(endings.clone()).build();
    tokio::select! {
        answer = client.call(ToolCall::new("put")) => panic!("{answer:?}"),
        _ = bench.wait(ran) => {}
    }
    assert_eq!(*endings.0.lock().unwrap(), [(Some(Outcome::Unknown), Some(Reason::Dropped))]);
    bench.wait(was_cancelled).await;
    drop(client);
    bench.all_gone().await;
}

#[tokio::test]
async fn r19_a_full_pipe_does_not_outlast_a_timeout() {
    let scenario = put().on_call(1, Fault::StopReading);

    let bench = Bench::new("r19-raw");
    let service = raw::connect(&bench, &scenario).await;
    service.peer().list_tools(None).await.unwrap();
    bench.wait(stopped_reading).await;
    pause();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(raw::long_put("a")));
    let options = PeerRequestOptions::with_timeout(Duration::from_secs(1));
    let call = service.peer().send_request_with_option(request, options).await.unwrap();
    shows("R19", timeout(A_DAY, call.await_response()).await.is_err());
    resume();
    bench.kill();
    bench.all_gone().await;

    let bench = Bench::new("r19");
    let transport = bench.connector(&scenario).start().await.unwrap();
    transport.list_tools(None).await.unwrap();
    bench.wait(stopped_reading).await;
    pause();
    let before = Instant::now();
    let call = long_put("a").with_deadline(Duration::from_secs(1));
    let error = transport.call_tool(call).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Deadline, Delivery::Unsent));
    assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
    resume();
    transport.close().await;
    bench.all_gone().await;
    assert!(bench.record().received().is_empty());
}

#[tokio::test]
async fn r23_a_call_that_was_abandoned_in_a_queue_is_not_sent_later() {
    let bench = Bench::new("r23-raw");
    let service = raw::connect(&bench, &put()).await;
    standstill::suspend(&bench).await;
    let peer = service.peer().clone();
    let long = tokio::spawn(async move { peer.call_tool(raw::long_put("long")).await });
    pause();
    sleep(A_MOMENT).await;
    assert!(timeout(A_MOMENT, service.peer().call_tool(raw::put("abandoned"))).await.is_err());
    resume();
    standstill::resume(&bench);
    long.await.unwrap().unwrap();
    service.peer().call_tool(raw::put("after")).await.unwrap();
    let keys = keys(&bench);
    shows("R23", keys == ["long", "abandoned", "after"]);
    service.cancel().await.unwrap();
    bench.all_gone().await;

    let bench = Bench::new("r23");
    let transport = Arc::new(bench.connector(&put()).start().await.unwrap());
    standstill::suspend(&bench).await;
    let other = transport.clone();
    let long = tokio::spawn(async move { other.call_tool(long_put("long")).await });
    pause();
    sleep(A_MOMENT).await;
    let abandoned = ToolCall::new("put").with_argument("key", "abandoned");
    assert!(timeout(A_MOMENT, transport.call_tool(abandoned)).await.is_err());
    resume();
    standstill::resume(&bench);
    long.await.unwrap().unwrap();
    transport.call_tool(ToolCall::new("put").with_argument("key", "after")).await.unwrap();
    assert_eq!(self::keys(&bench), ["long", "after"]);
    transport.close().await;
    bench.all_gone().await;
}

fn put() -> Scenario {
    Scenario::new().tool(put_tool())
}

/// A call that does not fit into a pipe.
pub(crate) fn long_put(key: &str) -> ToolCall {
    ToolCall::new("put").with_argument("key", key).with_argument("text", "x".repeat(256 << 10))
}

fn stopped_reading(record: &Record) -> bool {
    record.faults() == ["stop_reading"]
}

fn keys(bench: &Bench) -> Vec<String> {
    let executions = bench.record().executions().into_iter();
    executions.map(|execution| execution.key.as_str().unwrap_or_default().to_owned()).collect()
}
