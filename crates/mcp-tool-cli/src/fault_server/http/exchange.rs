//! One request's way back.
use super::{
    Reply, Resumed,
    response::write_head,
    socket::Socket,
    streams::{Streams, event_id},
};
use crate::fault_server::step::Portion;
use serde_json::Value;
use std::{
    io::{self, Write},
    sync::Arc,
};

/// The reply to one request, while it is written. That a client reads no more is no error: the server
/// goes on as if it did.
#[derive(Debug)]
pub(super) struct Exchange {
    socket: Socket,
    streams: Arc<Streams>,
    session: Option<String>,
    form: Form,
    begun: bool,
    /// A response was sent, whatever its id.
    pub(super) answered: bool,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Json,
    Events { stream: Option<u64> },
}

impl Exchange {
    /// `session` is told to the client with the head.
    pub(super) fn new(socket: Socket, streams: Arc<Streams>, session: Option<String>) -> Self {
        Self { socket, streams, session, form: Form::Json, begun: false, answered: false }
    }

    /// Begins an event stream.
    pub(super) fn begin_events(&mut self, reply: Reply, resumed: Resumed) {
        if self.begun {
            return;
        }
        self.begun = true;
        let stream = (reply == Reply::SseWithIds).then(|| self.streams.open(resumed));
        self.form = Form::Events { stream };
        let mut headers = vec![
            ("Content-Type", "text/event-stream"),
            ("Cache-Control", "no-cache"),
            ("Transfer-Encoding", "chunked"),
        ];
        headers.extend(self.session.as_deref().map(|session| ("Mcp-Session-Id", session)));
        let _ = write_head(&self.socket, 200, &headers, None, b"");
        let retry = self.streams.retry_ms.map(|millis| format!("retry: {millis}\n"));
        // An id before anything can go wrong, as the specification advises.
        let id = stream.map(|stream| event(Some(&event_id(stream, 0)), ""));
        match (retry, id) {
            (retry, Some(id)) => self.chunk((retry.unwrap_or_default() + &id).as_bytes()),
            (Some(retry), None) if resumed == Resumed::Empty => self.chunk((retry + "\n").as_bytes()),
            _ => {}
        }
    }

    /// Sends one message: as the body, or as an event once an event stream has begun.
    pub(super) fn send(&mut self, message: &Value) {
        self.answered |= message.get("result").or(message.get("error")).is_some();
        let text = message.to_string();
        match self.form {
            Form::Json => {
                let body = text.into_bytes();
                self.body(body.len(), &body);
            }
            Form::Events { stream } => {
                let event = self.event(stream, text);
                self.chunk(event.as_bytes());
            }
        }
    }

    /// Sends text that is no message, as an event.
    pub(super) fn send_stray(&mut self, text: &[u8]) {
        let event = [b"data: ", text.trim_ascii_end(), b"\n\n"].concat();
        self.chunk(&event);
    }

    /// Sends the beginning of a message; the connection is of no use afterwards.
    pub(super) fn send_part(&mut self, message: &Value, portion: Portion) {
        let text = message.to_string();
        match self.form {
            Form::Json => self.body(text.len(), portion.of(text.as_bytes())),
            Form::Events { stream } => {
                let event = self.event(stream, text);
                self.chunk(portion.of(event.as_bytes()));
            }
        }
    }

    /// Keeps a message for those who resume the stream, and ends it without sending it.
    pub(super) fn withhold(&mut self, message: &Value) {
        if let Form::Events { stream: Some(stream) } = self.form {
            self.streams.append(stream, message.to_string());
        }
        self.end();
    }

    /// Ends the reply in order.
    pub(super) fn end(&mut self) {
        if let Form::Events { stream } = self.form {
            if let Some(stream) = stream {
                self.streams.end(stream);
            }
            let _ = (&self.socket).write_all(b"0\r\n\r\n");
        }
    }

    /// Closes the connection by a reset, as soon as its last handle is dropped.
    pub(super) fn reset(&self) -> io::Result<()> {
        self.socket.reset()
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Sends the event with this id to a client that has resumed its stream.
    pub(super) fn send_again(&mut self, id: &str, message: &str) -> io::Result<()> {
        write_chunk(&self.socket, event(Some(id), message).as_bytes())
    }

    fn event(&self, stream: Option<u64>, message: String) -> String {
        match stream {
            None => event(None, &message),
            Some(stream) => {
                let id = self.streams.append(stream, message.clone());
                event(Some(&id), &message)
            }
        }
    }

    fn body(&mut self, length: usize, bytes: &[u8]) {
        self.begun = true;
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(self.session.as_deref().map(|session| ("Mcp-Session-Id", session)));
        let _ = write_head(&self.socket, 200, &headers, Some(length), bytes);
    }

    fn chunk(&self, bytes: &[u8]) {
        let _ = write_chunk(&self.socket, bytes);
    }
}

fn write_chunk(mut socket: &Socket, bytes: &[u8]) -> io::Result<()> {
    let head = format!("{:x}\r\n", bytes.len());
    socket.write_all(&[head.as_bytes(), bytes, b"\r\n"].concat())
}

fn event(id: Option<&str>, data: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}data: {data}\n\n")
}
