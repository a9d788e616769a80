//! A server that asks to be left alone for a while is.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_discovery::{
    Discovery, DiscoveryErrorKind, DownReason, PagingDiscovery, State, SupervisedDiscovery, Supervision,
};
use mcp_transport::{
    CallReply, Connector, Cursor, ErrorKind, Fence, ServerIdentity, ToolCall, ToolPage, Transport,
    TransportError,
};
use tokio::time::{Instant, sleep};

use crate::server::{AGES, state, tool};

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn overloaded(seconds: u64) -> TransportError {
    TransportError::http_status(503).with_retry_after(s(seconds))
}

/// Cannot be reached yet.
fn unready(seconds: u64) -> TransportError {
    TransportError::connect("later").with_retry_after(s(seconds))
}

/// Fails as it is told to, in this order, and notes when it is asked. Clones are the same server.
#[derive(Clone)]
struct Server(Arc<Mutex<Script>>);

struct Script {
    connects: VecDeque<TransportError>,
    lists: VecDeque<TransportError>,
    calls: VecDeque<TransportError>,
    identity: ServerIdentity,
    began: Instant,
    /// In seconds, from the beginning.
    connected: Vec<u64>,
    listed: Vec<u64>,
}

impl Server {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Script {
            connects: VecDeque::new(),
            lists: VecDeque::new(),
            calls: VecDeque::new(),
            identity: ServerIdentity::unspecified(),
            began: Instant::now(),
            connected: Vec::new(),
            listed: Vec::new(),
        })))
    }

    fn connects(self, error: TransportError) -> Self {
        self.0.lock().unwrap().connects.push_back(error);
        self
    }

    fn lists(self, error: TransportError) -> Self {
        self.0.lock().unwrap().lists.push_back(error);
        self
    }

    fn calls(self, error: TransportError) -> Self {
        self.0.lock().unwrap().calls.push_back(error);
        self
    }

    fn become_another(&self) {
        self.0.lock().unwrap().identity = ServerIdentity::of([("url", "another")]);
    }

    /// When it was connected to.
    fn connected(&self) -> Vec<u64> {
        self.0.lock().unwrap().connected.clone()
    }

    /// When it was asked for a page, by probes, too.
    fn listed(&self) -> Vec<u64> {
        self.0.lock().unwrap().listed.clone()
    }
}

#[async_trait::async_trait]
impl Connector for Server {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        let mut script = self.0.lock().unwrap();
        let at = script.began.elapsed().as_secs();
        script.connected.push(at);
        match script.connects.pop_front() {
            Some(error) => Err(error),
            None => Ok(Arc::new(self.clone())),
        }
    }

    fn identity(&self) -> ServerIdentity {
        self.0.lock().unwrap().identity.clone()
    }
}

#[async_trait::async_trait]
impl Transport for Server {
    async fn call_tool(&self, _: ToolCall) -> Result<CallReply, TransportError> {
        Err(self.0.lock().unwrap().calls.pop_front().expect("a call that fails"))
    }

    async fn list_tools(&self, _: Option<Cursor>) -> Result<ToolPage, TransportError> {
        let mut script = self.0.lock().unwrap();
        let at = script.began.elapsed().as_secs();
        script.listed.push(at);
        match script.lists.pop_front() {
            Some(error) => Err(error),
            None => Ok(ToolPage { tools: vec![tool("put", "{}")], next: None }),
        }
    }

    fn is_closed(&self) -> bool {
        false
    }

    async fn close(&self) -> Fence {
        Fence::None
    }
}

fn supervised(server: &Server) -> SupervisedDiscovery {
    let rules = Supervision::default().without_regular_probes();
    SupervisedDiscovery::builder(server.clone()).with_supervision(rules).build()
}

#[tokio::test(start_paused = true)]
async fn the_next_try_of_a_connect_waits_as_long_as_it_was_asked_to() {
    let server = Server::new().connects(unready(30)).connects(unready(60)).connects(unready(0));
    let discovery = PagingDiscovery::new(server.clone());
    assert!(discovery.catalog().await.is_ok());
    assert_eq!(server.connected(), [0, 30, 90, 90]);
}

