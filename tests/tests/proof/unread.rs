use std::{fs, time::Duration};

use mcp_tool::{
    Client, Happening, InvocationInfo, Observer, Outcome, StdioTransport, ToolCall, Transport,
    TransportError,
    mcp_transport::{Delivery, ErrorClass},
};
use mcp_tool_cli::fault_server::{Fault, Holds, Scenario, ToolSpec, When};

use crate::bench::Bench;

fn put() -> ToolCall {
    ToolCall::new("put").with_argument("key", "the call")
}

/// Dies when told to, and has stopped reading before.
fn dies_unread(bench: &Bench) -> Scenario {
    let when = When::Trigger(bench.file("die"));
    Scenario::new().tool(ToolSpec::new("put")).on_call(1, Fault::DieUnread { when })
}

/// Calls while nobody reads, and lets the server die with the call in its pipe.
async fn lost_in_the_pipe(bench: &Bench, scenario: &Scenario) -> TransportError {
    let transport = bench.connector(scenario).start().await.unwrap();
    transport.list_tools(None).await.unwrap();
    bench.wait(|record| record.faults() == ["die_unread"]).await;
    let error = calls_and_dies(bench, &transport).await;
    transport.close().await;
    bench.kill();
    bench.all_gone().await;
    error
}

async fn calls_and_dies(bench: &Bench, transport: &StdioTransport) -> TransportError {
    let mut calling = Box::pin(transport.call_tool(put()));
    // Polled once, the call is in the pipe.
    assert!(futures_poll(calling.as_mut()).await);
    fs::write(bench.file("die"), "").unwrap();
    let error = calling.await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Connection);
    error
}

/// Polls once. Whether the future is pending.
async fn futures_poll(mut future: std::pin::Pin<&mut (impl Future + ?Sized)>) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

#[tokio::test]
async fn a_call_that_a_dead_server_never_read_is_unsent() {
    let bench = Bench::new("unread");
    let error = lost_in_the_pipe(&bench, &dies_unread(&bench)).await;
    assert_eq!(error.delivery(), Delivery::Unsent);
    assert!(bench.record().received().is_empty());
}

#[tokio::test]
async fn a_call_that_a_grandchild_could_still_read_is_unknown() {
    let bench = Bench::new("grandchild");
    let error = lost_in_the_pipe(&bench, &dies_unread(&bench).grandchild(Holds::Stdin)).await;
    assert_eq!(error.delivery(), Delivery::Unknown);
}

#[tokio::test]
async fn of_two_calls_in_one_pipe_only_the_one_that_was_not_read_is_unsent() {
    let bench = Bench::new("two");
    let when = When::Trigger(bench.file("die"));
    let scenario = Scenario::new()
        .tool(ToolSpec::new("put"))
        .on_call(1, Fault::Hang)
        .on_call(2, Fault::DieUnread { when });
    let transport = bench.connector(&scenario).start().await.unwrap();
    transport.list_tools(None).await.unwrap();
    let mut first = Box::pin(transport.call_tool(put()));
    assert!(futures_poll(first.as_mut()).await);
    bench.wait(|record| record.faults().contains(&"die_unread".to_owned())).await;
    let second = calls_and_dies(&bench, &transport).await;
    let first = first.await.unwrap_err();
    assert_eq!((first.delivery(), second.delivery()), (Delivery::Unknown, Delivery::Unsent));
    assert_eq!(bench.record().executions().len(), 1);
    transport.close().await;
    bench.all_gone().await;
}

#[tokio::test]
async fn a_call_to_a_server_that_closed_its_input_and_lives_on_is_unsent_however_it_ends() {
    let bench = Bench::new("deadline");
    // The server closes its input under a call that it does not read, and lives on.
    let scenario = Scenario::new().tool(ToolSpec::new("put")).on_call(1, Fault::CloseStdin);
    let transport = bench.connector(&scenario).start().await.unwrap();
    transport.list_tools(None).await.unwrap();
    // Refused by the closed pipe, or accepted by it and then left there until the deadline.
    let call = put().with_deadline(Duration::from_secs(2));
    let error = transport.call_tool(call).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::Unsent);
    assert!(bench.record().received().is_empty());
    transport.close().await;
    bench.all_gone().await;
}

/// Lets the server die as soon as the call is handed to the transport.
struct Die(std::path::PathBuf);

impl Observer for Die {
    fn observe(&self, _: &InvocationInfo<'_>, happening: &Happening) {
        if let Happening::Attempting { .. } = happening {
            let _ = fs::write(&self.0, "");
        }
    }
}

#[tokio::test]
async fn a_call_left_in_a_dead_servers_pipe_is_delivered_to_its_successor_without_trust_or_hints() {
    let bench = Bench::new("delivered");
    let scenario = dies_unread(&bench).from_start(2, Scenario::new().tool(ToolSpec::new("put")));
    let client =
        Client::builder("bench", bench.connector(&scenario)).observer(Die(bench.file("die"))).build();
    client.catalog().await.unwrap();
    bench.wait(|record| record.faults() == ["die_unread"]).await;
    let answer = client.call(put()).await.unwrap();
    assert_eq!((answer.attempts, answer.unsent, answer.earlier_unknown), (1, 1, false));
    assert_eq!(bench.record().executions().len(), 1);
    drop(client);
    bench.all_gone().await;
}

#[tokio::test]
async fn a_call_whose_server_ran_it_and_died_stays_unknown() {
    let bench = Bench::new("ran");
    let scenario = Scenario::new().tool(ToolSpec::new("put")).on_call(1, Fault::DieAfterCommit);
    let client = Client::builder("bench", bench.connector(&scenario)).build();
    let error = client.call(put()).await.unwrap_err();
    assert_eq!((error.outcome(), error.unsent()), (Outcome::Unknown, 0));
    assert_eq!(bench.record().executions().len(), 1);
    drop(client);
    bench.all_gone().await;
}
