//! The server: written by hand over raw lines, with everything that goes wrong in one of its lives.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};

use crate::{
    life::{CallFault, Connect, Life, ListingFault, Noise},
    tool::NAMES,
    world::{Asked, Event, Harm, World},
};

/// A server that reads nothing notices no end. Long after everybody has left.
const FORGOTTEN: u64 = 4_000_000;
/// How much later than usual a late answer, or a late execution, comes.
const LATE: u64 = 10_000;

pub(crate) struct Server {
    world: World,
    number: usize,
    life: Life,
    lines: Option<Lines<BufReader<DuplexStream>>>,
    out: Option<DuplexStream>,
    due: BTreeMap<u64, Deed>,
    has_shaken_hands: bool,
    /// Listings that were begun.
    pages: usize,
    calls: usize,
    /// The first call that was answered.
    answered: Option<(i64, usize)>,
}

/// What is done at a moment of its own.
enum Deed {
    Handshake(String),
    Write(String),
    /// The same without the newline.
    WritePart(String),
    Answer(i64, usize, String),
    Listed(usize, String),
    Execute(i64, usize),
    Noise(Noise),
    CloseOutput(Harm),
    Die(Harm),
}

impl Server {
    pub(crate) fn new(
        world: World,
        number: usize,
        life: Life,
        requests: DuplexStream,
        out: DuplexStream,
    ) -> Self {
        let mut server = Self {
            world,
            number,
            lines: Some(BufReader::new(requests).lines()),
            out: Some(out),
            due: BTreeMap::new(),
            has_shaken_hands: false,
            pages: 0,
            calls: 0,
            answered: None,
            life,
        };
        for (after, noise) in server.life.noise.clone() {
            server.later(after, Deed::Noise(noise));
        }
        if let Some(after) = server.life.dies {
            server.later(after, Deed::Die(Harm::Died));
        }
        server
    }

    /// Serves until the connection has ended and nothing is left to do.
    pub(crate) async fn serve(mut self) {
        loop {
            let next = self.due.first_key_value().map(|(moment, _)| *moment);
            let lines = self.lines.as_mut();
            if next.is_none() && lines.is_none() {
                return;
            }
            tokio::select! {
                biased;
                Some(line) = async { Some(lines?.next_line().await) } => match line {
                    Ok(Some(line)) => self.read(&line),
                    _ => {
                        self.world.tell(Event::Left { life: self.number });
                        self.end();
                    }
                },
                Some(moment) = async { self.world.at(next?).await; next } => {
                    if let Some(deed) = self.due.remove(&moment) {
                        self.do_it(deed).await;
                    }
                }
            }
        }
    }

    fn later(&mut self, after: u64, deed: Deed) {
        let moment = self.world.moment(after);
        self.due.insert(moment, deed);
    }

    fn soon(&mut self, deed: Deed) {
        self.later(self.life.pace, deed);
    }

    fn die(&mut self, harm: Harm) {
        self.soon(Deed::Die(harm));
    }

    /// The connection is over; what was begun is still executed.
    fn end(&mut self) {
        (self.lines, self.out) = (None, None);
        self.due.retain(|_, deed| matches!(deed, Deed::Execute(..)));
    }

    async fn do_it(&mut self, deed: Deed) {
        match deed {
            Deed::Handshake(message) => {
                self.has_shaken_hands = true;
                self.write(&format!("{message}\n")).await;
            }
            Deed::Write(message) => self.write(&format!("{message}\n")).await,
            Deed::WritePart(part) => self.write(&part).await,
            Deed::Answer(id, key, message) => {
                self.answered.get_or_insert((id, key));
                self.write(&format!("{message}\n")).await;
            }
            Deed::Listed(listing, message) => {
                self.world.tell(Event::Listed { life: self.number, listing });
                self.write(&format!("{message}\n")).await;
            }
            Deed::Execute(id, key) => self.execute(id, key),
            Deed::Noise(noise) => self.noise(noise).await,
            Deed::CloseOutput(by) => {
                self.world.tell(Event::Hurt { life: self.number, by });
                self.out = None;
            }
            Deed::Die(by) => {
                self.world.tell(Event::Hurt { life: self.number, by });
                self.end();
            }
        }
    }

    async fn write(&mut self, text: &str) {
        if let Some(out) = &mut self.out {
            // An error says that the client has left.
            let _ = out.write_all(text.as_bytes()).await;
        }
    }

