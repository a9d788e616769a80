//! The Model Context Protocol, as far as a tool server needs it, on raw JSON and without a front.
use super::{
    Era, Fault, Ledger, Scenario, Startup,
    event::{Cancellation, Event, Listing},
    journal::{Journal, Tally},
    paging::{Lister, Page},
    step::Step,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::HashMap, io, path::Path, sync::Arc};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// One process's side of the protocol: messages in, steps out.
#[derive(Debug)]
pub(super) struct Protocol {
    pub(super) scenario: Scenario,
    pub(super) journal: Arc<Journal>,
    pub(super) tally: Tally,
    pub(super) ledger: Ledger,
    pub(super) lister: Lister,
    /// Calls that this process has read.
    pub(super) calls: u32,
    /// What follows once the client has replied to a request of this server, by its id.
    pub(super) asked: HashMap<String, Vec<Step>>,
    listed: bool,
    subscription: Option<Value>,
}

/// A message of the client.
#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Value>,
}

/// A request of the client.
pub(super) struct Request {
    pub(super) id: Value,
    pub(super) params: Value,
    modern: bool,
}

impl Protocol {
    /// `scenario` is the one of this start; a resumed process counts its calls by the ledger.
    pub(super) fn new(scenario: Scenario, journal: Arc<Journal>, ledger: &Path) -> io::Result<Self> {
        let own = |record: super::Record| {
            record.received().iter().filter(|receipt| receipt.start == journal.start()).count()
        };
        let calls = own(super::Ledger::new(ledger).read()?) as u32;
        Ok(Self {
            lister: Lister::new(&scenario),
            tally: Tally::new(ledger)?,
            ledger: Ledger::new(ledger),
            scenario,
            journal,
            calls,
            asked: HashMap::new(),
            listed: false,
            subscription: None,
        })
    }

    /// The fault that strikes the next call before it is read, if nothing else is due before it.
    pub(super) fn fault_before_reading(&mut self) -> io::Result<Option<Fault>> {
        if !self.listed && self.calls == 0 {
            return Ok(None);
        }
        self.fault_of_next_call()
            .map(|fault| fault.filter(|fault| !matches!(fault, Fault::DieMidRead { .. })))
    }

    /// How many bytes of the next call may be read, if not all.
    pub(super) fn bytes_of_next_call(&mut self) -> io::Result<Option<usize>> {
        Ok(match self.fault_of_next_call()? {
            Some(Fault::DieMidRead { bytes }) => Some(bytes),
            _ => None,
        })
    }

    fn fault_of_next_call(&mut self) -> io::Result<Option<Fault>> {
        if !self.scenario.faults().any(Fault::is_about_reading) {
            return Ok(None);
        }
        let next = self.tally.received()? + 1;
        let fault = self.scenario.fault(next, self.calls + 1);
        Ok(fault.filter(|fault| fault.is_about_reading()).cloned())
    }

    /// Takes one message and says what follows from it.
    pub(super) fn handle(&mut self, message: &[u8]) -> io::Result<Vec<Step>> {
        let Ok(message) = serde_json::from_slice::<Message>(message) else {
            let error = json!({"code": -32700, "message": "parse error"});
            return Ok(vec![Step::Send(json!({"jsonrpc": "2.0", "id": null, "error": error}))]);
        };
        self.take(message)
    }

