//! The mocks and the scripted transport, as a downstream crate uses them.

use std::{sync::Arc, time::Duration};

use mcp_transport::{
    Connector, Delivery, ErrorClass, Event, Fence, Gate, MockConnector, MockTransport, ScriptedTransport,
    ServerIdentity, Step, ToolCall, ToolPage, Transport, TransportError, rmcp::model::Tool,
};
use tokio::time::timeout;

use crate::server::put;

#[tokio::test(start_paused = true)]
async fn provided_methods_run_in_mocks() {
    let mut mock = MockTransport::new();
    mock.expect_list_tools().times(1).returning(|_| Ok(ToolPage::default()));
    let transport: Arc<dyn Transport> = Arc::new(mock);
    transport.probe().await.unwrap();
    assert_eq!(transport.classify(&TransportError::lost()), ErrorClass::Connection);
    assert!(timeout(Duration::from_secs(1), transport.events().next()).await.is_err());

    let mut mock = MockConnector::new();
    mock.expect_connect().times(1).returning(|| Err(TransportError::connect("no route")));
    assert_eq!(mock.identity(), ServerIdentity::unspecified());
    assert_eq!(mock.connect().await.err().unwrap().delivery(), Delivery::Unsent);
}

#[tokio::test(start_paused = true)]
async fn a_script_is_followed_in_order_and_what_arrived_is_counted() {
    let gate = Gate::new();
    let lost_reply = Step::LoseResponse(TransportError::lost());
    let server = ScriptedTransport::new().hang(&gate).answer().then(lost_reply).lose_unsent().answer();
    let call = server.call_tool(ToolCall::new("first"));
    let release = async {
        server.wait_for_calls(1).await;
        gate.open();
    };
    assert!(tokio::join!(call, release).0.is_ok());
    assert_eq!(server.call_tool(put()).await.unwrap_err().delivery(), Delivery::Unknown);
    assert!(!server.is_closed(), "only the reply was lost");
    assert_eq!(server.call_tool(put()).await.unwrap_err().delivery(), Delivery::Unsent);
    assert!(server.is_closed());
    assert_eq!(server.call_tool(put()).await.unwrap_err().kind().code(), "connection_closed");
    assert_eq!(server.events().next().await, Event::Closed);
    assert_eq!(server.received().iter().map(ToolCall::name).collect::<Vec<_>>(), ["first", "put", "put"]);
}

#[tokio::test(start_paused = true)]
async fn a_scripted_server_that_disconnects_loses_the_calls_that_hang() {
    let server = ScriptedTransport::new().hang(&Gate::new()).with_fence(Fence::GroupGone);
    let mut events = server.events();
    let close = async {
        server.wait_for_calls(1).await;
        (server.close().await, server.close().await)
    };
    let (reply, fences) = tokio::join!(server.call_tool(ToolCall::new("put")), close);
    assert_eq!(reply.unwrap_err().class(), ErrorClass::Connection);
    assert_eq!(fences, (Fence::GroupGone, Fence::GroupGone));
    assert_eq!(events.next().await, Event::Closed);
}

#[tokio::test]
async fn scripted_pages_lead_to_one_another() {
    let page = |name: &'static str| ToolPage::of([Tool::new(name, "", serde_json::Map::new())]);
    let server = ScriptedTransport::new().with_pages([page("a").with_next("2"), page("b")]);
    let first = server.list_tools(None).await.unwrap();
    let second = server.list_tools(first.next).await.unwrap();
    assert!(second.tools[0].json().contains(r#""b""#) && second.next.is_none());
    assert_eq!(server.lists(), 2);
}
