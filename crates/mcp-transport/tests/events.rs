//! `tools/list_changed`, in both eras.

use std::time::Duration;

use mcp_transport::{Event, Transport, rmcp::model::ClientConfig};
use serde_json::json;
use tokio::time::timeout;

use crate::server::{connect, connect_as, modern, put};

#[tokio::test(start_paused = true)]
async fn a_legacy_server_tells_that_its_tools_changed() {
    let (transport, mut server) = connect().await;
    let (mut one, mut other) = (transport.events(), transport.events());
    server.notify("notifications/tools/list_changed", json!({})).await;
    assert_eq!((one.next().await, other.next().await), (Event::ToolsChanged, Event::ToolsChanged));
    assert!(timeout(Duration::from_secs(9), one.next()).await.is_err(), "once");
    drop(server);
    assert_eq!(one.next().await, Event::Closed);
    assert!(timeout(Duration::from_secs(9), one.next()).await.is_err(), "nothing follows");
}

#[tokio::test(start_paused = true)]
async fn a_server_of_2026_is_listened_to_and_tells_by_the_subscription() {
    let (transport, mut server) = connect_as(ClientConfig::default(), modern()).await;
    let mut events = transport.events();
    let listen = server.expect("subscriptions/listen").await;
    assert_eq!(listen["params"]["notifications"], json!({"toolsListChanged": true}));
    let of = |listen: &serde_json::Value| json!({"io.modelcontextprotocol/subscriptionId": listen["id"]});
    let accepted = json!({"_meta": of(&listen), "notifications": {"toolsListChanged": true}});
    server.notify("notifications/subscriptions/acknowledged", accepted).await;
    for _ in 0..100 {
        server.notify("notifications/tools/list_changed", json!({"_meta": of(&listen)})).await;
        assert_eq!(events.next().await, Event::ToolsChanged);
    }
    let meta = "io.modelcontextprotocol/protocolVersion";
    let serve = async {
        let request = server.expect("tools/call").await;
        assert_eq!(request["params"]["_meta"][meta], "2026-07-28");
        server.answer(&request, crate::server::text_result("done")).await;
    };
    assert!(tokio::join!(transport.call_tool(put()), serve).0.is_ok());
}
