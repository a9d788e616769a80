//! A server written by hand: it reads and writes raw lines, and does only what a test tells it.

use std::time::Duration;

use mcp_transport::{
    StdioTransport, ToolCall,
    rmcp::{
        ClientHandler,
        model::{ClientConfig, ProtocolVersion},
        service::{ClientLifecycleMode, RoleClient, RunningService, serve_client_with_lifecycle},
    },
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};

/// More than a test leaves unread, unless it is about that.
pub(crate) const ROOM: usize = 256 * 1024;
/// Longer than anybody here waits for anything: a test fails then, instead of hanging.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// On the paused clock this passes only when every task is waiting for something else.
const A_MOMENT: Duration = Duration::from_millis(1);

pub(crate) struct Server {
    lines: Lines<BufReader<DuplexStream>>,
    out: DuplexStream,
}

/// The two ends of a connection that is not open yet.
pub(crate) struct Ends {
    pub(crate) server: Server,
    pub(crate) reader: DuplexStream,
    pub(crate) writer: DuplexStream,
}

pub(crate) fn ends(room: usize) -> Ends {
    // Each is used in one direction only.
    let (writer, incoming) = duplex(room);
    let (out, reader) = duplex(ROOM);
    Ends { server: Server { lines: BufReader::new(incoming).lines(), out }, reader, writer }
}

pub(crate) fn legacy() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

pub(crate) fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// A connection of 2025-11-25 to a server of that version.
pub(crate) async fn connect() -> (StdioTransport, Server) {
    connect_as(ClientConfig::default(), legacy()).await
}

pub(crate) async fn connect_as(
    handler: impl ClientHandler,
    lifecycle: ClientLifecycleMode,
) -> (StdioTransport, Server) {
    let Ends { server, reader, writer } = ends(ROOM);
    connect_over(server, reader, writer, handler, lifecycle).await
}

/// The same through a writer of the test's own.
pub(crate) async fn connect_over(
    mut server: Server,
    reader: DuplexStream,
    writer: impl AsyncWrite + Send + 'static,
    handler: impl ClientHandler,
    lifecycle: ClientLifecycleMode,
) -> (StdioTransport, Server) {
    let connecting = StdioTransport::over(reader, writer, handler, lifecycle);
    let (transport, _) = tokio::join!(connecting, server.shake_hands());
    (transport.expect("the handshake succeeds"), server)
}

pub(crate) type Raw<H> = RunningService<RoleClient, H>;

/// rmcp alone, with its own line transport.
pub(crate) async fn raw() -> (Raw<ClientConfig>, Server) {
    let Ends { server, reader, writer } = ends(ROOM);
    raw_over(server, reader, writer, ClientConfig::default()).await
}

pub(crate) async fn raw_over<H: ClientHandler>(
    mut server: Server,
    reader: DuplexStream,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    handler: H,
) -> (Raw<H>, Server) {
    let connecting = serve_client_with_lifecycle(handler, (reader, writer), legacy());
    let (service, _) = tokio::join!(connecting, server.shake_hands());
    (service.unwrap(), server)
}

impl Server {
    /// Answers whichever handshake comes.
    /// Answers the handshake and returns how the client began it.
    pub(crate) async fn shake_hands(&mut self) -> Value {
        let request = self.next().await;
        let capabilities = json!({"tools": {"listChanged": true}});
        let info = json!({"name": "by hand", "version": "1"});
        if request["method"] == "server/discover" {
            let meta = json!({"io.modelcontextprotocol/serverInfo": info});
            let result = json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
                "ttlMs": 0, "cacheScope": "private", "_meta": meta,
            });
            self.answer(&request, result).await;
            return request;
        }
        let result =
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info});
        self.answer(&request, result).await;
        self.expect("notifications/initialized").await;
        request
    }

    /// The next line, parsed. Panics when the client has closed its side.
    pub(crate) async fn next(&mut self) -> Value {
        let line = self.line().await.expect("the client's side is open");
        serde_json::from_str(&line).expect("the client writes JSON")
    }

    /// The next line as it came, or none when the client has closed its side.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let line = tokio::time::timeout(A_DAY, self.lines.next_line()).await;
        line.expect("something comes").expect("an in-memory stream does not fail")
    }

    /// The next message, which must have this method.
    pub(crate) async fn expect(&mut self, method: &str) -> Value {
        let message = self.next().await;
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// Nothing comes, however long one waits.
    pub(crate) async fn hears_nothing(&mut self) {
        let heard = tokio::time::timeout(A_MOMENT, self.line()).await;
        assert!(!matches!(heard, Ok(Some(_))), "{heard:?}");
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.write(format!("{message}\n")).await;
    }

    /// Writes these bytes and nothing else.
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.out.write_all(bytes.as_ref()).await.expect("the client reads");
    }

    /// The same to a client that may not read any more.
    pub(crate) async fn send_or_not(&mut self, message: Value) {
        let _ = self.out.write_all(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    pub(crate) async fn progress(&mut self, request: &Value, progress: u32) {
        let token = &request["params"]["_meta"]["progressToken"];
        self.notify("notifications/progress", json!({"progressToken": token, "progress": progress})).await;
    }

    /// Reads one call and answers it with this text.
    pub(crate) async fn serve_one(&mut self, text: &str) {
        let request = self.expect("tools/call").await;
        self.answer(&request, text_result(text)).await;
    }
}

pub(crate) fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A call that nobody waits for longer than a second.
pub(crate) fn put() -> ToolCall {
    ToolCall::new("put").with_deadline(Duration::from_secs(1))
}

/// Lets everything happen that can happen without time passing.
pub(crate) async fn settle() {
    tokio::time::sleep(A_MOMENT).await;
}
