//! The rows of one call: in memory, over the pipes of a child, over HTTP; one, many, and large arguments.

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use mcp_tool::rmcp::model::JsonObject;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::{
    callers::{self, Alone, Caller, Load, Raw, Safe},
    choice::Choice,
    floor::{InMemory, Keeping, OverHttp, OverPipes},
    http_server::{EVENTS, SERVE_HTTP},
    rounds::{Effort, Outcome, Side, compare},
    target::Target,
};

/// "Never more than 3 % above raw rmcp."
const AT_MOST: Target = Target(1.03);

/// What is called, and how many of it are in flight.
struct Row<'a> {
    name: String,
    runtime: &'a Runtime,
    arguments: Arc<JsonObject>,
    in_flight: u32,
}

pub(crate) fn table(choice: &Choice, one_thread: &Runtime, two_workers: &Runtime) {
    let (small, large) = (arguments("hello"), arguments(&"x".repeat(1024 * 1024)));
    let loads = [
        (&small, 1, "1 in flight"),
        (&small, 64, "64 in flight"),
        (&small, 1000, "1,000 in flight"),
        (&large, 1, "1 MiB"),
    ];
    let effort = choice.of(
        Effort { sittings: 10, budget: Duration::from_secs(5) },
        Effort { sittings: 2, budget: Duration::from_millis(400) },
    );
    let rows = |place: &'static str, runtime| {
        loads
            .map(|(arguments, in_flight, load)| Row {
                name: format!("{place}, {load}"),
                runtime,
                arguments: arguments.clone(),
                in_flight,
            })
            .into_iter()
            .filter(|row: &Row<'_>| choice.takes(&row.name))
    };
    let mut heading = Some(());
    let mut titled = || {
        if heading.take().is_some() {
            title();
        }
    };
    for (place, runtime) in [("in memory, one thread", one_thread), ("in memory, two workers", two_workers)] {
        for row in rows(place, runtime) {
            titled();
            row.in_memory(effort);
        }
    }
    for row in rows("child process", two_workers) {
        titled();
        row.child(effort);
    }
    let json: Vec<_> = rows("HTTP", two_workers).collect();
    let events: Vec<_> = rows("HTTP, events", two_workers).take(1).collect();
    if json.is_empty() && events.is_empty() {
        return;
    }
    let server = HttpServer::start();
    for (rows, path) in [(json, "/mcp"), (events, EVENTS)] {
        for row in rows {
            titled();
            row.http(effort, server.port, path);
        }
    }
}

impl Row<'_> {
    fn in_memory(&self, effort: Effort) {
        let [raw, again, alone, safe, floor] = compare(effort, || {
            [
                self.side(self.runtime.block_on(Raw::in_memory())),
                self.side(self.runtime.block_on(Raw::in_memory())),
                self.side(self.runtime.block_on(Alone::in_memory())),
                self.side(self.runtime.block_on(Safe::in_memory())),
                {
                    let stream = self.runtime.block_on(async { callers::line_server() });
                    let mut floor = InMemory::new(stream, &self.arguments);
                    self.floor(move |calls| self.runtime.block_on(floor.call(calls)))
                },
            ]
        });
        self.print(&raw, &again, &floor, &alone, &safe);
    }

    /// A real child over real pipes. It leaves when its input ends, with the last handle on its connection.
    fn child(&self, effort: Effort) {
        let [raw, again, alone, safe, floor] = compare(effort, || {
            let mut floor = OverPipes::start(&self.arguments);
            [
                self.side(self.runtime.block_on(Raw::child())),
                self.side(self.runtime.block_on(Raw::child())),
                self.side(self.runtime.block_on(Alone::child())),
                self.side(self.runtime.block_on(Safe::child())),
                self.floor(move |calls| floor.call(calls)),
            ]
        });
        self.print(&raw, &again, &floor, &alone, &safe);
    }

    fn http(&self, effort: Effort, port: u16, path: &str) {
        let url = &format!("http://127.0.0.1:{port}{path}");
        let [raw, again, alone, safe, kept, closed] = compare(effort, || {
            let [mut kept, mut closed] =
                [Keeping::Kept, Keeping::Closed].map(|keeping| OverHttp::new(port, keeping, &self.arguments));
            [
                self.side(self.runtime.block_on(Raw::http(url))),
                self.side(self.runtime.block_on(Raw::http(url))),
                self.side(self.runtime.block_on(Alone::http(url))),
                self.side(self.runtime.block_on(Safe::http(url))),
                self.floor(move |calls| kept.call(calls)),
                self.floor(move |calls| closed.call(calls)),
            ]
        });
        self.print(&raw, &again, &kept, &alone, &safe);
        println!("{:<38} {:>46}", "  the same, a connection for each call", closed.ratio);
    }

    fn side<'a>(&'a self, caller: impl Caller) -> Side<'a> {
        Box::new(move |each| {
            let load = Load { arguments: self.arguments.clone(), in_flight: self.in_flight, each };
            self.runtime.block_on(load.run(&caller));
        })
    }

    fn floor<'a>(&'a self, mut call: impl FnMut(u32) + 'a) -> Side<'a> {
        Box::new(move |each| (0..each).for_each(|_| call(self.in_flight)))
    }

    fn print(&self, raw: &Outcome, again: &Outcome, floor: &Outcome, alone: &Outcome, safe: &Outcome) {
        let micros = raw.wall.as_secs_f64() * 1e6 / f64::from(self.in_flight);
        let ratio = |outcome: &Outcome| outcome.ratio.to_string();
        println!(
            "{:<38} {micros:>8.1} {:>18} {:>18} {:>18} {:>18} {:>18} {:>14}",
            self.name,
            ratio(again),
            ratio(floor),
            ratio(alone),
            ratio(safe),
            safe.cpu_ratio,
            AT_MOST.verdict(safe.ratio.median)
        );
    }
}

fn title() {
    println!(
        "{:<38} {:>8} {:>18} {:>18} {:>18} {:>18} {:>18} {:>14}",
        "one call",
        "raw, µs",
        "raw again",
        "floor",
        "transport alone",
        "client",
        "client, CPU",
        "target, client"
    );
}

fn arguments(value: &str) -> Arc<JsonObject> {
    let members = [("key", "greeting"), ("value", value)];
    Arc::new(members.map(|(name, value)| (name.to_owned(), Value::from(value))).into_iter().collect())
}

struct HttpServer {
    child: Child,
    port: u16,
}

impl HttpServer {
    fn start() -> Self {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        let command = command.arg(SERVE_HTTP).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this program starts");
        let mut told = String::new();
        let output = child.stdout.take().expect("it was asked for");
        BufReader::new(output).read_line(&mut told).expect("it tells its port");
        Self { child, port: told.trim_end().parse().expect("a port") }
    }
}

impl Drop for HttpServer {
    /// It leaves when its input ends.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().expect("it was started here");
    }
}
