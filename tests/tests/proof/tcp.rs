//! A kernel's buffer hides the peer of a socket: what was accepted may have been read, so only what was not
//! accepted is claimed.

use mcp_tool::{
    HttpConnector, StdioTransport, ToolCall, Transport, TransportError,
    mcp_transport::{Delivery, ErrorClass, rmcp::model::ClientConfig},
    rmcp::service::ClientLifecycleMode,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Every call is longer.
const LENGTH: usize = 2_000;
/// Not every cut, but every kind of one.
const STEP: usize = 29;

fn put() -> ToolCall {
    ToolCall::new("put").with_argument("text", "x".repeat(LENGTH))
}

fn initialized(request: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": {
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": "cut", "version": "1.0.0"},
    }})
}

/// Reads so many bytes, or up to where the call could be run, and leaves: with a reset, if there are more.
/// Whether it could be run.
async fn read_and_leave(mut socket: TcpStream, bytes: usize, json: impl Fn(&[u8]) -> &[u8]) -> bool {
    let mut read = Vec::new();
    while read.len() < bytes {
        let mut part = vec![0; bytes - read.len()];
        let length = socket.read(&mut part).await.unwrap();
        read.extend_from_slice(&part[..length]);
        if length == 0 || is_complete(json(&read)) {
            break;
        }
    }
    is_complete(json(&read))
}

fn is_complete(json: &[u8]) -> bool {
    serde_json::from_slice::<Value>(json).is_ok()
}

/// Whether the peer of a line-wise connection, which reads so many bytes of the call, could have run it.
async fn over_lines(bytes: usize) -> (bool, TransportError) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let peer: JoinHandle<bool> = tokio::spawn(async move {
        // One byte at a time: what is read ahead would count as read.
        let mut socket = BufReader::with_capacity(1, listener.accept().await.unwrap().0);
        let mut line = Vec::new();
        socket.read_until(b'\n', &mut line).await.unwrap();
        let answer = format!("{}\n", initialized(&serde_json::from_slice(&line).unwrap()));
        socket.write_all(answer.as_bytes()).await.unwrap();
        socket.read_until(b'\n', &mut line).await.unwrap();
        read_and_leave(socket.into_inner(), bytes, |read| read).await
    });
    let (reader, writer) = TcpStream::connect(address).await.unwrap().into_split();
    let lifecycle = ClientLifecycleMode::Initialize;
    let transport = StdioTransport::over(reader, writer, ClientConfig::default(), lifecycle).await.unwrap();
    let error = transport.call_tool(put()).await.unwrap_err();
    (peer.await.unwrap(), error)
}

/// The same over HTTP, where the bytes of the head are counted, too.
async fn over_http(bytes: usize) -> (bool, TransportError) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let peer: JoinHandle<bool> = tokio::spawn(async move {
        for handshake in [true, false] {
            let mut socket = listener.accept().await.unwrap().0;
            let request = read_request(&mut socket).await;
            let body = if handshake { initialized(&request).to_string() } else { String::new() };
            let status = if handshake { "200 OK" } else { "202 Accepted" };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            socket.write_all((head + &body).as_bytes()).await.unwrap();
        }
        let socket = listener.accept().await.unwrap().0;
        let body = |read: &[u8]| -> usize {
            read.windows(4).position(|bytes| bytes == b"\r\n\r\n").map_or(read.len(), |at| at + 4)
        };
        read_and_leave(socket, bytes, |read| &read[body(read)..]).await
    });
    let connector = HttpConnector::new(&url).unwrap().with_lifecycle(ClientLifecycleMode::Initialize);
    let transport = connector.start().await.unwrap();
    let error = transport.call_tool(put()).await.unwrap_err();
    (peer.await.unwrap(), error)
}

async fn read_request(socket: &mut TcpStream) -> Value {
    let mut reader = BufReader::new(socket);
    let (mut head, mut length) = (String::new(), 0);
    while reader.read_line(&mut head).await.unwrap() > 2 {
        if let Some(value) = head.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn a_call_that_was_cut_behind_a_socket_is_never_falsely_unsent() {
    let mut complete = 0;
    for bytes in (0..LENGTH + 400).step_by(STEP) {
        for (over, (could_run, error)) in
            [("lines", over_lines(bytes).await), ("HTTP", over_http(bytes).await)]
        {
            let told = format!("{bytes} bytes read, over {over}, could run: {could_run}, {error:?}");
            assert_eq!(error.class(), ErrorClass::Connection, "{told}");
            assert!(!(could_run && error.delivery() == Delivery::Unsent), "{told}");
            complete += usize::from(could_run);
        }
    }
    assert!(complete > 0, "no cut left a complete call to run");
}
