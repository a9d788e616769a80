use std::time::Duration;

use mcp_tool::{CallReply, ToolCall, Transport, mcp_transport::ErrorKind};

use super::server::{run, server, text};

/// The bytes that a server writes while a call waits, and after them its answer.
///
/// Whatever they are, the call is answered, or fails because of an answer to it that makes no sense; and
/// the next call is answered by what answers it.
pub fn frames(data: &[u8]) {
    run(async {
        let (mut server, connecting) = server();
        let (transport, ()) = tokio::join!(connecting, server.shake_hands());
        let transport = transport.expect("the handshake is in order");
        let serve = async {
            let request = server.request("tools/call").await;
            server.write(data).await;
            server.write(b"\n").await;
            server.answer(&request, text("first")).await;
            let request = server.request("tools/call").await;
            server.answer(&request, text("second")).await;
        };
        let calls = async {
            if let Err(error) = transport.call_tool(call()).await {
                assert_eq!(error.kind(), ErrorKind::InvalidReply);
            }
            match transport.call_tool(call()).await {
                Ok(CallReply::Result(result)) => {
                    assert_eq!(result.content[0].as_text().map(|text| text.text.as_str()), Some("second"));
                }
                other => panic!("{other:?}"),
            }
        };
        tokio::join!(calls, serve);
    });
}

/// The bytes that a server writes in answer to the handshake, before it ends.
///
/// Whatever they are, the handshake ends; and if it ends well, a call fails in an orderly way.
pub fn handshake(data: &[u8]) {
    run(async {
        let (mut server, connecting) = server();
        let serve = async move {
            server.request("initialize").await;
            server.write(data).await;
            server.write(b"\n").await;
        };
        let (transport, ()) = tokio::join!(connecting, serve);
        if let Ok(transport) = transport {
            assert!(transport.call_tool(call()).await.is_err());
        }
    });
}

fn call() -> ToolCall {
    ToolCall::new("put").with_deadline(Duration::from_secs(5))
}