    fn execute(&self, id: i64, key: usize) {
        self.world.tell(Event::Executed { life: self.number, id, key });
    }

    fn read(&mut self, line: &str) {
        // The last line may have been cut.
        let Ok(message) = serde_json::from_str::<Value>(line) else { return };
        let Some(id) = message["id"].as_i64() else { return };
        let asked = |what| Event::Asked { life: self.number, id, what };
        match message["method"].as_str() {
            Some(method @ ("initialize" | "server/discover")) => {
                self.world.tell(asked(Asked::Handshake));
                self.shake_hands(id, method);
            }
            Some("tools/list") => self.list(id, message["params"]["cursor"].as_str()),
            Some("tools/call") => {
                let key = message["params"]["arguments"]["key"].as_u64().unwrap_or_default() as usize;
                self.world.tell(asked(Asked::Call { key }));
                self.call(id, key, &message);
            }
            _ => self.world.tell(asked(Asked::Else)),
        }
    }

    fn shake_hands(&mut self, id: i64, method: &str) {
        let harm = Harm::Connect(self.life.connect);
        let hurt = |server: &Self| server.world.tell(Event::Hurt { life: server.number, by: harm });
        match self.life.connect {
            Connect::HandshakeCut => return self.die(harm),
            Connect::HandshakeHangs => return hurt(self),
            Connect::HandshakeNonsense => {
                hurt(self);
                return self.soon(Deed::Write(result(id, &json!({"weather": "fine"}))));
            }
            Connect::HandshakeRejected => {
                hurt(self);
                return self.soon(Deed::Write(error(id, "not today")));
            }
            Connect::Works | Connect::Refused | Connect::Slow => {}
        }
        let capabilities = json!({"tools": {"listChanged": true}});
        let info = json!({"name": "simulated", "version": "1"});
        let answer = if method == "initialize" {
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info})
        } else {
            json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
                "ttlMs": 0, "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": info},
            })
        };
        self.soon(Deed::Handshake(result(id, &answer)));
    }

    /// Each tool has a page of its own; the cursor says to which listing the second belongs.
    fn list(&mut self, id: i64, cursor: Option<&str>) {
        let second = cursor.and_then(|cursor| cursor.parse().ok());
        let listing = second.unwrap_or_else(|| self.world.listing());
        let what = Asked::Page { listing, second: second.is_some() };
        self.world.tell(Event::Asked { life: self.number, id, what });
        self.pages += usize::from(second.is_none());
        if let Some(fault) = self.life.listing {
            let harm = Harm::Listing(fault);
            let hurt = |server: &Self| server.world.tell(Event::Hurt { life: server.number, by: harm });
            match (fault, second, self.pages) {
                (ListingFault::Hangs, None, 1) | (ListingFault::AlwaysHangs, ..) => return hurt(self),
                (ListingFault::Rejected, None, 1) => {
                    hurt(self);
                    return self.soon(Deed::Write(error(id, "no list")));
                }
                (ListingFault::Nonsense, None, 1) => {
                    hurt(self);
                    return self.soon(Deed::Write(result(id, &json!({"tools": "none"}))));
                }
                (ListingFault::DiesOnPageTwo, Some(_), _) => return self.die(harm),
                _ => {}
            }
        }
        let page = usize::from(second.is_some());
        let mut answer = json!({"tools": self.life.tools[page].json(NAMES[page], listing)});
        if page == 0 {
            answer["nextCursor"] = listing.to_string().into();
            self.soon(Deed::Write(result(id, &answer)));
        } else {
            self.soon(Deed::Listed(listing, result(id, &answer)));
        }
    }

    fn call(&mut self, id: i64, key: usize, message: &Value) {
        let fault = self.life.calls.get(self.calls).copied().flatten();
        self.calls += 1;
        if let Some(fault) = fault {
            self.world.tell(Event::Struck { life: self.number, fault });
        }
        let answer = result(id, &text(key));
        let Some(fault) = fault else {
            self.execute(id, key);
            return self.soon(Deed::Answer(id, key, answer));
        };
        let harm = Harm::Call(fault);
        match fault {
            CallFault::DiesBefore
            | CallFault::HangsBefore
            | CallFault::StopsReading
            | CallFault::ExecutesLate
            | CallFault::AnswersError => {}
            _ => self.execute(id, key),
        }
        match fault {
            CallFault::DiesBefore | CallFault::ExecutesThenDies => self.die(harm),
            CallFault::ExecutesLate => {
                self.later(self.life.pace + LATE, Deed::Execute(id, key));
                self.die(harm);
            }
            CallFault::HalfAnswer => {
                self.soon(Deed::WritePart(answer[..answer.len() / 2].to_owned()));
                self.die(harm);
            }
            CallFault::NoNewline => {
                self.soon(Deed::WritePart(answer));
                self.die(harm);
            }
            CallFault::AnswersThenDies => {
                self.soon(Deed::Answer(id, key, answer));
                self.die(harm);
            }
            CallFault::HangsBefore | CallFault::HangsAfter => {}
            CallFault::AnswersLate => self.later(LATE, Deed::Answer(id, key, answer)),
            CallFault::ClosesOutput => self.soon(Deed::CloseOutput(harm)),
            CallFault::StopsReading => {
                self.world.tell(Event::Hurt { life: self.number, by: harm });
                self.stop_reading();
            }
            CallFault::AnswersTwice => {
                self.soon(Deed::Answer(id, key, answer.clone()));
                self.soon(Deed::Write(answer));
            }
            CallFault::AnswersAsString => {
                let answer = json!({"jsonrpc": "2.0", "id": id.to_string(), "result": text(key)});
                self.soon(Deed::Answer(id, key, answer.to_string()));
            }
            CallFault::AnswersNobody => self.soon(Deed::Write(result(1_000_000, &text(key)))),
            CallFault::AnswersNonsense => self.soon(Deed::Write(result(id, &json!({"weather": "fine"})))),
            CallFault::AnswersError => self.soon(Deed::Answer(id, key, error(id, &key.to_string()))),
            CallFault::AnswersIsError => {
                let mut said = text(key);
                said["isError"] = true.into();
                self.soon(Deed::Answer(id, key, result(id, &said)));
            }
            CallFault::Progress => {
                let token = &message["params"]["_meta"]["progressToken"];
                for second in 1..=4 {
                    let params = json!({"progressToken": token, "progress": second});
                    self.later(second * 1_000, Deed::Write(notification("notifications/progress", &params)));
                }
                self.later(4_500, Deed::Answer(id, key, answer));
            }
        }
    }

    /// Its input stays open, and what it had in mind to write is written.
    fn stop_reading(&mut self) {
        let Some(lines) = self.lines.take() else { return };
        let world = self.world.clone();
        tokio::spawn(async move {
            world.at(world.moment(FORGOTTEN)).await;
            drop(lines);
        });
        self.later(FORGOTTEN, Deed::CloseOutput(Harm::Died));
    }

    async fn noise(&mut self, noise: Noise) {
        let line = match (noise, self.answered) {
            (Noise::AnsweredId, None) => return,
            (Noise::AnsweredId, Some((id, key))) => result(id, &text(key)),
            (Noise::ListChanged, _) => notification("notifications/tools/list_changed", &json!({})),
            (Noise::NotJson, _) => "listening on port 3000".to_owned(),
            (Noise::NotUtf8, _) => String::new(),
            (Noise::UnknownId, _) => result(77_777, &text(0)),
            (Noise::UnknownProgress, _) => {
                notification("notifications/progress", &json!({"progressToken": 4_242, "progress": 1}))
            }
            (Noise::ErrorWithoutId, _) => {
                json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}})
                    .to_string()
            }
            (Noise::Ping, _) => json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"}).to_string(),
        };
        // rmcp takes whatever has the form of an answer for that to its handshake, and fails.
        let is_answer = matches!(noise, Noise::UnknownId | Noise::ErrorWithoutId);
        if is_answer && !self.has_shaken_hands {
            self.world.tell(Event::Hurt { life: self.number, by: Harm::Noise(noise) });
        } else {
            self.world.tell(Event::Harmless { life: self.number, noise });
        }
        if noise == Noise::NotUtf8 {
            if let Some(out) = &mut self.out {
                let _ = out.write_all(b"\xff\xfe\n").await;
            }
            return;
        }
        self.write(&format!("{line}\n")).await;
    }
}

fn text(key: usize) -> Value {
    json!({"content": [{"type": "text", "text": key.to_string()}]})
}

fn result(id: i64, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

fn error(id: i64, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}}).to_string()
}

fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}
