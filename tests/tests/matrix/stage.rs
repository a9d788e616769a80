//! Plays one row: a server process, a client, one call (or two), and what is left at the end.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use mcp_tool::{
    Client, Connector, Discovery, Happening, InvocationInfo, Observer, PagingDiscovery, StdioTransport,
    ToolCall, Transport, mcp_discovery::Reconnect, mcp_transport::Fence, replay_policy, trust_fn,
};
use mcp_tool_cli::fault_server::{Ledger, Record};

use crate::{
    axes::{Path, Withdrawn},
    bench::{
        Bench,
        process::{PATIENCE, until},
    },
    closures::through_closures,
    gate::End,
    oracle::{Outcome, RETRIES},
    row::{Fault, Row},
    told::{Call, told},
};

/// What was seen of a row.
pub(crate) struct Seen {
    pub(crate) outcome: Outcome,
    /// Whether the first call's answer says that an earlier attempt may have run; none without an answer.
    pub(crate) earlier_unknown: Option<bool>,
    /// The attempts of the second call.
    pub(crate) second_attempts: u32,
    pub(crate) record: Record,
}

/// For calls that run out of time. Long enough for a busy machine to have sent them.
const SHORT: Duration = Duration::from_secs(1);
/// More than a pipe holds: 16 pages.
const LONG: usize = 96 << 10;

pub(crate) async fn play(row: Row) -> Seen {
    let bench = Bench::new(&row.to_string());
    let trigger = bench.file("now");
    let stage = Stage::new(row, &bench, trigger.clone());
    stage.set(&bench).await;

    let first = told(stage.client.call(stage.first_call()).await);
    let second = stage.second_call(&bench).await;
    stage.settle(&bench, &first).await;

    let record = stage.end(&bench).await;
    let outcome = Outcome {
        end: first.end,
        attempts: first.attempts,
        replays: first.replays,
        unsent: first.unsent,
        second: second.as_ref().map(|second| second.end),
        received: record.received().len() as u32,
        executions: record.executions().len() as u32,
        starts: record.starts().len() as u32,
    };
    let second_attempts = second.map_or(0, |second| second.attempts);
    Seen { outcome, earlier_unknown: first.earlier_unknown, second_attempts, record }
}

/// The client of a row, and the ways to see what happens behind it.
struct Stage {
    row: Row,
    trigger: PathBuf,
    discovery: PagingDiscovery<Box<dyn Connector>>,
    client: Client,
    /// The connection behind the closures.
    inner: Inner,
}

type Inner = Arc<Mutex<Weak<StdioTransport>>>;

impl Stage {
    fn new(row: Row, bench: &Bench, trigger: PathBuf) -> Self {
        let stdio = bench.connector(&row.scenario(&trigger));
        let inner = Inner::default();
        let connector: Box<dyn Connector> = match row.path {
            Path::Direct => Box::new(stdio),
            Path::Callable => {
                let slot = inner.clone();
                Box::new(through_closures(stdio.identity(), move || {
                    let (stdio, slot) = (stdio.clone(), slot.clone());
                    async move {
                        let inner = Arc::new(stdio.start().await?);
                        *slot.lock().unwrap() = Arc::downgrade(&inner);
                        Ok(inner)
                    }
                }))
            }
        };
        let reconnect = Reconnect::default().with_retries(RETRIES).with_base(Duration::from_millis(1));
        let discovery = PagingDiscovery::new(connector).with_reconnect(reconnect);
        let ledger = bench.ledger.clone();
        let client = Client::with_discovery("bench", discovery.clone())
            .trust(trust_fn(move |_, _| trust(row, &ledger)))
            .observer(Trigger { row, file: trigger.clone() })
            .build();
        Self { row, trigger, discovery, client, inner }
    }

    /// Connects, lists, and brings about what has to be so before the call.
    async fn set(&self, bench: &Bench) {
        let catalog = self.discovery.catalog().await.expect("a healthy server lists its tools");
        match self.row.fault {
            Fault::DiedIdle => {
                let mut events = match self.row.path {
                    Path::Direct => catalog.transport().events(),
                    Path::Callable => self.inner.lock().unwrap().upgrade().expect("the connection").events(),
                };
                fs::write(&self.trigger, "").unwrap();
                events.next().await;
            }
            Fault::DieBeforeReading => {
                bench.wait(|record| record.faults() == ["die_unread"]).await;
            }
            Fault::StopReading | Fault::StopReadingLongCall => {
                bench.wait(|record| record.faults() == ["stop_reading"]).await;
            }
            _ => {}
        }
    }

    fn first_call(&self) -> ToolCall {
        let call = ToolCall::new("put").with_argument("key", "first");
        let long = || call.clone().with_argument("text", "x".repeat(LONG));
        match self.row.fault {
            Fault::Hang | Fault::LateAnswer | Fault::WrongId | Fault::StopReading => {
                call.with_deadline(SHORT)
            }
            Fault::StopReadingLongCall => long().with_deadline(SHORT),
            // A pipe that nobody reads takes a short call as long as anybody has the other end, were it a
            // process of another row that is just being started.
            Fault::CloseStdin | Fault::UnsentAndTrustWithdrawn | Fault::UnsentAndToolChanged => {
                long().with_deadline(PATIENCE)
            }
            _ => call.with_deadline(PATIENCE),
        }
    }

    /// Lets the late answer of the first call come, and calls again.
    async fn second_call(&self, bench: &Bench) -> Option<Call> {
        if self.row.fault != Fault::LateAnswer {
            return None;
        }
        bench.wait(|record| record.executions().len() == 1).await;
        fs::write(&self.trigger, "").unwrap();
        until("the late answer", || !self.trigger.exists()).await;
        let call = ToolCall::new("put").with_argument("key", "second").with_deadline(PATIENCE);
        Some(told(self.client.call(call).await))
    }

    /// What was sent before a deadline may be read after it.
    async fn settle(&self, bench: &Bench, first: &Call) {
        let reads = !matches!(self.row.fault, Fault::StopReading | Fault::StopReadingLongCall);
        if reads && first.end == End::Unknown("deadline") {
            bench.wait(|record| !record.executions().is_empty()).await;
        }
    }

    /// Ends the client in one of the two ways in which clients end, and waits until nothing is left.
    async fn end(self, bench: &Bench) -> Record {
        let Self { row, discovery, client, .. } = self;
        match row.path {
            Path::Direct => {
                let fence = discovery.close().await;
                assert_eq!(fence, Fence::GroupGone, "{row}");
            }
            Path::Callable => drop((discovery, client)),
        }
        bench.all_gone().await;
        bench.record()
    }
}

/// Who is trusted now; in some rows that changes as soon as the server is back.
fn trust(row: Row, ledger: &Ledger) -> replay_policy::Trust {
    let is_back = || ledger.starts().is_ok_and(|starts| starts.len() > 1);
    let withdrawn = match row.fault {
        Fault::ServerTrustWithdrawn if is_back() => Some(Withdrawn::Server),
        Fault::WorkspaceTrustWithdrawn | Fault::UnsentAndTrustWithdrawn if is_back() => {
            Some(Withdrawn::Workspace)
        }
        _ => None,
    };
    row.trust.without(withdrawn)
}

/// Lets the server die as soon as a call that it does not read is under way.
struct Trigger {
    row: Row,
    file: PathBuf,
}

impl Observer for Trigger {
    fn observe(&self, _: &InvocationInfo<'_>, happening: &Happening) {
        if self.row.fault == Fault::DieBeforeReading && matches!(happening, Happening::Attempting { .. }) {
            fs::write(&self.file, "").unwrap();
        }
    }
}
