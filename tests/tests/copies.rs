//! Arguments are held once, and copied once for each attempt: into the frame that leaves. The only test of its
//! program, since all that is allocated is counted.

use std::{
    alloc::System,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use mcp_tool::{
    Answer, Client, StdioTransport, ToolCall, Transport, TransportError, Trust, connector_fn,
    rmcp::{model::JsonObject, service::ClientLifecycleMode},
};
use stats_alloc::{Region, StatsAlloc};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

#[global_allocator]
static ALLOCATOR: StatsAlloc<System> = StatsAlloc::system();

const MEBIBYTE: usize = 1024 * 1024;
const INITIALIZED: &str = concat!(
    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"#,
    r#""serverInfo":{"name":"forgetful","version":"1"}}"#
);
const LISTED: &str = concat!(
    r#""result":{"tools":[{"name":"look","inputSchema":{"type":"object"},"#,
    r#""annotations":{"readOnlyHint":true}}]}"#
);
const CALLED: &str = r#""result":{"content":[],"isError":false}"#;

#[tokio::test]
async fn arguments_are_copied_once_for_each_attempt() {
    let (small, large) = (arguments(1), arguments(MEBIBYTE));
    for losses in [0, 1] {
        let attempts = losses + 1;
        let (answer, beside) = call(losses, &small).await;
        assert_eq!(answer.attempts, attempts as u32);
        let (answer, all) = call(losses, &large).await;
        assert_eq!(answer.attempts, attempts as u32);
        let copies = (all - beside) as f64 / MEBIBYTE as f64;
        assert!((copies - attempts as f64).abs() < 0.1, "{copies:.2} copies for {attempts} attempts");
    }
}

/// One call over a client of its own, whose first connections are lost when they have read it. Also how many
/// bytes were allocated meanwhile.
async fn call(losses: usize, arguments: &Arc<JsonObject>) -> (Answer, usize) {
    let connections = Arc::new(AtomicUsize::new(0));
    let connector = connector_fn(move || {
        let is_lost = connections.fetch_add(1, Ordering::Relaxed) < losses;
        async move { connect(is_lost).await }
    });
    let client = Client::builder("forgetful", connector).trust(Trust::BOTH).build();
    client.catalog().await.expect("the server lists its tools");
    let region = Region::new(&ALLOCATOR);
    let answer = client.call(ToolCall::new("look").with_arguments(arguments.clone())).await;
    let allocated = region.change().bytes_allocated;
    (answer.expect("the server answers"), allocated)
}

fn arguments(size: usize) -> Arc<JsonObject> {
    Arc::new([("text".to_owned(), "x".repeat(size).into())].into_iter().collect())
}

async fn connect(is_lost: bool) -> Result<Arc<dyn Transport>, TransportError> {
    // Small, since what it holds is allocated, too.
    let (ours, theirs) = tokio::io::duplex(4096);
    tokio::spawn(serve(theirs, is_lost));
    let (reader, writer) = tokio::io::split(ours);
    let connected = StdioTransport::over(reader, writer, (), ClientLifecycleMode::Initialize).await?;
    Ok(Arc::new(connected))
}

/// Keeps no more of a request than it needs to answer it. One that is lost ends when it has read a call.
async fn serve(stream: DuplexStream, is_lost: bool) {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::new(reader);
    while let Some(head) = head_of_line(&mut reader).await {
        let body = match &*head {
            head if head.contains(r#""method":"tools/call""#) && is_lost => return,
            head if head.contains(r#""method":"tools/call""#) => CALLED,
            head if head.contains(r#""method":"tools/list""#) => LISTED,
            head if head.contains(r#""method":"initialize""#) => INITIALIZED,
            _ => continue,
        };
        let (_, after) = head.split_once(r#""id":"#).expect("a request has an id");
        let id: String = after.chars().take_while(char::is_ascii_digit).collect();
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}\n");
        if writer.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn head_of_line(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    loop {
        let text = reader.fill_buf().await.ok().filter(|text| !text.is_empty())?;
        let end = text.iter().position(|byte| *byte == b'\n');
        let line = &text[..end.unwrap_or(text.len())];
        head.extend_from_slice(&line[..line.len().min(256_usize.saturating_sub(head.len()))]);
        let read = end.map_or(text.len(), |end| end + 1);
        reader.consume(read);
        if end.is_some() {
            return Some(String::from_utf8_lossy(&head).into_owned());
        }
    }
}
