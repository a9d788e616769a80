//! The least that a client can do: a hand-written one without an SDK. It writes a line, reads a line and
//! parses its JSON once, proves nothing, bounds nothing and recovers from nothing.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};

use mcp_tool::rmcp::model::JsonObject;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};

use crate::line_server::SERVE;

/// The most calls that are written before the first answer is read: their lines fit into a pipe, so nobody
/// waits for the other.
const BATCH: u32 = 400;

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'static str,
    id: u64,
    method: &'static str,
    params: Params<'a>,
}

#[derive(Serialize)]
struct Params<'a> {
    name: &'static str,
    arguments: &'a JsonObject,
}

#[derive(Deserialize)]
struct Answer {
    id: u64,
    result: CallResult,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallResult {
    content: Vec<Text>,
    is_error: bool,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

pub(crate) const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"floor","version":"1"}}}"#
);
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The ids of the calls that are in flight together, and their requests.
struct Calls {
    arguments: Arc<JsonObject>,
    next: u64,
}

impl Calls {
    fn new(arguments: &Arc<JsonObject>) -> Self {
        Self { arguments: arguments.clone(), next: 1 }
    }

    fn write(&mut self, to: &mut Vec<u8>) {
        let params = Params { name: "put", arguments: &self.arguments };
        let request = Request { jsonrpc: "2.0", id: self.next, method: "tools/call", params };
        serde_json::to_writer(to, &request).expect("it is JSON");
        self.next += 1;
    }

    fn lines(&mut self, calls: u32) -> Vec<u8> {
        let mut lines = Vec::new();
        for _ in 0..calls {
            self.write(&mut lines);
            lines.push(b'\n');
        }
        lines
    }
}

fn read(answer: &[u8], id: u64) {
    let answer: Answer = serde_json::from_slice(answer).expect("the server answers");
    assert_eq!((answer.id, answer.result.is_error), (id, false));
    assert!(answer.result.content.iter().all(|block| !block.text.is_empty()));
}

fn batches(calls: u32) -> impl Iterator<Item = u32> {
    (0..calls).step_by(BATCH as usize).map(move |done| BATCH.min(calls - done))
}

/// Over a pipe in memory.
pub(crate) struct InMemory {
    reader: tokio::io::BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    calls: Calls,
}

impl InMemory {
    pub(crate) fn new(stream: DuplexStream, arguments: &Arc<JsonObject>) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { reader: tokio::io::BufReader::new(reader), writer, calls: Calls::new(arguments) }
    }

    pub(crate) async fn call(&mut self, in_flight: u32) {
        let mut line = Vec::new();
        for batch in batches(in_flight) {
            let first = self.calls.next;
            let lines = self.calls.lines(batch);
            self.writer.write_all(&lines).await.expect("the server reads");
            for id in first..self.calls.next {
                line.clear();
                self.reader.read_until(b'\n', &mut line).await.expect("the server answers");
                read(&line, id);
            }
        }
    }
}

/// Over the pipes of a child, waiting in the kernel.
pub(crate) struct OverPipes {
    reader: BufReader<ChildStdout>,
    /// None once the server is to leave.
    writer: Option<ChildStdin>,
    child: Child,
    calls: Calls,
}

impl OverPipes {
    pub(crate) fn start(arguments: &Arc<JsonObject>) -> Self {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        let mut child = command
            .arg(SERVE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts");
        let reader = BufReader::new(child.stdout.take().expect("it was asked for"));
        let writer = child.stdin.take();
        let mut floor = Self { reader, writer, child, calls: Calls::new(arguments) };
        floor.write(format!("{INITIALIZE}\n").as_bytes());
        floor.read_line(&mut Vec::new());
        floor.write(format!("{INITIALIZED}\n").as_bytes());
        floor
    }

    pub(crate) fn call(&mut self, in_flight: u32) {
        let mut line = Vec::new();
        for batch in batches(in_flight) {
            let first = self.calls.next;
            let lines = self.calls.lines(batch);
            self.write(&lines);
            for id in first..self.calls.next {
                self.read_line(&mut line);
                read(&line, id);
            }
        }
    }

    fn write(&mut self, lines: &[u8]) {
        self.writer.as_mut().expect("it is open").write_all(lines).expect("the server reads");
    }

    fn read_line(&mut self, line: &mut Vec<u8>) {
        line.clear();
        self.reader.read_until(b'\n', line).expect("the server answers");
    }
}

impl Drop for OverPipes {
    fn drop(&mut self) {
        self.writer = None;
        self.child.wait().expect("it was started here");
    }
}

/// Over HTTP, with a connection for each call that is in flight.
pub(crate) struct OverHttp {
    port: u16,
    connections: Vec<BufReader<TcpStream>>,
    keeping: Keeping,
    calls: Calls,
}

/// What becomes of a connection whose call was answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    Kept,
    Closed,
}

impl OverHttp {
    pub(crate) fn new(port: u16, keeping: Keeping, arguments: &Arc<JsonObject>) -> Self {
        Self { port, connections: Vec::new(), keeping, calls: Calls::new(arguments) }
    }

    pub(crate) fn call(&mut self, in_flight: u32) {
        let in_flight = in_flight as usize;
        while self.connections.len() < in_flight {
            let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server accepts");
            stream.set_nodelay(true).expect("it is a socket");
            self.connections.push(BufReader::new(stream));
        }
        let first = self.calls.next;
        let mut body = Vec::new();
        for connection in &mut self.connections {
            body.clear();
            self.calls.write(&mut body);
            let mut request = format!(
                "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json, text/event-stream\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            )
            .into_bytes();
            request.extend_from_slice(&body);
            connection.get_mut().write_all(&request).expect("the server reads");
        }
        for (connection, id) in self.connections.iter_mut().zip(first..) {
            read(&read_body(connection), id);
        }
        if self.keeping == Keeping::Closed {
            self.connections.clear();
        }
    }
}

fn read_body(connection: &mut impl BufRead) -> Vec<u8> {
    let mut length = None;
    let mut line = String::new();
    loop {
        read_text(connection, &mut line);
        match line.split_once(": ") {
            Some(("content-length", value)) => length = Some(value.parse().expect("a length")),
            None if line.is_empty() => break,
            _ => {}
        }
    }
    match length {
        Some(length) => read_bytes(connection, length),
        None => read_event(connection, &mut line),
    }
}

/// The one event of a stream in one chunk.
fn read_event(connection: &mut impl BufRead, line: &mut String) -> Vec<u8> {
    read_text(connection, line);
    let chunk = read_bytes(connection, usize::from_str_radix(line, 16).expect("a length"));
    // The end of this chunk, and the last one.
    (0..3).for_each(|_| read_text(connection, line));
    chunk.strip_prefix(b"data: ").expect("an event").to_vec()
}

fn read_text(connection: &mut impl BufRead, line: &mut String) {
    line.clear();
    connection.read_line(line).expect("the server answers");
    line.truncate(line.trim_end().len());
}

fn read_bytes(connection: &mut impl BufRead, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    connection.read_exact(&mut bytes).expect("the server answers");
    bytes
}
