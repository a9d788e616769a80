//! The front over Streamable HTTP, byte by byte: a thread per connection, one process's sessions.
#[cfg(feature = "fault-server-tls")]
mod authority;
mod exchange;
mod fault;
mod request;
mod response;
mod settings;
mod socket;
mod streams;
mod tls;

pub use fault::{HttpFault, Moment, Resumed};
pub use response::Response;
pub use settings::{Http, Reply, Sessions, Standalone};
pub use tls::{Certificate, Tls};

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
use socket::{Acceptor, Socket};
use std::{
    collections::HashSet,
    io::{self, BufReader},
    net::{Ipv4Addr, TcpListener},
    process::ExitCode,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};
use streams::Streams;

/// Serves on a port of the loopback interface (0: any) until the end of the input, or until the scenario
/// ends the process.
pub(super) fn serve(protocol: Protocol, port: u16) -> io::Result<ExitCode> {
    let scenario = protocol.scenario.clone();
    let front = Arc::new(Front {
        acceptor: scenario.http.tls.as_ref().map_or(Ok(Acceptor::default()), Tls::acceptor)?,
        streams: Arc::new(Streams::new(scenario.http.retry_ms)),
        settings: scenario.http,
        journal: protocol.journal.clone(),
        protocol: Mutex::new(protocol),
        open: Mutex::default(),
        left_open: Condvar::new(),
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
    acceptor: Acceptor,
    settings: Http,
    journal: Arc<Journal>,
    protocol: Mutex<Protocol>,
    open: Mutex<Open>,
    /// A request was left without a response.
    left_open: Condvar,
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
            thread::Builder::new()
                .spawn(move || socket.and_then(|socket| front.attend(&front.acceptor.accept(socket)?)))?;
        }
        Ok(())
    }

    fn attend(&self, socket: &Socket) -> io::Result<()> {
        let mut input = BufReader::new(socket);
        loop {
            let request = match Request::read(&mut input) {
                Ok(Some(request)) => request,
                Ok(None) => break,
                // No HTTP: a client that speaks TLS, say.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    self.respond(&Response::new(400), socket)?;
                    return socket.part();
                }
                Err(error) => return Err(error),
            };
            let socket = socket.clone();
            let connection = match &*request.method {
                _ if !self.settings.admits(request.token()) => {
                    self.respond(&Response::unauthorised(), &socket)?
                }
                "POST" => self.post(&request, socket)?,
                "GET" => self.get(&request, socket)?,
                "DELETE" => self.delete(&request, &socket)?,
                _ => self.respond(&Response::new(405).header("Allow", "GET, POST, DELETE"), &socket)?,
            };
            let is_last =
                request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
            if is_last || matches!(connection, Connection::Left) {
                break;
            }
        }
        Ok(())
    }

    fn post(&self, request: &Request, socket: Socket) -> io::Result<Connection> {
        let Ok(message) = serde_json::from_slice::<Message>(&request.body) else {
            return self.respond(&refusal(400, -32700, "parse error"), &socket);
        };
        let (steps, id, session) = {
            let mut protocol = self.protocol();
            let method = message.method.as_deref();
            let initializes = method == Some("initialize");
            if let Some(response) = &self.settings.handshake
                && (initializes || method == Some("server/discover"))
            {
                return self.respond(response, &socket);
            }
            // What is no request does not say its revision.
            let is_request = method.is_some() && message.id.is_some();
            let needs_session = if is_request || request.header("mcp-session-id").is_some() {
                !initializes && !protocol.is_modern(&message)
            } else {
                !protocol.speaks_modern()
            };
            if needs_session && let Some(response) = self.foreign(request) {
                protocol.turn_away(&message)?;
                response.write(&socket, &json!({"id": message.id}))?;
                return Ok(Connection::Kept);
            }
            let id = message.id.clone().filter(|_| method.is_some());
            let session = if initializes && protocol.speaks_legacy() { self.new_session() } else { None };
            (protocol.take(message)?, id, session)
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
            self.left_open.notify_all();
            return Ok(Connection::Left);
        }
        exchange.end();
        Ok(Connection::Kept)
    }

    /// Goes on with the request that `steps` answer, if they answer one.
    fn resume_unanswered(&self, steps: Vec<Step>) -> io::Result<()> {
        let Some(Step::Send(answer)) = steps.first() else { return Ok(()) };
        // Its thread may still be writing the question that was replied to.
        let is_missing = |open: &mut Open| !open.unanswered.iter().any(|(id, _)| *id == answer["id"]);
        let mut open =
            self.left_open.wait_while(self.open(), is_missing).unwrap_or_else(PoisonError::into_inner);
        let Some(index) = open.unanswered.iter().position(|(id, _)| *id == answer["id"]) else {
            return Ok(());
        };
        let (id, exchange) = open.unanswered.swap_remove(index);
        drop(open);
        self.perform(exchange, id, steps).map(drop)
    }

    fn get(&self, request: &Request, socket: Socket) -> io::Result<Connection> {
        let last_event_id = request.header("last-event-id");
        self.journal.record(&Event::Get {
            start: self.journal.start(),
            last_event_id: last_event_id.map(str::to_owned),
        })?;
        if let Some(response) = self.foreign(request)
            && !self.protocol().speaks_modern()
        {
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
            Some((_, Resumed::Status(status) | Resumed::StatusThenAnswer(status))) => {
                self.respond(&Response::new(status), exchange.socket())
            }
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

    fn delete(&self, request: &Request, socket: &Socket) -> io::Result<Connection> {
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
            (Sessions::BadRequestAnswered, Some(_)) => {
                Some(Response::new(400).rpc_error(-32000, "bad request: no valid session"))
            }
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

    fn respond(&self, response: &Response, socket: &Socket) -> io::Result<Connection> {
        response.write(socket, &Value::Null)?;
        Ok(Connection::Kept)
    }

    fn protocol(&self) -> MutexGuard<'_, Protocol> {
        self.protocol.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a fault strike that only this front knows.
fn strike(fault: HttpFault, answer: &Value, mut exchange: Exchange) -> io::Result<Connection> {
    match fault {
        HttpFault::Reset(_) => exchange.reset()?,
        HttpFault::ResetLate { when } => {
            when.wait();
            exchange.reset()?;
        }
        HttpFault::Respond(_, response) => {
            response.write(exchange.socket(), answer)?;
            return Ok(Connection::Kept);
        }
        HttpFault::JsonCut => exchange.send_part(answer, Portion::Half),
        HttpFault::SseCut => {
            exchange.begin_events(Reply::Sse, Resumed::Answer);
            exchange.send_part(answer, Portion::Half);
        }
        HttpFault::SseEnds => {
            exchange.begin_events(Reply::Sse, Resumed::Answer);
            exchange.end();
            return Ok(Connection::Kept);
        }
        HttpFault::SseEndsAfterId { resumed } => {
            exchange.begin_events(Reply::SseWithIds, resumed);
            exchange.withhold(answer);
            return Ok(Connection::Kept);
        }
    }
    Ok(Connection::Left)
}

/// Whether steps lead to just one message, a response.
fn fits_a_body(steps: &[Step]) -> bool {
    let mut responses = 0;
    for step in steps {
        match step {
            Step::Send(message) if message.get("method").is_some() => return false,
            Step::Send(_) | Step::SendPart(..) => responses += 1,
            Step::Raw(_) => return false,
            _ => {}
        }
    }
    responses <= 1
}

fn refusal(status: u16, code: i64, message: &str) -> Response {
    Response::new(status).rpc_error_without_id(code, message)
}

/// Takes a port, also one that the last process has only just given up.
fn bind(port: u16) -> io::Result<TcpListener> {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                thread::sleep(Duration::from_millis(2));
            }
            bound => return bound,
        }
    }
}
