//! The server whose instructions are counted with everybody's: it answers each line from texts that were
//! written before, and does nothing else.

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

const INITIALIZED: &str = concat!(
    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"#,
    r#""serverInfo":{"name":"counted","version":"1"}}"#
);
const CALLED: &str = r#""result":{"content":[{"type":"text","text":"stored"}],"isError":false}"#;
const NO_SUCH_METHOD: &str = r#""error":{"code":-32601,"message":"method not found"}"#;
/// How many tools stand on one page.
const PAGE: usize = 100;
/// As much as a pipe of Linux holds.
const DUPLEX: usize = 64 * 1024;

#[derive(Deserialize)]
struct Request<'a> {
    /// Absent from a notification.
    id: Option<u64>,
    method: &'a str,
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    /// The number of the page.
    cursor: Option<&'a str>,
}

/// Begins to serve one client in memory, until it leaves.
pub(crate) fn start(tools: usize) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(DUPLEX);
    tokio::spawn(serve(theirs, pages(tools)));
    ours
}

async fn serve(stream: DuplexStream, pages: Vec<String>) {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::with_capacity(DUPLEX, reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        let request: Request<'_> = serde_json::from_slice(&line).expect("all sides write requests");
        if let Some(id) = request.id {
            let body = match request.method {
                "initialize" => INITIALIZED,
                "tools/list" => &pages[page(request.params)],
                "tools/call" => CALLED,
                _ => NO_SUCH_METHOD,
            };
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}\n");
            if writer.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
        line.clear();
    }
}

fn page(params: Option<Params<'_>>) -> usize {
    let cursor = params.and_then(|params| params.cursor);
    cursor.map_or(0, |cursor| cursor.parse().expect("the cursor is one of ours"))
}

/// The results of `tools/list`. The first tool is `put`.
fn pages(tools: usize) -> Vec<String> {
    let tools: Vec<_> = (0..tools).map(tool).collect();
    let pages: Vec<_> = tools.chunks(PAGE).collect();
    let next = |number: usize| {
        let next = number + 1;
        if next < pages.len() { format!(r#","nextCursor":"{next}""#) } else { String::new() }
    };
    let written = pages.iter().enumerate();
    written.map(|(n, tools)| format!(r#""result":{{"tools":[{}]{}}}"#, tools.join(","), next(n))).collect()
}

/// A tool whose input schema has about 500 bytes.
fn tool(number: usize) -> String {
    let name = if number == 0 { "put".to_owned() } else { format!("tool_{number}") };
    let property = |property: usize| {
        let kind = ["string", "integer", "boolean"][property % 3];
        format!(
            r#""property_{property}":{{"type":"{kind}","description":"What is put there, if anything."}}"#
        )
    };
    let properties: Vec<_> = (0..6).map(property).collect();
    format!(
        concat!(
            r#"{{"name":"{name}","description":"Does one of the many things that a server can do.","#,
            r#""inputSchema":{{"type":"object","properties":{{{properties}}},"required":["property_0"]}},"#,
            r#""annotations":{{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":{idempotent}}}}}"#
        ),
        name = name,
        properties = properties.join(","),
        idempotent = number.is_multiple_of(2),
    )
}
