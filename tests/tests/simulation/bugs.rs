//! The judge can fail: each bug here breaks one promise, and some schedule shows it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use mcp_tool::{
    CallReply, CancellationToken, Catalog, Connector, Discovery, DiscoveryError, PagingDiscovery, ToolCall,
    Transport, TransportError,
    mcp_discovery::Generation,
    mcp_transport::{Cursor, Events, Fence, Guard, ServerIdentity, ToolPage},
    replay_policy::{Decision, policy_fn},
};
use tokio::time::{sleep, timeout};

use crate::{
    campaign::{report, try_out},
    connector::Simulated,
    play::Rig,
    schedule::Schedule,
};

/// What breaks, by what, and the shipped parts with that among them.
type Bug = (&'static str, &'static str, Rig);

type Paging = PagingDiscovery<Arc<dyn Connector>>;

fn bugs() -> Vec<Bug> {
    vec![
        ("I1", "a policy that allows everything", everything_allowed()),
        ("I1", "a false claim of unsent", over(How::ClaimsUnsent)),
        ("I2", "a discovery that gives the listing of before", with_discovery(Stale::of)),
        ("I4", "sending that goes on after it was judged", over(How::GoesOn)),
        ("I6", "a queue that forgets the guard", over(How::ForgetsTheGuard)),
        ("I8", "a queue that forgets the cancel", over(How::ForgetsTheCancel)),
        ("I11", "two connects for one", with_connector(|simulated| Arc::new(Twice(simulated)))),
        (
            "I11",
            "a straggler that closes what is there",
            with_discovery(|paging| Arc::new(Straggling(paging))),
        ),
        ("I12", "answers that are mixed up", over(How::MixesUp)),
        ("I14", "a transport that sends again", over(How::SendsAgain)),
        ("I15", "a task that nobody ends", over(How::LeavesATask)),
    ]
}

#[test]
fn every_bug_that_is_put_in_is_found() {
    for (breaks, what, rig) in bugs() {
        let is_found = |seed: &u64| {
            let (_, complaints) = try_out(&Schedule::draw(*seed), &rig);
            complaints.iter().any(|complaint| complaint.invariant == breaks)
        };
        let seed = (1..5_000).find(is_found).unwrap_or_else(|| panic!("{what}, and {breaks} holds"));
        println!("{breaks} is broken by {what}: seed {seed}");
    }
}

#[test]
fn what_fails_is_reported_by_its_seed_and_made_small() {
    let rig = everything_allowed();
    let fails = |schedule: &Schedule| !try_out(schedule, &rig).1.is_empty();
    let big = |seed: &u64| Schedule::draw(*seed).calls.len() == 4 && Schedule::draw(*seed).lives.len() == 4;
    let seed = (1..).filter(big).find(|seed| fails(&Schedule::draw(*seed))).expect("there are enough");
    let report = report(&Schedule::draw(seed), &rig);
    assert!(report.starts_with(&format!("SEED={seed} SCHEDULES=1\n")), "{report}");
    let (_, shrunk) = report.split_once("shrunk: ").expect("it was shrunk");
    let times = |text| shrunk.matches(text).count();
    assert_eq!((times("    Life {"), times("Some(\n")), (1, 1), "one life with one fault: {shrunk}");
    assert!(times("    Call {") <= 2, "{shrunk}");
}

fn everything_allowed() -> Rig {
    Rig { policy: Box::new(|()| Arc::new(policy_fn(|_| Decision::Replay))), ..Rig::shipped() }
}

fn with_connector(connector: fn(Simulated) -> Arc<dyn Connector>) -> Rig {
    Rig { connector: Box::new(connector), ..Rig::shipped() }
}

fn with_discovery(discovery: fn(Paging) -> Arc<dyn Discovery>) -> Rig {
    Rig { discovery: Box::new(discovery), ..Rig::shipped() }
}

/// The shipped parts over a transport with this bug.
fn over(how: How) -> Rig {
    Rig { connector: Box::new(move |simulated| Arc::new(Over { simulated, how })), ..Rig::shipped() }
}

