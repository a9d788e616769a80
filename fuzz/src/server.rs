use std::future::Future;

use mcp_tool::{
    StdioTransport, TransportError,
    rmcp::{model::ClientConfig, service::ClientLifecycleMode},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex},
    runtime::{Builder, Runtime},
};

/// More than a connection may leave unread here.
const ROOM: usize = 1 << 20;

/// A server at the other end of in-memory streams.
pub(crate) struct Server {
    lines: Lines<BufReader<DuplexStream>>,
    out: DuplexStream,
}

/// Runs one input on a clock that is moved only when everybody waits: a timeout costs no time.
pub(crate) fn run<T>(case: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: Runtime =
            Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
    }
    RUNTIME.with(|runtime| runtime.block_on(case))
}

/// A server, and the connection to it that is about to be made.
pub(crate) fn server() -> (Server, impl Future<Output = Result<StdioTransport, TransportError>>) {
    let (writer, incoming) = duplex(ROOM);
    let (out, reader) = duplex(ROOM);
    let connecting =
        StdioTransport::over(reader, writer, ClientConfig::default(), ClientLifecycleMode::Initialize);
    (Server { lines: BufReader::new(incoming).lines(), out }, connecting)
}

impl Server {
    /// The next request of this method. A client that has gone makes none.
    pub(crate) async fn request(&mut self, method: &str) -> Value {
        while let Ok(Some(line)) = self.lines.next_line().await {
            let message: Value = serde_json::from_str(&line).expect("the client writes JSON");
            if message["method"] == method {
                return message;
            }
        }
        std::future::pending().await
    }

    /// Writes bytes. A client that reads no further is no reason to wait.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        // An error says that the client has gone.
        let _ = self.out.write_all(bytes).await;
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.write(format!("{answer}\n").as_bytes()).await;
    }

    pub(crate) async fn shake_hands(&mut self) {
        let request = self.request("initialize").await;
        self.answer(&request, initialized()).await;
    }
}

/// The result of `initialize`.
pub(crate) fn initialized() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "fuzz", "version": "1"},
    })
}

/// A result of a call with this text.
pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}
