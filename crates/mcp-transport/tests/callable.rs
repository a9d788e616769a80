//! A transport made from closures.

use std::future::{Ready, pending, ready};

use mcp_transport::{
    Cursor, Delivery, ErrorClass, ErrorKind, Fence, Guard, ToolCall, ToolPage, Transport, TransportError,
    Withdrawn, callable,
};

use crate::{SECOND, done, told};

fn quiet(_: Option<Cursor>) -> Ready<Result<ToolPage, TransportError>> {
    ready(Ok(ToolPage::default()))
}

#[tokio::test(start_paused = true)]
async fn a_callable_runs_under_the_bounds_of_the_call() {
    let transport = callable(|_| pending(), quiet);
    let error = transport.call_tool(ToolCall::new("put").with_deadline(SECOND)).await.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Other, "deadline", Delivery::Unknown));
    let withdrawn = ToolCall::new("put").with_guard(Guard::new(|| Err(Withdrawn)));
    assert_eq!(transport.call_tool(withdrawn).await.unwrap_err().delivery(), Delivery::Unsent);
    assert!(!transport.is_closed());
    assert_eq!(format!("{transport:?}"), "Callable { closed: false, .. }");
    assert!(transport.list_tools(None).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_lost_callable_takes_no_further_call_and_leaves_those_in_flight() {
    let lose = |call: ToolCall| async move {
        match call.name() {
            "lose" => Err(TransportError::lost()),
            _ => {
                tokio::time::sleep(SECOND).await;
                done()
            }
        }
    };
    let transport = callable(lose, quiet);
    let (slow, lost) =
        tokio::join!(transport.call_tool(ToolCall::new("slow")), transport.call_tool(ToolCall::new("lose")));
    assert!(slow.is_ok());
    assert_eq!(told(&lost.unwrap_err()), (ErrorClass::Connection, "connection_lost", Delivery::Unknown));
    assert!(transport.is_closed());
    let error = transport.call_tool(ToolCall::new("slow")).await.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Connection, "connection_closed", Delivery::Unsent));
    assert_eq!(transport.list_tools(None).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_callable_that_is_retired_leaves_its_calls_in_flight() {
    let slow = |_| async {
        tokio::time::sleep(SECOND * 2).await;
        done()
    };
    let transport = callable(slow, quiet);
    let retiring = async {
        tokio::time::sleep(SECOND).await;
        transport.retire().await
    };
    let (call, fence) = tokio::join!(transport.call_tool(ToolCall::new("slow")), retiring);
    assert!(call.is_ok());
    assert_eq!((fence, transport.is_closed()), (Fence::None, true));
}

#[tokio::test(start_paused = true)]
async fn a_callable_that_is_closed_ends_its_calls_in_flight() {
    let transport = callable(|_| pending(), |_| pending());
    let closing = async {
        tokio::time::sleep(SECOND).await;
        transport.close().await
    };
    let list = tokio::time::timeout(SECOND * 2, transport.list_tools(None));
    let (call, list, fence) = tokio::join!(transport.call_tool(ToolCall::new("put")), list, closing);
    assert_eq!(told(&call.unwrap_err()), (ErrorClass::Connection, "connection_lost", Delivery::Unknown));
    assert_eq!(list.unwrap().unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(fence, Fence::None);
}
