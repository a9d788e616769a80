//! Plays one row: a server process, a client, one call, and a second one that must find the server again.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mcp_tool::{
    CancellationToken, Client, Connector, Discovery, Happening, HttpConnector, InvocationInfo, Observer,
    PagingDiscovery, ToolCall, mcp_discovery::Reconnect, trust_fn,
};
use mcp_tool_cli::fault_server::{Event, Record};
use tokio::sync::Notify;

use crate::{
    axes::{Era, Path, Withdrawn},
    closures::through_closures,
    gate::End,
    oracle::Outcome,
    row::{Fault, Row},
    scenario::LIMIT,
    server::{PATIENCE, Server},
    told::{Call, told},
};

/// What was seen of a row.
pub(crate) struct Seen {
    pub(crate) outcome: Outcome,
    /// Whether the first call's answer says that an earlier attempt may have run; none without an answer.
    pub(crate) earlier_unknown: Option<bool>,
    /// The attempts of the second call.
    pub(crate) next_attempts: u32,
    pub(crate) record: Record,
}

/// For calls that run out of time. Long enough for a busy machine to have sent them.
const SHORT: Duration = Duration::from_secs(1);

pub(crate) async fn play(row: Row) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let scenario = row.scenario(&folder.path().join("now"));
    let server = Server::start_in(folder, &scenario).await;
    let stage = Stage::new(row, server);

    stage.discovery.catalog().await.expect("a healthy server lists its tools");
    let first = told(stage.first_call().await);
    let posts_of_first = stage.settle(&first).await.received().len();
    let next = told(stage.next_call().await);

    let record = stage.end().await;
    let executions = record.executions();
    let outcome = Outcome {
        end: first.end,
        attempts: first.attempts,
        replays: first.replays,
        unsent: first.unsent,
        posts: posts_of_first as u32,
        executions: executions.iter().filter(|execution| execution.key == "first").count() as u32,
        resumes: record.resumes().len() as u32,
        starts: record.starts().len() as u32,
        connections: record.versions().len() as u32,
        next: next.end,
    };
    Seen { outcome, earlier_unknown: first.earlier_unknown, next_attempts: next.attempts, record }
}

/// The server and the client of a row, and what the client tells of its calls.
struct Stage {
    row: Row,
    server: Server,
    discovery: PagingDiscovery<Box<dyn Connector>>,
    client: Client,
    told: Arc<Told>,
}

/// What has happened to the first call so far.
#[derive(Default)]
struct Told {
    has_failed: AtomicBool,
    failed: Notify,
    was_decided: AtomicBool,
}

impl Stage {
    fn new(row: Row, server: Server) -> Self {
        let http = server.connector().with_max_reply(LIMIT);
        let connector: Box<dyn Connector> = match row.path {
            Path::Direct => Box::new(http),
            Path::Callable => Box::new(through_closures(http.identity(), move || start(http.clone()))),
        };
        let discovery = PagingDiscovery::new(connector).with_reconnect(reconnect(row));
        let told = Arc::new(Told::default());
        let seen = told.clone();
        let client = Client::with_discovery("http", discovery.clone())
            .trust(trust_fn(move |_, _| row.trust.without(withdrawn(row, &seen))))
            .observer(Watch(told.clone()))
            .build();
        Self { row, server, discovery, client, told }
    }

    async fn first_call(&self) -> Result<mcp_tool::Answer, mcp_tool::ToolError> {
        let call = ToolCall::new("put").with_argument("key", "first").with_deadline(PATIENCE);
        match self.row.fault {
            Fault::Hang => self.client.call(call.with_deadline(SHORT)).await,
            Fault::HangUntilCancelled => {
                let token = CancellationToken::new();
                let cancelling = async {
                    self.server.wait_for(|record| !record.executions().is_empty()).await;
                    token.cancel();
                };
                let calling = self.client.call(call.with_cancellation(token.clone()));
                tokio::join!(calling, cancelling).0
            }
            fault if fault.is_down() => {
                self.server.stay_down().await;
                let coming_back = async {
                    self.told.failed.notified().await;
                    self.server.come_back();
                };
                tokio::join!(self.client.call(call), coming_back).0
            }
            _ => self.client.call(call).await,
        }
    }

    /// The ledger once all of the first call is in it: what was sent before a deadline may be read after it.
    async fn settle(&self, first: &Call) -> Record {
        if first.end == End::Unknown("deadline") {
            self.server.wait_for(|record| !record.executions().is_empty()).await;
        }
        self.server.record()
    }

    async fn next_call(&self) -> Result<mcp_tool::Answer, mcp_tool::ToolError> {
        if self.row.fault == Fault::DieAndStayDown {
            fs::write(self.server.file("now"), "").unwrap();
            self.server.wait_for(|record| record.ports().len() == 2).await;
        }
        let call = ToolCall::new("put").with_argument("key", "next").with_deadline(PATIENCE);
        self.client.call(call).await
    }

    /// Ends the client in one of the two ways in which clients end, and waits until its sessions have.
    async fn end(self) -> Record {
        let Self { row, server, discovery, client, .. } = self;
        match row.path {
            Path::Direct => drop(discovery.close().await),
            Path::Callable => {}
        }
        drop((discovery, client));
        let record = match row.era {
            Era::Legacy => server.wait_for(|record| record.ended_sessions() == live_sessions(record)).await,
            Era::Modern => server.record(),
        };
        server.stop().await;
        record
    }
}

/// The sessions that the last process has made.
fn live_sessions(record: &Record) -> usize {
    let last = record.starts().len() as u32;
    let of_last = |event: &&Event| matches!(event, Event::Handshake { start, .. } if *start == last);
    record.events().iter().filter(of_last).count()
}

async fn start(http: HttpConnector) -> Result<Arc<mcp_tool::HttpTransport>, mcp_tool::TransportError> {
    http.start().await.map(Arc::new)
}

/// In some rows the server comes back, and in some it does not.
fn reconnect(row: Row) -> Reconnect {
    match row.fault {
        Fault::DieAndStayDown => Reconnect::default().with_retries(1).with_base(Duration::from_millis(1)),
        _ => Reconnect::default()
            .with_retries(200)
            .with_base(Duration::from_millis(5))
            .with_cap(Duration::from_millis(100)),
    }
}

/// Who is no longer trusted by now.
fn withdrawn(row: Row, told: &Told) -> Option<Withdrawn> {
    match row.fault {
        Fault::ServerTrustWithdrawn if told.was_decided.load(Ordering::SeqCst) => Some(Withdrawn::Server),
        Fault::WorkspaceTrustWithdrawn if told.was_decided.load(Ordering::SeqCst) => {
            Some(Withdrawn::Workspace)
        }
        Fault::DownAndTrustWithdrawn if told.has_failed.load(Ordering::SeqCst) => Some(Withdrawn::Workspace),
        _ => None,
    }
}

struct Watch(Arc<Told>);

impl Observer for Watch {
    fn observe(&self, _: &InvocationInfo<'_>, happening: &Happening) {
        match happening {
            Happening::Failed { .. } => {
                self.0.has_failed.store(true, Ordering::SeqCst);
                self.0.failed.notify_one();
            }
            Happening::Decided { .. } => self.0.was_decided.store(true, Ordering::SeqCst),
            _ => {}
        }
    }
}
