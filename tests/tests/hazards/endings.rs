//! How connections end, and what is left then.

use mcp_tool::{
    ToolCall, Transport,
    mcp_transport::{Delivery, ErrorClass, Fence},
};
use mcp_tool_cli::fault_server::{Fault, Holds, Scenario};
use tokio::time::{pause, resume, sleep, timeout};

use crate::{
    A_DAY, A_MOMENT,
    bench::{Bench, gone, process::runs},
    listings::put_tool,
    raw, shows,
    waiting::long_put,
};

#[tokio::test]
async fn r15_closing_ends_what_the_server_has_started() {
    let scenario = put().grandchild(Holds::Nothing);

    let bench = Bench::new("r15-raw");
    let service = raw::connect(&bench, &scenario).await;
    let [child, grandchild] = bench.record().pids()[..] else { panic!("no grandchild") };
    service.cancel().await.unwrap();
    gone(child).await;
    shows("R15", runs(grandchild));
    bench.kill();
    bench.all_gone().await;

    let bench = Bench::new("r15");
    let transport = bench.connector(&scenario).start().await.unwrap();
    let [child, grandchild] = bench.record().pids()[..] else { panic!("no grandchild") };
    assert_eq!(transport.close().await, Fence::GroupGone);
    assert!(!runs(child) && !runs(grandchild));
}

#[tokio::test]
async fn r18_closing_does_not_wait_for_a_server_that_stopped_reading() {
    let scenario = put().on_call(1, Fault::StopReading);

    let bench = Bench::new("r18-raw");
    let mut service = raw::connect(&bench, &scenario).await;
    service.peer().list_tools(None).await.unwrap();
    bench.wait(|record| record.faults() == ["stop_reading"]).await;
    let peer = service.peer().clone();
    let stuck = tokio::spawn(async move { peer.call_tool(raw::long_put("a")).await });
    pause();
    sleep(A_MOMENT).await;
    shows("R18", timeout(A_DAY, service.close()).await.is_err() && runs(bench.record().starts()[0]));
    resume();
    stuck.abort();
    bench.kill();
    bench.all_gone().await;

    let bench = Bench::new("r18");
    let transport = std::sync::Arc::new(bench.connector(&scenario).start().await.unwrap());
    transport.list_tools(None).await.unwrap();
    bench.wait(|record| record.faults() == ["stop_reading"]).await;
    let other = transport.clone();
    let stuck = tokio::spawn(async move { other.call_tool(long_put("a")).await });
    pause();
    sleep(A_MOMENT).await;
    resume();
    assert!(!stuck.is_finished());
    assert_eq!(transport.close().await, Fence::GroupGone);
    let error = stuck.await.unwrap().unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unsent));
    assert!(!runs(bench.record().starts()[0]) && bench.record().received().is_empty());
}

#[tokio::test]
async fn r20_the_end_of_the_output_ends_a_call_before_the_process_has_ended() {
    let scenario = put().on_call(1, Fault::CloseStdout);

    let bench = Bench::new("r20-raw");
    let service = raw::connect(&bench, &scenario).await;
    service.peer().call_tool(raw::put("a")).await.unwrap_err();
    shows("R20", !runs(bench.record().starts()[0]));
    bench.all_gone().await;

    let bench = Bench::new("r20");
    let transport = bench.connector(&scenario).start().await.unwrap();
    let error = transport.call_tool(ToolCall::new("put")).await.unwrap_err();
    assert!(runs(bench.record().starts()[0]), "the call did not wait for the process to end");
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
    transport.close().await;
    bench.all_gone().await;
}

fn put() -> Scenario {
    Scenario::new().tool(put_tool())
}
