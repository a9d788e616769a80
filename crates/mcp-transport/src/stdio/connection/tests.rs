//! Nothing is kept of a request that has ended, here or in rmcp.

use rmcp::{
    model::{CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest},
    service::PeerRequestOptions,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    request::{Carrier, UnderWay},
    stdio::outbox::Sent,
};

/// Answers the handshake, and every call whose name is `answered`; leaves the others in the dark.
async fn serve(stream: DuplexStream) {
    let (incoming, mut out) = tokio::io::split(stream);
    let mut lines = BufReader::new(incoming).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let result = match (message["method"].as_str(), message["params"]["name"].as_str()) {
            (Some("initialize"), _) => json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "serverInfo": {"name": "by hand", "version": "1"},
            }),
            (Some("tools/call"), Some("answered")) => json!({"content": []}),
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        out.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
}

async fn connect() -> Arc<StdioTransport> {
    let (ours, theirs) = duplex(64 * 1024);
    tokio::spawn(serve(theirs));
    let (reader, writer) = tokio::io::split(ours);
    let config = ClientConfig::default();
    let connecting = StdioTransport::over(reader, writer, config, ClientLifecycleMode::Initialize);
    Arc::new(connecting.await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_leave_nothing_behind() {
    let transport = connect().await;
    let calls = (0..10_000).map(|number| {
        let transport = transport.clone();
        tokio::spawn(async move {
            let second = Duration::from_secs(1);
            let (token, call) = (CancellationToken::new(), ToolCall::new("ignored"));
            match number % 5 {
                0 | 1 => drop(transport.call_tool(ToolCall::new("answered")).await.unwrap()),
                2 => drop(transport.call_tool(call.with_deadline(second)).await.unwrap_err()),
                3 => drop(timeout(second, transport.call_tool(call)).await.unwrap_err()),
                _ => {
                    let call = transport.call_tool(call.with_cancellation(token.clone()));
                    let cancel = async {
                        tokio::time::sleep(second).await;
                        token.cancel();
                    };
                    drop(tokio::join!(call, cancel).0.unwrap_err());
                }
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    // Lets the cancellations out.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(transport.wire.kept(), 0);
    assert!(!transport.is_closed());
}

#[tokio::test(start_paused = true)]
async fn rmcp_forgets_a_request_that_was_answered_or_given_up() {
    let transport = connect().await;
    for (name, gives_up) in [("answered", false), ("ignored", true)] {
        let (tap, _arrival) = transport.wire.open(Some(ToolCall::new(name))).unwrap();
        let mut request = CallToolRequest::new(CallToolRequestParams::new(name));
        request.extensions.insert(tap.clone());
        let request = ClientRequest::CallToolRequest(request);
        let options = PeerRequestOptions::no_options();
        let handle = transport.peer.send_request_with_option(request, options).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        if gives_up {
            transport.wire.give_up(&tap);
        }
        // rmcp drops what it keeps for a request when it hands over the response.
        let response = timeout(Duration::from_secs(3_600), handle.await_response());
        assert!(matches!(response.await, Ok(Ok(_))), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_given_up_cannot_be_sent_any_more_wherever_it_is() {
    let transport = connect().await;
    let (tap, _arrival) = transport.wire.open(Some(ToolCall::new("put"))).unwrap();
    assert_eq!(transport.wire.give_up(&tap).delivery(), crate::Delivery::Unsent);
    // It was on its way from rmcp's queue to the outbox.
    assert!(matches!(transport.wire.outbox.push(b"{}".to_vec(), Some(tap)), Sent::Now(Err(_))));
    assert_eq!(transport.wire.kept(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_between_the_cut_and_the_giving_up_stands() {
    let transport = connect().await;
    let mut under_way = UnderWay::begin(&*transport.wire, Some(ToolCall::new("answered"))).unwrap();
    let mut request = CallToolRequest::new(CallToolRequestParams::new("answered"));
    request.extensions.insert(under_way.tap());
    let request = ClientRequest::CallToolRequest(request);
    let arrival = under_way.arrival(&transport.peer, request, PeerRequestOptions::no_options());
    // The caller's deadline passes before the request has left.
    assert!(timeout(Duration::ZERO, arrival).await.is_err());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(under_way.end(Err(TransportError::deadline())).is_ok());
    assert_eq!(transport.wire.kept(), 0);
}
