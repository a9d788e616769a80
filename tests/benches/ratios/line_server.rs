//! The one server that both sides talk to: it answers each line as fast as it can, and does nothing else.

use std::io::{self, BufRead, Write};

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// Given to this program as its only argument, makes it this server.
pub(crate) const SERVE: &str = "serve-lines";

pub(crate) const INITIALIZED: &str = concat!(
    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"#,
    r#""serverInfo":{"name":"line-server","version":"1"}}"#
);
const LISTED: &str = r#""result":{"tools":[{"name":"put","inputSchema":{"type":"object"}}]}"#;
const CALLED: &str = r#""result":{"content":[{"type":"text","text":"stored"}],"isError":false}"#;
const NO_SUCH_METHOD: &str = r#""error":{"code":-32601,"message":"method not found"}"#;

#[derive(Deserialize)]
struct Request<'a> {
    /// Absent from a notification.
    id: Option<u64>,
    method: &'a str,
}

/// The answer to one line, with its newline. None when the line asks for none.
pub(crate) fn answer(line: &[u8]) -> Option<String> {
    let request: Request<'_> = serde_json::from_slice(line).expect("both sides write requests");
    let id = request.id?;
    let body = match request.method {
        "initialize" => INITIALIZED,
        "tools/list" => LISTED,
        "tools/call" => CALLED,
        _ => NO_SUCH_METHOD,
    };
    Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}\n"))
}

/// Serves one client in memory, until it leaves.
pub(crate) async fn serve(stream: DuplexStream) {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        if let Some(answer) = answer(&line)
            && writer.write_all(answer.as_bytes()).await.is_err()
        {
            return;
        }
        line.clear();
    }
}

/// Serves on standard input and output, until the input ends.
pub(crate) fn serve_stdio() -> io::Result<()> {
    let mut reader = io::BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut writer = io::stdout().lock();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Some(answer) = answer(&line) {
            // Ends with a newline, so it leaves at once.
            writer.write_all(answer.as_bytes())?;
        }
        line.clear();
    }
    Ok(())
}
