//! What one server is like between two edits: the scenario that it plays, and the ledger of that.

use mcp_tool::ServerEntry;
use mcp_tool_cli::fault_server::{
    Ending, Era, Fault, Holds, Http, HttpFault, Moment, Record, Reply, Response, Scenario, Sessions, Startup,
    Stray, ToolSpec, When,
};
use rustix::process::Signal;
use serde_json::json;

use crate::{
    bench::{Bench, process::signal},
    numbers::Numbers,
    server::Server,
};

/// A server as it is now. Another edit makes another one, with a ledger of its own.
pub(crate) enum Definition {
    Process(Bench, Box<Scenario>),
    Http(Server),
}

/// How a server is reached.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Front {
    Pipes,
    Http,
}

/// Tools, and whether what may have run may run again.
pub(crate) const TOOLS: [(&str, bool); 4] = [("put", true), ("look", true), ("drop", false), ("send", false)];

impl Definition {
    pub(crate) async fn new(front: Front, scenario: Scenario) -> Self {
        match front {
            Front::Pipes => Self::Process(Bench::new("soak"), Box::new(scenario)),
            Front::Http => Self::Http(Server::start(&scenario).await),
        }
    }

    pub(crate) fn entry(&self, name: &str) -> ServerEntry {
        match self {
            Self::Process(bench, scenario) => ServerEntry::new(name, bench.connector(scenario)),
            Self::Http(server) => ServerEntry::new(name, server.connector()),
        }
    }

    pub(crate) fn record(&self) -> Record {
        match self {
            Self::Process(bench, _) => bench.record(),
            Self::Http(server) => server.record(),
        }
    }

    /// Sends a signal to the process that was started last, if it is there.
    pub(crate) fn signal(&self, which: Signal) {
        if let Some(pid) = self.record().starts().last().copied()
            && is_fault_server(pid)
        {
            signal(pid, which);
        }
    }

    /// Waits until nothing of it runs, and gives the ledger.
    pub(crate) async fn over(self) -> Record {
        match self {
            Self::Process(bench, _) => {
                bench.all_gone().await;
                bench.record()
            }
            Self::Http(server) => {
                server.stay_down().await;
                let record = server.record();
                server.stop().await;
                record
            }
        }
    }
}

/// A process id may have gone to somebody else.
fn is_fault_server(pid: u32) -> bool {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    command.split(|byte| *byte == 0).next().is_some_and(|program| program.ends_with(b"fault-server"))
}

/// Four tools, and now and then another definition of one.
fn tools(numbers: &mut Numbers) -> Scenario {
    let put = ToolSpec::new("put")
        .annotations(json!({"idempotentHint": true}))
        .description(format!("stores a value, in version {}", numbers.below(3)));
    Scenario::new()
        .tool(put)
        .tool(ToolSpec::new("look").annotations(json!({"readOnlyHint": true})))
        .tool(ToolSpec::new("drop").annotations(json!({})))
        .tool(ToolSpec::new("send"))
}

/// A server to which nothing happens.
pub(crate) fn healthy(numbers: &mut Numbers) -> Scenario {
    tools(numbers)
}

/// A server to which much happens, in each of its lives.
pub(crate) fn wild(front: Front, numbers: &mut Numbers) -> Scenario {
    let mut scenario = life(front, numbers);
    for start in 2..6 {
        if numbers.below(2) == 0 {
            scenario = scenario.from_start(start, life(front, numbers));
        }
    }
    scenario
}

fn life(front: Front, numbers: &mut Numbers) -> Scenario {
    let mut life = tools(numbers).era([Era::Legacy, Era::Modern, Era::Dual][numbers.below(3) as usize]);
    life = match front {
        Front::Pipes => pipes(life, numbers),
        Front::Http => life.http(http(numbers)),
    };
    for call in 1..=200 {
        if numbers.below(7) == 0 {
            life = life.on_call(call, fault(front, numbers));
        }
    }
    life
}

fn pipes(life: Scenario, numbers: &mut Numbers) -> Scenario {
    match numbers.below(10) {
        0 => life.startup(Startup::Banner { line: "welcome".to_owned() }),
        1 => life.startup(Startup::ExitFirst { starts: 2 }),
        2 => life.startup(Startup::NeverAnswers),
        3 => life.dies(When::Millis(1 + numbers.below(3_000))),
        4 => life.ending(Ending::AtKill),
        5 => life.grandchild(Holds::All),
        6 => life.grandchild(Holds::Stdin),
        _ => life,
    }
}

fn http(numbers: &mut Numbers) -> Http {
    let replies = [Reply::Json, Reply::Sse, Reply::SseWithIds];
    let sessions =
        [Sessions::NotFound, Sessions::BadRequest, Sessions::BadRequestAnswered, Sessions::Stateless];
    Http::new()
        .reply(replies[numbers.below(replies.len() as u64) as usize])
        .sessions(sessions[numbers.below(sessions.len() as u64) as usize])
}

fn fault(front: Front, numbers: &mut Numbers) -> Fault {
    match (front, numbers.below(3)) {
        (_, 0) => anywhere(numbers),
        (Front::Pipes, _) => over_pipes(numbers),
        (Front::Http, _) => over_http(numbers).into(),
    }
}

fn anywhere(numbers: &mut Numbers) -> Fault {
    let soon = When::Millis(numbers.below(500));
    match numbers.below(12) {
        0 => Fault::DieBeforeCommit,
        1 => Fault::DieAfterCommit,
        2 => Fault::DieMidAnswer,
        3 => Fault::DieAfterAnswer,
        4 => Fault::Hang,
        5 => Fault::HangBeforeCommit,
        6 => Fault::AnswerTwice,
        7 => Fault::AnswerWrongId,
        8 => Fault::lost_connection_error(),
        9 => Fault::lost_connection_result(),
        10 => Fault::Progress { every_ms: 20, times: 5 },
        _ => Fault::AnswerLate { when: soon },
    }
}

fn over_pipes(numbers: &mut Numbers) -> Fault {
    match numbers.below(10) {
        0 => Fault::DieUnread { when: When::Millis(numbers.below(50)) },
        1 => Fault::DieMidRead { bytes: 60 + numbers.below(40) as usize },
        2 => Fault::DieAfterBytes { bytes: numbers.below(200) as usize },
        3 => Fault::StopReading,
        4 => Fault::CloseStdin,
        5 => Fault::CloseStdout,
        6 => Fault::DieBeforeNewline,
        7 => Fault::DieAndCommitLate { when: When::Millis(numbers.below(50)) },
        8 => Fault::FloodStderr { bytes: 300_000 },
        _ => Fault::Stray { lines: Stray::ALL.to_vec() },
    }
}

fn over_http(numbers: &mut Numbers) -> HttpFault {
    match numbers.below(8) {
        0 => HttpFault::Reset(Moment::BeforeCommit),
        1 => HttpFault::Reset(Moment::AfterCommit),
        2 => HttpFault::ResetLate { when: When::Millis(numbers.below(300)) },
        3 => HttpFault::Respond(Moment::AfterCommit, Response::new(503)),
        4 => HttpFault::Respond(Moment::BeforeCommit, Response::too_many_requests(1)),
        5 => HttpFault::JsonCut,
        6 => HttpFault::SseCut,
        _ => HttpFault::SseEnds,
    }
}
