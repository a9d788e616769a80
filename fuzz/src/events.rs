use std::{io, time::Duration};

use mcp_tool::{
    HttpConnector, HttpTransport, ToolCall, Transport, mcp_transport::ErrorKind,
    rmcp::service::ClientLifecycleMode,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    sync::watch,
};

use super::server::initialized;

/// The body of the event stream that answers a call, which ends with it.
///
/// Whatever it is, the call ends at once, and never by its deadline.
pub fn events(data: &[u8]) {
    thread_local! {
        static BENCH: Bench = Bench::new();
    }
    BENCH.with(|bench| {
        bench.body.send_replace(data.to_vec());
        bench.runtime.block_on(async {
            let call = ToolCall::new("put").with_deadline(Duration::from_secs(10));
            if let Err(error) = bench.transport.call_tool(call).await {
                let kinds = [ErrorKind::InvalidReply, ErrorKind::Lost];
                assert!(kinds.contains(&error.kind()), "{:?}", error.kind());
            }
        });
    });
}

/// One connection for all inputs, to a server that answers each call with the present one.
struct Bench {
    runtime: Runtime,
    transport: HttpTransport,
    body: watch::Sender<Vec<u8>>,
}

impl Bench {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (body, bodies) = watch::channel(Vec::new());
        let transport = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let port = listener.local_addr().expect("its own address").port();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let body = bodies.clone();
                    // An error says that the client has gone.
                    tokio::spawn(async move { serve(stream, &body).await });
                }
            });
            let connector = HttpConnector::new(&format!("http://127.0.0.1:{port}/mcp")).expect("a URL");
            // A resumption begins with a pause, which would be all that an input takes.
            let connector = connector.with_lifecycle(ClientLifecycleMode::Initialize).with_max_resumes(0);
            connector.start().await.expect("the handshake is in order")
        });
        Self { runtime, transport, body }
    }
}

/// The body with the id of this call where it has that of the first.
fn addressed(body: &[u8], id: &Value) -> Vec<u8> {
    const FIRST: &[u8] = br#""id":1"#;
    let id = format!(r#""id":{id}"#);
    let mut addressed = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.windows(FIRST.len()).position(|window| window == FIRST) {
        addressed.extend_from_slice(&rest[..at]);
        addressed.extend_from_slice(id.as_bytes());
        rest = &rest[at + FIRST.len()..];
    }
    addressed.extend_from_slice(rest);
    addressed
}

async fn serve(stream: TcpStream, body: &watch::Receiver<Vec<u8>>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    let mut is_post = false;
    while stream.read_line(&mut line).await? > 0 && line != "\r\n" {
        is_post |= line.starts_with("POST ");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut json = vec![0; length];
    stream.read_exact(&mut json).await?;
    let message: Value = serde_json::from_slice(&json).unwrap_or_default();
    let (status, content_type, answer) = match message["method"].as_str() {
        Some("initialize") => {
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": initialized()});
            ("200 OK", "application/json", answer.to_string().into_bytes())
        }
        Some("tools/call") => ("200 OK", "text/event-stream", addressed(&body.borrow(), &message["id"])),
        _ if is_post => ("202 Accepted", "text/plain", Vec::new()),
        _ => ("405 Method Not Allowed", "text/plain", Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\n");
    let length = answer.len();
    stream
        .write_all(format!("{head}content-length: {length}\r\nconnection: close\r\n\r\n").as_bytes())
        .await?;
    stream.write_all(&answer).await?;
    stream.shutdown().await
}
