//! The front over Streamable HTTP, byte by byte: a thread per connection, one process's sessions.
mod exchange;
mod fault;
mod request;
mod response;
mod settings;
mod streams;

pub use fault::{HttpFault, Moment, Resumed};
pub use response::Response;
pub use settings::{Http, Reply, Sessions, Standalone};

use super::{
    Ending,
    event::{Event, Exit},
    journal::Journal,
    process,
    protocol::{Message, Protocol},
    step::{Portion, Step},
};
use exchange::Exchange;
use request::Request;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    io::{self, BufReader, Read},
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::ExitCode,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};
use streams::Streams;

/// Serves on a port of the loopback interface (0: any) until the end of the input, or until the scenario
/// ends the process.
pub(super) fn serve(protocol: Protocol, port: u16) -> io::Result<ExitCode> {
    let scenario = protocol.scenario.clone();
    let front = Arc::new(Front {
        settings: scenario.http,
        journal: protocol.journal.clone(),
        protocol: Mutex::new(protocol),
        open: Mutex::default(),
        streams: Arc::default(),
    });
    if let Some(when) = scenario.dies {
        let journal = front.journal.clone();
        thread::Builder::new().spawn(move || {
            when.wait();
            process::die(&journal)
        })?;
    }
    let accepting = front.clone();
    thread::Builder::new().spawn(move || {
        if let Err(error) = accepting.accept(port) {
            eprintln!("fault-server: {error}");
            std::process::exit(1);
        }
    })?;
    if scenario.ending != Ending::AtEof {
        process::linger(&front.journal);
    }
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    front.journal.exit(Exit::Eof).map(|()| ExitCode::SUCCESS)
}

#[derive(Debug)]
struct Front {
    settings: Http,
    journal: Arc<Journal>,
    protocol: Mutex<Protocol>,
    open: Mutex<Open>,
    streams: Arc<Streams>,
}

/// What outlives a request.
#[derive(Debug, Default)]
struct Open {
    sessions: HashSet<String>,
    made: u32,
    /// Requests without a response, by their ids. Nothing closes their connections but the client.
    unanswered: Vec<(Value, Exchange)>,
    /// Streams for what belongs to no request.
    listeners: Vec<Exchange>,
}

/// What becomes of a connection after a request.
enum Connection {
    /// It serves the next request.
    Kept,
    /// This thread is done with it.
    Left,
}

impl Front {
    fn accept(self: &Arc<Self>, port: u16) -> io::Result<()> {
        if let Some(when) = &self.settings.listens {
            when.wait();
        }
        let listener = bind(port)?;
        let port = listener.local_addr()?.port();
        self.journal.record(&Event::Listening { start: self.journal.start(), port })?;
        for socket in listener.incoming() {
            let front = self.clone();
            // A connection that breaks is over, and nothing else is.
            thread::Builder::new().spawn(move || socket.and_then(|socket| front.attend(socket)))?;
        }
        Ok(())
    }

    fn attend(&self, socket: TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        let mut input = BufReader::new(socket.try_clone()?);
        while let Some(request) = Request::read(&mut input)? {
            let socket = socket.try_clone()?;
            let connection = match &*request.method {
                "POST" => self.post(&request, socket)?,
                "GET" => self.get(&request, socket)?,
                "DELETE" => self.delete(&request, &socket)?,
                _ => self.respond(&Response::new(405).header("Allow", "GET, POST, DELETE"), &socket)?,
            };
            if matches!(connection, Connection::Left) {
                break;
            }
        }
        Ok(())
    }

    fn post(&self, request: &Request, socket: TcpStream) -> io::Result<Connection> {
        let Ok(message) = serde_json::from_slice::<Message>(&request.body) else {
            return self.respond(&refusal(400, -32700, "parse error"), &socket);
        };
        let (steps, id, session) = {
            let mut protocol = self.protocol();
            let shakes_hands = message.shakes_hands();
            if let (true, Some(response)) = (shakes_hands, &self.settings.handshake) {
                return self.respond(response, &socket);
            }
            let in_session = !shakes_hands || message.method.as_deref() == Some("server/discover");
            if in_session && !protocol.is_modern(&message) {
                if let Some(response) = self.foreign(request) {
                    protocol.turn_away(&message)?;
                    return self.respond(&response, &socket);
                }
            }
            let is_request = message.method.is_some();
            let id = message.id.clone().filter(|_| is_request);
            let session = (message.method.as_deref() == Some("initialize")).then(|| self.new_session());
            (protocol.take(message)?, id, session.flatten())
        };
        let Some(id) = id else {
            self.respond(&Response::new(202), &socket)?;
            self.resume_unanswered(steps)?;
            return Ok(Connection::Kept);
        };
        let exchange = Exchange::new(socket, self.streams.clone(), session);
        self.perform(exchange, id, steps)
    }

