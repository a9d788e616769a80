//! What sends everything back is no server, and is not waited for like a slow one.

use std::time::Duration;

use mcp_transport::{
    ErrorClass, ErrorKind, StdioTransport, Transport,
    rmcp::{
        model::{ClientConfig, ProtocolVersion},
        service::ClientLifecycleMode,
    },
};
use serde_json::json;
use tokio::{
    io::{copy, duplex, split},
    time::Instant,
};

use crate::server::{connect, legacy, modern, put};

#[tokio::test(start_paused = true)]
async fn an_echo_fails_the_handshake_at_once() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let auto = ClientLifecycleMode::Auto { preferred_versions, legacy_version: None };
    for lifecycle in [legacy(), modern(), auto] {
        let (ours, theirs) = duplex(1 << 16);
        let (mut from, mut to) = split(theirs);
        let echo = tokio::spawn(async move { copy(&mut from, &mut to).await });
        let (reader, writer) = split(ours);
        let before = Instant::now();
        let connecting = StdioTransport::over(reader, writer, ClientConfig::default(), lifecycle);
        let error = connecting.await.unwrap_err();
        assert_eq!((error.kind(), error.class()), (ErrorKind::Handshake, ErrorClass::Other));
        assert!(before.elapsed() < Duration::from_secs(1), "{:?}", before.elapsed());
        echo.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_a_client_asks_is_refused_by_a_connection_that_stands() {
    let (transport, mut server) = connect().await;
    for method in ["initialize", "server/discover"] {
        server.send(json!({"jsonrpc": "2.0", "id": method, "method": method, "params": {}})).await;
        let refused = server.next().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(method), &json!(-32601)));
    }
    assert!(tokio::join!(transport.call_tool(put()), server.serve_one("done")).0.is_ok());
}
