//! Children that die, hang, spin and are busy.

use std::{sync::Arc, time::Duration};

use mcp_tool::{
    Client, Discovery, ToolCall,
    mcp_discovery::{DownReason, State},
    mcp_transport::Fence,
};
use mcp_tool_cli::fault_server::{Fault, Startup, When};
use rustix::process::Signal;
use tokio::time::sleep;

use crate::{
    bench::{
        Bench, gone,
        process::{runs, signal, state, until},
    },
    is_down, put, reaches, replaced, rules, supervised,
};

#[tokio::test]
async fn a_child_that_is_killed_while_idle_is_there_again_without_a_call() {
    let bench = Bench::new("killed");
    let server = supervised(bench.connector(&put()), rules().without_regular_probes());
    let client = Client::with_discovery("bench", server.clone()).build();
    let first = server.connect().await.unwrap();
    let killed = bench.record().pids()[0];
    signal(killed, Signal::KILL);
    let status = replaced(&server, first.connection()).await;
    assert_eq!(status.restarts, 1);
    let record = bench.record();
    assert_eq!((record.starts().len(), record.received().len()), (2, 0));
    let second = server.catalog().await.unwrap();
    assert_eq!(second.predecessor_fence(), Some(Fence::GroupGone));
    assert!(runs(bench.record().pids()[1]) && !runs(killed));

    client.call(ToolCall::new("put")).await.unwrap();
    drop((client, server, first, second));
    bench.all_gone().await;
}

#[tokio::test]
async fn a_child_that_dies_again_and_again_is_started_as_often_as_allowed_and_then_parked() {
    let bench = Bench::new("spins");
    let scenario = put().dies(When::Millis(100)).from_start(6, put());
    let rules = rules().with_start_budget(5, Duration::from_secs(600));
    let server = supervised(bench.connector(&scenario), rules);
    let client = Client::with_discovery("bench", server.clone()).build();
    // It may die before it has listed its tools, or after.
    let _ = server.connect().await;
    let status = reaches(&server, |status| is_down(status, DownReason::Parked)).await;
    assert_eq!(status.restarts, 4);
    assert_eq!(bench.record().starts().len(), 5);
    // A call directly after the last start gets none, and says so.
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!(error.reason().code(), "unavailable");
    sleep(Duration::from_millis(500)).await;
    assert_eq!(bench.record().starts().len(), 5);

    // Now it is healthy, and somebody says so.
    let catalog = server.reconnect().await.unwrap();
    assert_eq!((catalog.len(), bench.record().starts().len()), (1, 6));
    client.call(ToolCall::new("put")).await.unwrap();
    drop((client, server, catalog));
    bench.all_gone().await;
}

#[tokio::test]
async fn a_child_that_has_stopped_is_found_out_by_probes_and_replaced() {
    let bench = Bench::new("stopped");
    let server = supervised(bench.connector(&put()), rules());
    let first = server.connect().await.unwrap();
    let stopped = bench.record().pids()[0];
    signal(stopped, Signal::STOP);
    let status = replaced(&server, first.connection()).await;
    assert_eq!(status.restarts, 1);
    assert!(first.transport().is_closed());
    gone(stopped).await;
    assert_eq!(bench.record().starts().len(), 2);
    drop((server, first));
    bench.all_gone().await;
}

#[tokio::test]
async fn a_busy_child_that_answers_no_probe_keeps_its_call() {
    let bench = Bench::new("busy");
    let go = bench.file("go");
    let scenario = put().on_call(1, Fault::AnswerLate { when: When::Trigger(go.clone()) });
    let server = supervised(bench.connector(&scenario), rules());
    let client = Client::with_discovery("bench", server.clone()).build();
    let first = server.connect().await.unwrap();
    let calling = client.clone();
    let call = tokio::spawn(async move { calling.call(ToolCall::new("put")).await });
    bench.wait(|record| record.executions().len() == 1).await;
    let child = bench.record().pids()[0];
    signal(child, Signal::STOP);
    let degraded = reaches(&server, |status| status.state == State::Degraded).await;
    // Far more than three probes.
    sleep(Duration::from_secs(3)).await;
    assert_eq!(server.status().since, degraded.since);
    assert_eq!((server.status().state, state(child)), (State::Degraded, Some('T')));

    std::fs::write(go, "").unwrap();
    signal(child, Signal::CONT);
    let answer = call.await.unwrap().unwrap();
    assert_eq!((answer.attempts, answer.replays), (1, 0));
    let status = reaches(&server, |status| status.state == State::Ready).await;
    assert_eq!((status.connection, status.restarts), (Some(first.connection()), 0));
    assert_eq!(bench.record().starts().len(), 1);
    drop((client, server, first));
    bench.all_gone().await;
}