    /// Takes the steps that follow from one request.
    fn perform(&self, mut exchange: Exchange, id: Value, steps: Vec<Step>) -> io::Result<Connection> {
        if self.settings.reply != Reply::Json && !steps.iter().any(|step| matches!(step, Step::Http(..)))
            || !fits_a_body(&steps)
        {
            exchange.begin_events(self.settings.reply, Resumed::Answer);
        }
        for step in steps {
            match step {
                Step::Send(message) => exchange.send(&message),
                Step::SendPart(message, portion) => exchange.send_part(&message, portion),
                Step::Raw(text) => exchange.send_stray(&text),
                Step::Announce(message) => self.announce(&message),
                Step::Diagnose(bytes) => process::flood_stderr(bytes),
                Step::Wait(when) => when.wait(),
                Step::Die => process::die(&self.journal),
                Step::Listen => {
                    self.open().listeners.push(exchange);
                    return Ok(Connection::Left);
                }
                Step::Http(fault, answer) => return strike(fault, &answer, exchange),
                Step::CloseStdout | Step::CloseStdin | Step::StopReading => {
                    return Err(io::ErrorKind::Unsupported.into());
                }
            }
        }
        if !exchange.answered {
            self.open().unanswered.push((id, exchange));
            return Ok(Connection::Left);
        }
        exchange.end();
        Ok(Connection::Kept)
    }

    /// Goes on with the request that `steps` answer.
    fn resume_unanswered(&self, steps: Vec<Step>) -> io::Result<()> {
        let answered = |id: &Value| {
            steps.iter().any(|step| matches!(step, Step::Send(message) if message["id"] == *id))
        };
        let found = {
            let mut open = self.open();
            let index = open.unanswered.iter().position(|(id, _)| answered(id));
            index.map(|index| open.unanswered.swap_remove(index))
        };
        match found {
            Some((id, exchange)) => self.perform(exchange, id, steps).map(drop),
            None => Ok(()),
        }
    }

    fn get(&self, request: &Request, socket: TcpStream) -> io::Result<Connection> {
        let last_event_id = request.header("last-event-id");
        self.journal.record(&Event::Get {
            start: self.journal.start(),
            last_event_id: last_event_id.map(str::to_owned),
        })?;
        let is_modern = self.streams_without_session();
        if let Some(response) = self.foreign(request).filter(|_| !is_modern) {
            return self.respond(&response, &socket);
        }
        let mut exchange = Exchange::new(socket, self.streams.clone(), None);
        let Some(last_event_id) = last_event_id else {
            return match self.settings.standalone {
                Standalone::Refused => self.respond(&Response::new(405), exchange.socket()),
                Standalone::Open => {
                    exchange.begin_events(Reply::Sse, Resumed::Answer);
                    self.open().listeners.push(exchange);
                    Ok(Connection::Left)
                }
            };
        };
        match self.streams.find(last_event_id) {
            None => self.respond(&Response::new(404), exchange.socket()),
            Some((_, Resumed::Status(status))) => self.respond(&Response::new(status), exchange.socket()),
            Some((_, Resumed::Empty)) => {
                exchange.begin_events(Reply::Sse, Resumed::Empty);
                exchange.end();
                Ok(Connection::Kept)
            }
            Some((mut position, Resumed::Answer)) => {
                exchange.begin_events(Reply::Sse, Resumed::Answer);
                while let Some((id, message)) = self.streams.next(&mut position) {
                    exchange.send_again(&id, &message)?;
                }
                exchange.end();
                Ok(Connection::Kept)
            }
        }
    }

    fn delete(&self, request: &Request, socket: &TcpStream) -> io::Result<Connection> {
        let session = request.header("mcp-session-id");
        let known = session.is_some_and(|session| self.open().sessions.remove(session));
        self.journal.record(&Event::Delete { start: self.journal.start(), known })?;
        self.respond(&Response::new(if known { 204 } else { 404 }), socket)
    }

    /// What a request gets that carries no session of this process.
    fn foreign(&self, request: &Request) -> Option<Response> {
        let session = request.header("mcp-session-id");
        match (self.settings.sessions, session) {
            (Sessions::Stateless, _) => None,
            (_, Some(session)) if self.open().sessions.contains(session) => None,
            (Sessions::NotFound, Some(_)) => Some(refusal(404, -32001, "session not found")),
            (Sessions::BadRequest, Some(_)) | (_, None) => {
                Some(refusal(400, -32000, "bad request: no valid session"))
            }
        }
    }

    fn new_session(&self) -> Option<String> {
        if self.settings.sessions == Sessions::Stateless {
            return None;
        }
        let mut open = self.open();
        open.made += 1;
        let session = format!("session-{}-{}", self.journal.start(), open.made);
        open.sessions.insert(session.clone());
        Some(session)
    }

    fn announce(&self, message: &Value) {
        for listener in &mut self.open().listeners {
            listener.send(message);
        }
    }

    fn respond(&self, response: &Response, socket: &TcpStream) -> io::Result<Connection> {
        response.write(socket, &Value::Null)?;
        Ok(Connection::Kept)
    }

    fn streams_without_session(&self) -> bool {
        self.protocol().speaks_modern()
    }

    fn protocol(&self) -> MutexGuard<'_, Protocol> {
        self.protocol.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
