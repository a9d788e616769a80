//! How connections end: closed, dropped, or with the runtime.

use mcp_tool::{Client, Discovery, PagingDiscovery, ToolCall, Transport, Trust, mcp_transport::Fence};
use mcp_tool_cli::fault_server::{Ending, Fault, Holds, Scenario};

use crate::{
    bench::{Bench, process::runs},
    put,
};

const EVERY_HOLD: [Holds; 5] = [Holds::Nothing, Holds::Stdin, Holds::Stdout, Holds::Stderr, Holds::All];

#[tokio::test]
async fn closing_ends_the_whole_group() {
    for holds in EVERY_HOLD {
        let bench = Bench::new(&format!("close-{holds:?}"));
        let transport = bench.connector(&put().grandchild(holds)).start().await.unwrap();
        let [child, grandchild] = bench.record().pids()[..] else { panic!("no grandchild") };
        assert!(runs(child) && runs(grandchild));
        assert_eq!(transport.close().await, Fence::GroupGone, "{holds:?}");
        assert!(!runs(child) && !runs(grandchild), "{holds:?}");
        assert_eq!(transport.close().await, Fence::GroupGone, "closing again tells the same");
    }
}

#[tokio::test]
async fn dropping_the_client_ends_the_whole_group() {
    for holds in EVERY_HOLD {
        let bench = Bench::new(&format!("drop-{holds:?}"));
        let client = Client::builder("bench", bench.connector(&put().grandchild(holds))).build();
        client.call(ToolCall::new("put")).await.unwrap();
        assert_eq!(bench.record().pids().len(), 2);
        drop(client);
        bench.all_gone().await;
    }
}

#[tokio::test]
async fn dropping_a_call_and_its_client_ends_the_server() {
    let bench = Bench::new("drop-in-flight");
    let scenario = put().on_call(1, Fault::Hang).grandchild(Holds::All);
    let client = Client::builder("bench", bench.connector(&scenario)).build();
    tokio::select! {
        answer = client.call(ToolCall::new("put")) => panic!("{answer:?}"),
        _ = bench.wait(|record| record.executions().len() == 1) => {}
    }
    drop(client);
    bench.all_gone().await;
}

#[test]
fn the_end_of_the_runtime_ends_the_server() {
    let bench = Bench::new("runtime");
    let connector = bench.connector(&put().ending(Ending::AtKill));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let transport = runtime.block_on(connector.start()).unwrap();
    drop(runtime);
    let server = bench.record().pids()[0];
    assert!(!runs(server));
    assert!(transport.is_closed());
}

#[tokio::test]
async fn a_server_that_does_not_want_to_end_is_made_to() {
    for (ending, name) in [(Ending::AtSignal, "signal"), (Ending::AtKill, "kill")] {
        for scenario in [put(), put().grandchild(Holds::All)] {
            let bench = Bench::new(name);
            let transport = bench.connector(&scenario.ending(ending)).start().await.unwrap();
            assert_eq!(transport.close().await, Fence::GroupGone, "{ending:?}");
            assert!(bench.record().pids().into_iter().all(|pid| !runs(pid)), "{ending:?}");
        }
    }
}

#[tokio::test]
async fn what_a_dead_server_has_started_does_not_keep_its_calls_waiting() {
    for holds in EVERY_HOLD {
        let bench = Bench::new(&format!("dead-{holds:?}"));
        let first = put().on_call(1, Fault::DieAfterCommit).grandchild(holds);
        let discovery = PagingDiscovery::new(bench.connector(&first.from_start(2, put())));
        let client = Client::with_discovery("bench", discovery.clone()).trust(Trust::BOTH).build();
        let answer = client.call(ToolCall::new("put")).await.unwrap();
        assert_eq!((answer.attempts, answer.replays), (2, 1), "{holds:?}");
        // The group of the first was gone before the second was started.
        assert!(!runs(bench.record().pids()[1]), "{holds:?}");
        let catalog = discovery.catalog().await.unwrap();
        assert_eq!(catalog.predecessor_fence(), Some(Fence::GroupGone), "{holds:?}");
        assert_eq!(discovery.close().await, Fence::GroupGone);
        bench.all_gone().await;
    }
}

#[tokio::test]
async fn an_answer_behind_which_the_server_dies_is_an_answer() {
    for holds in EVERY_HOLD {
        let bench = Bench::new(&format!("last-words-{holds:?}"));
        let scenario: Scenario = put().on_call(1, Fault::DieAfterAnswer).grandchild(holds);
        let transport = bench.connector(&scenario).start().await.unwrap();
        transport.call_tool(ToolCall::new("put")).await.unwrap();
        transport.events().next().await;
        assert!(transport.is_closed());
        assert_eq!(transport.close().await, Fence::GroupGone, "{holds:?}");
        bench.all_gone().await;
    }
}