#[tokio::test]
async fn a_child_that_has_stopped_is_given_up_soon_after_a_call_on_it_has_timed_out() {
    let bench = Bench::new("timed-out");
    let server = supervised(bench.connector(&put()), rules().without_regular_probes());
    let first = server.connect().await.unwrap();
    let stopped = bench.record().pids()[0];
    signal(stopped, Signal::STOP);
    until("the child to stop", || state(stopped) == Some('T')).await;
    let call = ToolCall::new("put").with_deadline(Duration::from_millis(200)).started();
    first.transport().call_tool(call).await.unwrap_err();
    assert_eq!(server.status().state, State::Ready);
    server.doubt(first.generation());
    replaced(&server, first.connection()).await;
    gone(stopped).await;
    drop((server, first));
    bench.all_gone().await;
}

#[tokio::test]
async fn a_start_that_hangs_is_ended_by_a_stop() {
    let bench = Bench::new("hangs");
    let server = supervised(bench.connector(&put().startup(Startup::NeverAnswers)), rules());
    let connecting = server.clone();
    let connecting = tokio::spawn(async move { connecting.connect().await });
    let calling = server.clone();
    let calling = tokio::spawn(async move { calling.catalog().await });
    bench.wait(|record| record.starts().len() == 1).await;
    assert_eq!(server.status().state, State::Connecting);
    let _ = server.stop().await;
    assert!(connecting.await.unwrap().is_err() && calling.await.unwrap().is_err());
    bench.all_gone().await;
    assert_eq!((server.status().state, bench.record().starts().len()), (State::Stopped, 1));
}

#[tokio::test]
async fn reconnecting_fences_the_calls_in_flight() {
    let bench = Bench::new("fenced");
    let scenario = put().on_call(1, Fault::Hang);
    let server = supervised(bench.connector(&scenario), rules());
    let client = Client::with_discovery("bench", server.clone()).build();
    let first = server.connect().await.unwrap();
    let calling = client.clone();
    let call = tokio::spawn(async move { calling.call(ToolCall::new("put")).await });
    bench.wait(|record| record.executions().len() == 1).await;
    let second = server.reconnect().await.unwrap();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.outcome(), mcp_tool::Outcome::Unknown);
    assert_eq!(second.connection(), first.connection().next());
    assert_eq!(second.predecessor_fence(), Some(Fence::GroupGone));
    assert!(!runs(bench.record().pids()[0]));
    assert_eq!(bench.record().executions().len(), 1);
    drop((client, server, first, second));
    bench.all_gone().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_and_connecting_in_a_crowd_leaves_one_child_or_none() {
    let bench = Arc::new(Bench::new("crowd"));
    let server =
        supervised(bench.connector(&put()), rules().with_start_budget(1_000, Duration::from_secs(600)));
    for _ in 0..5 {
        let crowd: Vec<_> = (0..8)
            .map(|number| {
                let server = server.clone();
                tokio::spawn(async move {
                    match number % 4 {
                        0 => drop(server.connect().await),
                        1 => drop(server.catalog().await),
                        2 => drop(server.reconnect().await),
                        _ => drop(server.stop().await),
                    }
                })
            })
            .collect();
        for one in crowd {
            one.await.unwrap();
        }
        let _ = server.stop().await;
        let children = || bench.record().pids().into_iter().filter(|pid| runs(*pid)).count();
        assert_eq!(server.status().state, State::Stopped);
        // One whose start was dropped half-way ends by itself.
        until("the children to end", || children() == 0).await;
        server.connect().await.unwrap();
        assert_eq!((server.status().state, children()), (State::Ready, 1));
    }
    drop(server);
    bench.all_gone().await;
}
