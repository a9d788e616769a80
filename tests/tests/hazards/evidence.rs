//! What an error says about whether the call can have run.

use mcp_tool::{
    StdioTransport, ToolCall, Transport, TransportError,
    mcp_transport::{Delivery, ErrorClass},
};
use mcp_tool_cli::fault_server::{Fault, Scenario, When};
use rmcp::ServiceError;

use crate::{
    bench::{Bench, process::until},
    listings::put_tool,
    raw, shows,
    waiting::long_put,
};

#[tokio::test]
async fn r4_a_closed_transport_says_the_same_of_a_call_that_ran_and_of_one_that_never_left() {
    let ran = scenario().on_call(1, Fault::DieAfterCommit);

    let bench = Bench::new("r4-raw-ran");
    let service = raw::connect(&bench, &ran).await;
    let error = service.peer().call_tool(raw::put("a")).await.unwrap_err();
    shows("R4", matches!(error, ServiceError::TransportClosed) && bench.record().executions().len() == 1);
    bench.all_gone().await;

    let bench = Bench::new("r4-raw-never-left");
    let service = raw::connect(&bench, &dies_idle(&bench)).await;
    die(&bench);
    until("rmcp to notice", || service.peer().is_transport_closed()).await;
    let error = service.peer().call_tool(raw::put("a")).await.unwrap_err();
    shows("R4", matches!(error, ServiceError::TransportClosed) && bench.record().received().is_empty());
    bench.all_gone().await;

    let bench = Bench::new("r4-ran");
    let transport = bench.connector(&ran).start().await.unwrap();
    let error = call(&transport).await;
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
    assert_eq!(bench.record().executions().len(), 1);
    transport.close().await;
    bench.all_gone().await;

    let bench = Bench::new("r4-never-left");
    let transport = bench.connector(&dies_idle(&bench)).start().await.unwrap();
    die(&bench);
    transport.events().next().await;
    let error = call(&transport).await;
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unsent));
    assert!(bench.record().received().is_empty());
    bench.all_gone().await;
}

/// Over stdio a failed send can be shown for a call of which a part left; that the same error comes after
/// a call that ran is shown over HTTP.
#[tokio::test]
async fn r3_a_failed_send_does_not_say_how_much_was_sent() {
    let closes = scenario().on_call(1, Fault::CloseStdin);

    let bench = Bench::new("r3-raw");
    let service = raw::connect(&bench, &closes).await;
    service.peer().list_tools(None).await.unwrap();
    let error = service.peer().call_tool(raw::long_put("a")).await.unwrap_err();
    shows("R3", matches!(error, ServiceError::TransportSend(_)) && bench.record().received().is_empty());
    // A connection that takes no call any more still counts as open.
    shows("R20", !service.peer().is_transport_closed() && !service.is_closed());
    bench.kill();
    bench.all_gone().await;

    let bench = Bench::new("r3");
    let transport = bench.connector(&closes).start().await.unwrap();
    transport.list_tools(None).await.unwrap();
    let error = transport.call_tool(long_put("a")).await.unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unsent));
    assert!(transport.is_closed() && bench.record().received().is_empty());
    transport.close().await;
    bench.all_gone().await;
}

fn scenario() -> Scenario {
    Scenario::new().tool(put_tool())
}

fn dies_idle(bench: &Bench) -> Scenario {
    scenario().dies(When::Trigger(bench.file("die")))
}

fn die(bench: &Bench) {
    std::fs::write(bench.file("die"), "").unwrap();
}

async fn call(transport: &StdioTransport) -> TransportError {
    transport.call_tool(ToolCall::new("put").with_argument("key", "a")).await.unwrap_err()
}
