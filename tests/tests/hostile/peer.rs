//! A server over HTTP that means harm, on threads of its own. It behaves as a server of 2025-11-25 with
//! sessions does, until a test's own behaviour takes a request over.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use mcp_tool::HttpConnector;
use mcp_tool_tests::hostile;
use serde_json::{Value, json};

/// A request, and the connection on which it came, which has no other.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) message: Value,
    pub(crate) stream: TcpStream,
}

/// What a test does with a request; the request again if that is nothing.
type Behaviour = dyn Fn(Request) -> Option<Request> + Send + Sync;

/// The server's URL is all that a client needs. Its threads end with the process, which is the case's own.
pub(crate) struct Peer(u16);

impl Peer {
    pub(crate) fn start(behaviour: impl Fn(Request) -> Option<Request> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let behaviour = behaviour.clone();
                // An error says that the client has gone.
                thread::spawn(move || stream.and_then(|stream| serve(stream, &*behaviour)));
            }
        });
        Self(port)
    }

    /// One that misbehaves in answer to a call.
    pub(crate) fn on_call(
        misbehave: impl Fn(&mut Request) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::on("tools/call", misbehave)
    }

    /// One that misbehaves in answer to this request.
    pub(crate) fn on(
        method: &'static str,
        misbehave: impl Fn(&mut Request) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |mut request| {
            if request.message["method"] != method {
                return Some(request);
            }
            let _ = misbehave(&mut request);
            None
        })
    }

    pub(crate) fn connector(&self) -> HttpConnector {
        HttpConnector::new(&format!("http://127.0.0.1:{}/mcp", self.0)).unwrap()
    }
}

fn serve(stream: TcpStream, behaviour: &Behaviour) -> io::Result<()> {
    let Some(request) = read(stream)? else { return Ok(()) };
    let Some(mut request) = behaviour(request) else { return Ok(()) };
    let id = request.message["id"].clone();
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    match (request.method.as_str(), request.message["method"].as_str()) {
        ("POST", Some("initialize")) => {
            request.respond("200 OK", "mcp-session-id: s\r\n", &result(hostile::initialized()))
        }
        ("POST", Some("tools/list")) => {
            request.respond("200 OK", "", &result(json!({"tools": [hostile::put()]})))
        }
        ("POST", Some("tools/call")) => request.respond("200 OK", "", &hostile::answer(&id, &json!("done"))),
        ("POST", Some("server/discover")) => {
            let error = json!({"code": -32601, "message": "not here"});
            request.respond("200 OK", "", &json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string())
        }
        ("POST", _) => request.respond("202 Accepted", "", ""),
        ("DELETE", _) => request.respond("200 OK", "", ""),
        _ => request.respond("405 Method Not Allowed", "", ""),
    }
}

fn read(stream: TcpStream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let method = line.split(' ').next().unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let message = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(Request { method, message, stream: reader.into_inner() }))
}

impl Request {
    fn respond(&mut self, status: &str, headers: &str, json: &str) -> io::Result<()> {
        let length = json.len();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n"
        );
        self.stream.write_all(head.as_bytes())?;
        self.stream.write_all(json.as_bytes())
    }

    /// Begins a body without a length: it ends with the connection.
    pub(crate) fn begin(&mut self, status: &str, content_type: &str) -> io::Result<()> {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n");
        self.stream.write_all(head.as_bytes())
    }

    /// The same with an event stream.
    pub(crate) fn begin_events(&mut self) -> io::Result<()> {
        self.begin("200 OK", "text/event-stream")
    }

    /// Writes events for as long as they are read.
    pub(crate) fn flood(&mut self, event: impl Fn(u64) -> String) -> io::Result<()> {
        let mut stream = io::BufWriter::with_capacity(1 << 16, &mut self.stream);
        for number in 0.. {
            write!(stream, "{}", event(number))?;
        }
        Ok(())
    }

    /// Writes this again and again for as long as it is read.
    pub(crate) fn endless(&mut self, text: &[u8]) -> io::Result<()> {
        let piece = text.repeat((1 << 16) / text.len() + 1);
        loop {
            self.stream.write_all(&piece)?;
        }
    }
}

/// One event with this text.
pub(crate) fn event(text: &str) -> String {
    format!("data: {text}\n\n")
}