#[tokio::test(start_paused = true)]
async fn whoever_would_have_to_wait_for_too_long_is_told_so_and_asks_nothing() {
    let server = Server::new().connects(unready(61));
    let discovery = PagingDiscovery::new(server.clone());
    for left in [61, 61, 60] {
        if left == 60 {
            sleep(s(1)).await;
        }
        let begun = Instant::now();
        match discovery.catalog().await {
            Err(error) => {
                assert_eq!(error.kind(), DiscoveryErrorKind::Connect);
                let told = error.transport_error().unwrap();
                assert_eq!((told.kind(), told.retry_after()), (ErrorKind::Connect, Some(s(left))));
                assert!(begun.elapsed() < s(1));
                assert_eq!(server.connected(), [0]);
            }
            // Now it is worth waiting.
            Ok(_) => assert_eq!((left, server.connected()), (60, vec![0, 61])),
        }
    }
    assert_eq!(server.connected().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_page_is_not_asked_for_again_at_once() {
    for (error, listed) in [(overloaded(20), vec![0, 20]), (TransportError::http_status(503), vec![0, 0])] {
        let server = Server::new().lists(error);
        let discovery = PagingDiscovery::new(server.clone());
        let first = discovery.catalog().await;
        assert_eq!(first.is_err(), listed[1] > 0);
        assert!(discovery.catalog().await.is_ok());
        assert_eq!(server.listed(), listed);
    }
}

#[tokio::test(start_paused = true)]
async fn another_server_does_not_wait_for_what_the_one_before_asked() {
    let server = Server::new().connects(unready(600));
    let discovery = PagingDiscovery::new(server.clone());
    assert!(discovery.catalog().await.is_err());
    server.become_another();
    assert!(discovery.catalog().await.is_ok());
    assert_eq!(server.connected(), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_is_tried_when_it_wants_to_be() {
    let server = Server::new().connects(unready(500));
    let discovery = supervised(&server);
    assert!(discovery.connect().await.is_err());
    let begun = Instant::now();
    let status = discovery.status();
    let next = State::Down { reason: DownReason::NotReached, next_try: Some(begun + s(500)) };
    assert_eq!(status.state, next);
    // Asking for it explicitly makes no difference.
    assert!(discovery.connect().await.is_err() && discovery.catalog().await.is_err());
    assert_eq!(server.connected(), [0]);
    state(&discovery, |state| state == State::Ready).await;
    assert_eq!(server.connected(), [0, 500]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_told_to_come_later_delays_the_probe_and_the_next_listing() {
    let server = Server::new().calls(overloaded(40));
    let discovery = supervised(&server);
    let catalog = discovery.connect().await.unwrap();
    catalog.transport().call_tool(ToolCall::new("put")).await.unwrap_err();
    discovery.doubt(catalog.generation());
    sleep(s(39)).await;
    assert_eq!(server.listed(), [0]);
    sleep(s(5)).await;
    assert_eq!(server.listed(), [0, 40], "the probe");

    let server = Server::new().calls(overloaded(40));
    let discovery = supervised(&server);
    let catalog = discovery.connect().await.unwrap();
    catalog.transport().call_tool(ToolCall::new("put")).await.unwrap_err();
    assert!(discovery.refresh().await.is_ok());
    assert_eq!(server.listed(), [0, 40]);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_told_to_come_later_is_an_answer_and_the_next_one_comes_later() {
    let server = Server::new().lists(overloaded(0)).lists(overloaded(100));
    let discovery = SupervisedDiscovery::new(server.clone());
    assert!(discovery.connect().await.is_err());
    let catalog = discovery.connect().await;
    assert!(catalog.is_err(), "both listings failed");
    state(&discovery, |state| state == State::Ready).await;
    assert_eq!(server.listed(), [0, 0, 100]);

    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    // More than are allowed to fail.
    let server = (0..5).fold(server, |server, _| server.lists(overloaded(100)));
    sleep(s(531)).await;
    assert_eq!((discovery.status().state, server.connected()), (State::Ready, vec![0]));
    assert_eq!(server.listed(), [0, 30, 130, 230, 330, 430, 530]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_ends_the_wait_for_the_server_before() {
    let server = Server::new().calls(overloaded(50));
    let discovery = supervised(&server);
    let catalog = discovery.connect().await.unwrap();
    catalog.transport().call_tool(ToolCall::new("put")).await.unwrap_err();
    let refreshing = tokio::spawn({
        let discovery = discovery.clone();
        async move { discovery.refresh().await.map(drop) }
    });
    sleep(s(1)).await;
    let begun = Instant::now();
    let _ = discovery.renew().await;
    assert!(begun.elapsed() < s(1));
    assert!(refreshing.await.unwrap().is_ok());
    sleep(AGES).await;
    assert!(server.listed().iter().all(|at| *at <= 1 || *at > 50), "{:?}", server.listed());
}
