//! A client that knows nothing but sockets: each request has a connection of its own.
use mcp_tool_cli::fault_server::{Ledger, Record, Scenario};
use serde_json::{Value, json};
use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with one ledger.
pub(crate) struct Bench {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) ledger: Ledger,
}

/// A server's process, which ends with the pipe to it.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
    pub(crate) session: Option<String>,
}

/// What came back on one connection, up to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { ledger: Ledger::new(folder.path().join("ledger.jsonl")), folder }
    }

    pub(crate) fn wait(&self, wanted: impl Fn(&Record) -> bool) -> Record {
        self.ledger.wait_for(PATIENCE, wanted).unwrap()
    }

    pub(crate) fn spawn(&self, scenario: &Scenario, port: u16) -> Child {
        Command::new(env!("CARGO_BIN_EXE_mcp-tool"))
            .arg("fault-server")
            .args(scenario.to_args(self.ledger.path()))
            .args(["--http", &port.to_string()])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap()
    }

    pub(crate) fn start_on(&self, scenario: &Scenario, port: u16) -> Server {
        let before = self.ledger.ports().unwrap().len();
        let child = self.spawn(scenario, port);
        let port = self.wait(|record| record.ports().len() > before).ports()[before];
        Server { child, port, session: None }
    }

    pub(crate) fn start(&self, scenario: &Scenario) -> Server {
        self.start_on(scenario, 0)
    }

    /// Starts a server and shakes hands as of 2025-11-25.
    pub(crate) fn ready(&self, scenario: &Scenario) -> Server {
        let mut server = self.start(scenario);
        server.initialize();
        server
    }
}

impl Server {
    pub(crate) fn initialize(&mut self) -> Value {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "driver", "version": "0"}});
        let reply = self.post(&request(0, "initialize", params)).unwrap();
        self.session = reply.header("mcp-session-id").map(str::to_owned);
        reply.message()
    }

    pub(crate) fn send(&self, method: &str, headers: &str, body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let session = self.session.as_ref().map(|session| format!("Mcp-Session-Id: {session}\r\n"));
        let head = format!(
            "{method} /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{}{headers}Content-Length: {}\r\n\r\n",
            session.unwrap_or_default(),
            body.len()
        );
        socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
        socket
    }

    pub(crate) fn post(&self, message: &Value) -> io::Result<Reply> {
        Reply::read(self.send("POST", "", &message.to_string()))
    }

    /// A call of the tool `put` with this id.
    pub(crate) fn call(&self, id: u64) -> io::Result<Reply> {
        self.post(&call(id))
    }

    pub(crate) fn resume(&self, last_event_id: &str) -> Reply {
        Reply::read(self.send("GET", &format!("Last-Event-ID: {last_event_id}\r\n"), "")).unwrap()
    }

    /// Ends the input, which ends a healthy server.
    pub(crate) fn end(&mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn call(id: u64) -> Value {
    request(id, "tools/call", json!({"name": "put", "arguments": {"key": id}}))
}

/// The good answer to a call.
pub(crate) fn answer(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "put ran"}], "isError": false}})
}

impl Reply {
    pub(crate) fn read(mut socket: TcpStream) -> io::Result<Self> {
        let mut bytes = Vec::new();
        socket.read_to_end(&mut bytes)?;
        let _ = socket.shutdown(Shutdown::Both);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Ok(Self { status, head, body: bytes.split_off(end + 4) })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The one message of a JSON body.
    pub(crate) fn message(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        assert_eq!(self.header("content-length"), Some(&*self.body.len().to_string()), "{self:?}");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The text of an event stream, and whether the stream ended in order.
    pub(crate) fn stream(&self) -> (String, bool) {
        assert_eq!(self.header("content-type"), Some("text/event-stream"), "{self:?}");
        let (mut rest, mut text) = (&*self.body, Vec::new());
        while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
            let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
            if length == 0 {
                return (String::from_utf8(text).unwrap(), true);
            }
            text.extend_from_slice(&rest[end + 2..][..length]);
            rest = &rest[end + 2 + length + 2..];
        }
        (String::from_utf8(text).unwrap(), false)
    }
}