    /// The same for a message that was read already.
    pub(super) fn take(&mut self, message: Message) -> io::Result<Vec<Step>> {
        let modern = self.is_modern(&message);
        match (message.method, message.id) {
            (Some(method), Some(id)) => self.request(&method, Request { id, params: message.params, modern }),
            (Some(method), None) => self.notification(&method, &message.params),
            (None, Some(id)) => self.reply(&id, message.result.is_some()),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// Enters a message in the ledger that a front does not let in.
    pub(super) fn turn_away(&mut self, message: &Message) -> io::Result<()> {
        if let (Some("tools/call"), Some(id)) = (message.method.as_deref(), &message.id) {
            self.receive(id, &message.params)?;
        }
        self.journal
            .record(&Event::TurnedAway { start: self.journal.start(), method: message.method.clone() })
    }

    /// Whether a message is of 2026-07-28, and so of no session.
    pub(super) fn is_modern(&self, message: &Message) -> bool {
        self.speaks_modern() && message.params["_meta"][VERSION_KEY] == MODERN
    }

    pub(super) fn speaks_modern(&self) -> bool {
        self.scenario.era != Era::Legacy
    }

    pub(super) fn speaks_legacy(&self) -> bool {
        self.scenario.era != Era::Modern
    }

    fn request(&mut self, method: &str, request: Request) -> io::Result<Vec<Step>> {
        let (speaks_modern, speaks_legacy) = (self.speaks_modern(), self.speaks_legacy());
        let is_mute = self.scenario.startup == Some(Startup::NeverAnswers);
        match method {
            "initialize" | "server/discover" if is_mute => Ok(Vec::new()),
            "initialize" if speaks_legacy => self.initialize(&request),
            "server/discover" if speaks_modern => self.discover(&request),
            "subscriptions/listen" if speaks_modern => Ok(self.listen(&request)),
            "ping" => Ok(vec![request.result(json!({}))]),
            "tools/list" => self.list(&request),
            "tools/call" => self.call(&request),
            "tasks/get" | "tasks/update" | "tasks/cancel" if self.keeps_tasks() => {
                self.about_task(method, &request)
            }
            _ => Ok(vec![request.error(-32601, format!("method not found: {method}"))]),
        }
    }

    fn notification(&mut self, method: &str, params: &Value) -> io::Result<Vec<Step>> {
        if method == "notifications/cancelled" {
            let cancellation = Cancellation { start: self.journal.start(), id: params["requestId"].clone() };
            self.journal.record(&Event::Cancelled(cancellation))?;
        }
        Ok(Vec::new())
    }

    fn reply(&mut self, id: &Value, result: bool) -> io::Result<Vec<Step>> {
        let Some(steps) = id.as_str().and_then(|id| self.asked.remove(id)) else {
            return Ok(Vec::new());
        };
        self.journal.record(&Event::Replied { start: self.journal.start(), result })?;
        Ok(steps)
    }

    fn initialize(&mut self, request: &Request) -> io::Result<Vec<Step>> {
        let wanted = request.params["protocolVersion"].as_str();
        let known = wanted.filter(|version| LEGACY.contains(version));
        let version = known.unwrap_or(LEGACY[LEGACY.len() - 1]);
        self.handshake(
            version,
            request.result(json!({
                "protocolVersion": version,
                "capabilities": self.capabilities(),
                "serverInfo": server_info(),
            })),
        )
    }

    fn discover(&mut self, request: &Request) -> io::Result<Vec<Step>> {
        let result = json!({
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": self.capabilities(),
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": server_info()},
        });
        self.handshake(MODERN, request.result(result))
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = json!({"tools": {"listChanged": true}});
        if self.keeps_tasks() {
            capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
        }
        capabilities
    }

    fn handshake(&mut self, version: &str, answer: Step) -> io::Result<Vec<Step>> {
        let version = version.to_owned();
        self.journal.record(&Event::Handshake { start: self.journal.start(), version })?;
        Ok(vec![answer])
    }

    /// Opens the 2026-07-28 stream of notifications; only changes of the tools are on offer.
    fn listen(&mut self, request: &Request) -> Vec<Step> {
        let wanted = request.params["notifications"]["toolsListChanged"] == true;
        let accepted = if wanted { json!({"toolsListChanged": true}) } else { json!({}) };
        self.subscription = wanted.then(|| request.id.clone());
        let acknowledgement = json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": {SUBSCRIPTION_KEY: request.id}, "notifications": accepted},
        });
        vec![Step::Send(acknowledgement), Step::Listen]
    }

    pub(super) fn tools_changed(&self) -> Step {
        let mut notification = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        if let Some(id) = &self.subscription {
            notification["params"] = json!({"_meta": {SUBSCRIPTION_KEY: id}});
        }
        Step::Announce(notification)
    }

    fn list(&mut self, request: &Request) -> io::Result<Vec<Step>> {
        let cursor = request.params["cursor"].as_str();
        let listing = Listing { start: self.journal.start(), cursor: cursor.map(str::to_owned) };
        self.journal.record(&Event::List(listing))?;
        let page = self.lister.page(cursor);
        if let Some(fault) = page.fault() {
            self.journal.fault(fault)?;
        }
        Ok(match page {
            Page::UnknownCursor => vec![request.error(-32602, "unknown cursor")],
            Page::Fails => vec![request.error(-32603, "this page is not available")],
            Page::Dies => vec![Step::Die],
            Page::Hangs => Vec::new(),
            Page::Tools { tools, next, is_last_word } => {
                self.listed |= next.is_none();
                let mut result = json!({"tools": tools});
                if let Some(next) = next {
                    result["nextCursor"] = json!(next);
                }
                if request.modern {
                    result["ttlMs"] = json!(0);
                    result["cacheScope"] = json!("private");
                }
                let answer = request.result(result);
                if is_last_word { vec![answer, Step::Die] } else { vec![answer] }
            }
        })
    }
}

impl Request {
    /// A result as the request's revision wants it.
    pub(super) fn result(&self, mut result: Value) -> Step {
        if self.modern && result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        Step::Send(json!({"jsonrpc": "2.0", "id": self.id, "result": result}))
    }

    pub(super) fn error(&self, code: i64, message: impl Into<String>) -> Step {
        let error = json!({"code": code, "message": message.into()});
        Step::Send(json!({"jsonrpc": "2.0", "id": self.id, "error": error}))
    }
}

fn server_info() -> Value {
    json!({"name": "fault-server", "version": env!("CARGO_PKG_VERSION")})
}