#[derive(Clone, Copy)]
enum How {
    ClaimsUnsent,
    GoesOn,
    ForgetsTheGuard,
    ForgetsTheCancel,
    MixesUp,
    SendsAgain,
    LeavesATask,
}

struct Over {
    simulated: Simulated,
    how: How,
}

#[async_trait]
impl Connector for Over {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        let inner = self.simulated.connect().await?;
        Ok(Arc::new(Wrong { inner, how: self.how, last: Mutex::default() }))
    }

    fn identity(&self) -> ServerIdentity {
        self.simulated.identity()
    }
}

struct Wrong {
    inner: Arc<dyn Transport>,
    how: How,
    last: Mutex<Option<CallReply>>,
}

#[async_trait]
impl Transport for Wrong {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let inner = &self.inner;
        match self.how {
            How::ClaimsUnsent => inner.call_tool(call).await.map_err(TransportError::proven_unsent),
            How::GoesOn => {
                let inner = inner.clone();
                let calling = tokio::spawn(async move { inner.call_tool(call).await });
                let in_time = timeout(Duration::from_millis(500), calling).await;
                in_time
                    .map_or_else(|_| Err(TransportError::lost()), |called| called.expect("it does not panic"))
            }
            How::ForgetsTheGuard => {
                sleep(Duration::from_millis(500)).await;
                inner.call_tool(call.with_guard(Guard::new(|| Ok(())))).await
            }
            How::ForgetsTheCancel => {
                sleep(Duration::from_millis(500)).await;
                inner.call_tool(call.with_cancellation(CancellationToken::new())).await
            }
            How::MixesUp => {
                let reply = inner.call_tool(call).await?;
                let before = self.last.lock().unwrap().replace(reply.clone());
                Ok(before.unwrap_or(reply))
            }
            How::SendsAgain => match inner.call_tool(call.clone()).await {
                Ok(reply) if reply.is_error() => inner.call_tool(call).await,
                called => called,
            },
            How::LeavesATask => {
                tokio::spawn(std::future::pending::<()>());
                inner.call_tool(call).await
            }
        }
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        self.inner.list_tools(cursor).await
    }

    fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    async fn retire(&self) -> Fence {
        self.inner.retire().await
    }

    async fn close(&self) -> Fence {
        self.inner.close().await
    }

    fn events(&self) -> Events {
        self.inner.events()
    }
}

struct Twice(Simulated);

#[async_trait]
impl Connector for Twice {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        let (first, _second) = tokio::join!(self.0.connect(), self.0.connect());
        first
    }

    fn identity(&self) -> ServerIdentity {
        self.0.identity()
    }
}

/// Closes what is there a second after a loss, whatever that is by then.
struct Straggling(Paging);

#[async_trait]
impl Discovery for Straggling {
    async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        self.0.catalog().await
    }

    async fn rebuild(&self, stale: Generation) -> Result<Arc<Catalog>, DiscoveryError> {
        self.0.rebuild(stale).await
    }

    fn suspect(&self, generation: Generation) {
        self.0.suspect(generation);
        let paging = self.0.clone();
        tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            paging.close().await;
        });
    }
}

/// Thinks that the tools are what they were.
struct Stale {
    paging: Paging,
    first: Mutex<Option<Arc<Catalog>>>,
}

impl Stale {
    fn of(paging: Paging) -> Arc<dyn Discovery> {
        Arc::new(Self { paging, first: Mutex::default() })
    }
}

#[async_trait]
impl Discovery for Stale {
    async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        let catalog = self.paging.catalog().await?;
        Ok(self.first.lock().unwrap().get_or_insert(catalog).clone())
    }

    async fn rebuild(&self, _: Generation) -> Result<Arc<Catalog>, DiscoveryError> {
        self.catalog().await
    }

    fn suspect(&self, generation: Generation) {
        self.paging.suspect(generation);
    }
}
