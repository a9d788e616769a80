//! Everything a server may write that is not the answer: it harms nothing.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll},
    time::Duration,
};

use mcp_transport::{Delivery, ErrorClass, StdioTransport, ToolCall, Transport, rmcp::model::ClientConfig};
use serde_json::json;
use tokio::{
    io::{AsyncRead, ReadBuf, sink},
    task::yield_now,
};

use crate::server::{connect, legacy, put, text_result};

#[tokio::test(start_paused = true)]
async fn stray_lines_complete_nothing_and_break_nothing() {
    let (transport, mut server) = connect().await;
    let serve = async {
        let request = server.expect("tools/call").await;
        let id = request["id"].clone();
        for line in [
            "Server listening on stdio".to_owned(),
            String::new(),
            "\r".to_owned(),
            "{".to_owned(),
            "{}".to_owned(),
            "null".to_owned(),
            "[]".to_owned(),
            // Log lines in JSON, with members of the same names.
            format!(r#"{{"level":"info","id":{id},"msg":"hello"}}"#),
            format!(r#"{{"level":"error","id":{id},"error":"E"}}"#),
            format!(r#"{{"id":{id},"result":{{"content":[]}}}}"#),
            format!(r#"{{"jsonrpc":"1.0","id":{id},"result":{{"content":[]}}}}"#),
            format!(r#"["2.0",{id},null,null,{{"content":[]}},null]"#),
            // Ids that nobody has.
            r#"{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":"x","result":{"content":[]}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":-1,"error":{"code":1,"message":"m"}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":1.5,"result":{"content":[]}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":{},"result":{"content":[]}}"#.to_owned(),
            // No id at all.
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid"}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","result":{"content":[]}}"#.to_owned(),
            // Notifications that make no sense.
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":1}}"#
                .to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":"x"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/of/the/future","params":{}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":7}"#.to_owned(),
        ] {
            server.write(format!("{line}\n")).await;
        }
        server.write([0xff, 0xfe, b'\n']).await;
        server.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[\"\xff\"]}}\n").await;
        server.hears_nothing().await;
        server.answer(&request, text_result("done")).await;
    };
    let (reply, ()) = tokio::join!(transport.call_tool(ToolCall::new("put")), serve);
    assert_eq!(reply.unwrap().result().unwrap().content[0].as_text().unwrap().text, "done");
    assert!(tokio::join!(transport.call_tool(put()), server.serve_one("next")).0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_second_and_a_late_answer_are_dropped() {
    let (transport, mut server) = connect().await;
    let serve = async {
        let first = server.expect("tools/call").await;
        for text in ["first", "again", "and again"] {
            server.answer(&first, text_result(text)).await;
        }
        first
    };
    let (reply, first) = tokio::join!(transport.call_tool(put()), serve);
    assert_eq!(reply.unwrap().result().unwrap().content[0].as_text().unwrap().text, "first");

    let late = transport.call_tool(put()).await.unwrap_err();
    assert_eq!(late.kind().code(), "deadline");
    let request = server.expect("tools/call").await;
    server.expect("notifications/cancelled").await;
    let serve = async {
        let next = server.expect("tools/call").await;
        server.answer(&request, text_result("late")).await;
        server.answer(&first, text_result("later")).await;
        server.answer(&next, text_result("next")).await;
    };
    let (reply, ()) = tokio::join!(transport.call_tool(put()), serve);
    assert_eq!(reply.unwrap().result().unwrap().content[0].as_text().unwrap().text, "next");
    assert!(!transport.is_closed());
}

#[tokio::test(start_paused = true)]
async fn an_id_that_comes_back_as_a_string_is_the_same_id() {
    let (transport, mut server) = connect().await;
    let serve = async {
        let request = server.expect("tools/call").await;
        let id = request["id"].to_string();
        server.send(json!({"jsonrpc": "2.0", "id": id, "result": text_result("done")})).await;
    };
    assert!(tokio::join!(transport.call_tool(put()), serve).0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_oversized_answer_fails_its_own_call_and_the_next_one_works() {
    let (transport, mut server) = connect().await;
    let other = ToolCall::new("other").with_deadline(Duration::from_secs(60));
    let serve = async {
        let other = server.expect("tools/call").await;
        let large = server.expect("tools/call").await;
        let (before, after) = (format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, large["id"]), "}\n");
        let mebibyte = "x".repeat(1024 * 1024);
        server.write(format!(r#"{before}{{"content":[{{"type":"text","text":""#)).await;
        for _ in 0..17 {
            server.write(&mebibyte).await;
        }
        server.write(format!(r#""}}]}}{after}"#)).await;
        server.answer(&other, text_result("other")).await;
    };
    let (other, large, ()) = tokio::join!(transport.call_tool(other), transport.call_tool(put()), serve);
    assert!(other.is_ok());
    let error = large.unwrap_err();
    assert_eq!(
        (error.class(), error.delivery(), error.kind().code()),
        (ErrorClass::Other, Delivery::Unknown, "reply_too_large")
    );
    assert!(tokio::join!(transport.call_tool(put()), server.serve_one("next")).0.is_ok());
}

/// Empty lines, as many as fit and at once, up to a mebibyte. Counts the bytes.
struct Flood(Arc<AtomicUsize>);

impl AsyncRead for Flood {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.remaining().min((1024 * 1024_usize).saturating_sub(self.0.load(SeqCst)));
        buffer.put_slice(&vec![b'\n'; room]);
        self.0.fetch_add(room, SeqCst);
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_flood_of_lines_leaves_the_others_on_its_thread_their_turn() {
    let flooded = Arc::new(AtomicUsize::new(0));
    let (flood, config) = (Flood(flooded.clone()), ClientConfig::default());
    let connecting = tokio::spawn(StdioTransport::over(flood, sink(), config, legacy()));
    while flooded.load(SeqCst) == 0 {
        yield_now().await;
    }
    assert!(flooded.load(SeqCst) <= 64 * 1024, "{flooded:?} bytes before anybody else's turn");
    connecting.abort();
}
