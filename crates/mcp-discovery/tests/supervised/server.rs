//! A server that comes and goes as it is told, and counts what reaches it.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_discovery::{ConnectionId, State, Status, SupervisedDiscovery};
use mcp_transport::{
    CallReply, Connector, Cursor, Event, EventSender, Events, Fence, RawTool, ServerIdentity, ToolCall,
    ToolPage, Transport, TransportError, rmcp::model::CallToolResult,
};
use tokio::{
    runtime::Handle,
    sync::watch,
    time::{Instant, sleep, timeout},
};

/// Longer than anything waits.
pub(crate) const AGES: Duration = Duration::from_secs(3_600);

/// What comes of one start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Well,
    Refused,
    /// It is refused after this time.
    RefusedSlowly(Duration),
    /// The command is not there.
    Missing,
    /// The handshake never ends.
    Hangs,
    /// The handshake takes this long.
    Slow(Duration),
    /// It starts and lists its tools, and ends at once.
    Crashes,
    /// It starts and lists its tools, and ends after this time.
    Lives(Duration),
    /// It starts and never lists anything.
    Mute,
}

/// How a connection takes a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    Answered,
    Rejected,
    /// A peer that has gone without closing.
    Hangs,
    Fails,
    SessionLost,
}

/// Clones are the same server.
#[derive(Clone)]
pub(crate) struct Server(Arc<Inner>);

struct Inner {
    script: Mutex<Script>,
    starting: AtomicUsize,
    probes: AtomicUsize,
    lists: AtomicUsize,
    looks: AtomicUsize,
    changed: watch::Sender<()>,
    released: watch::Sender<bool>,
}

struct Script {
    starts: VecDeque<Start>,
    /// What comes of the starts after these.
    usually: Start,
    probe: Probe,
    is_probed: bool,
    tools: Vec<RawTool>,
    /// How many listings are lost from now on, without the connection.
    lost_lists: usize,
    /// Its connections tell nothing on their own.
    is_quiet: bool,
    /// Done within the next request for a page.
    within_list: Option<Box<dyn FnOnce() + Send>>,
    identity: ServerIdentity,
    log: Vec<Instant>,
    links: Vec<Arc<Link>>,
}

impl Server {
    /// A healthy server with the one tool `put`.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            script: Mutex::new(Script {
                starts: VecDeque::new(),
                usually: Start::Well,
                probe: Probe::Answered,
                is_probed: true,
                tools: vec![tool("put", "{}")],
                lost_lists: 0,
                is_quiet: false,
                within_list: None,
                identity: ServerIdentity::unspecified(),
                log: Vec::new(),
                links: Vec::new(),
            }),
            starting: AtomicUsize::new(0),
            probes: AtomicUsize::new(0),
            lists: AtomicUsize::new(0),
            looks: AtomicUsize::new(0),
            changed: watch::channel(()).0,
            released: watch::channel(false).0,
        }))
    }

    pub(crate) fn usually(&self, usually: Start) {
        self.script().usually = usually;
    }

    pub(crate) fn next(&self, starts: impl IntoIterator<Item = Start>) {
        self.script().starts.extend(starts);
    }

    pub(crate) fn probe(&self, probe: Probe) {
        self.script().probe = probe;
    }

    pub(crate) fn without_session(&self) {
        self.script().is_probed = false;
    }

    pub(crate) fn tools(&self, tools: impl IntoIterator<Item = RawTool>) {
        self.script().tools = tools.into_iter().collect();
    }

    /// Does this while the next request for a page is being answered.
    pub(crate) fn within_list(&self, work: impl FnOnce() + Send + 'static) {
        self.script().within_list = Some(Box::new(work));
    }

    pub(crate) fn without_events(&self) {
        self.script().is_quiet = true;
    }

    /// Loses the answers to so many requests for a page.
    pub(crate) fn lose_lists(&self, lists: usize) {
        self.script().lost_lists = lists;
    }

    pub(crate) fn become_another(&self, name: &str) {
        self.script().identity = ServerIdentity::of([("command", name)]);
    }

    /// Answers all calls, now and from now on.
    pub(crate) fn release(&self) {
        self.0.released.send_replace(true);
    }

    pub(crate) fn starts(&self) -> usize {
        self.script().log.len()
    }

    pub(crate) fn start_times(&self) -> Vec<Instant> {
        self.script().log.clone()
    }

    pub(crate) fn probes(&self) -> usize {
        self.0.probes.load(Ordering::SeqCst)
    }

    pub(crate) fn lists(&self) -> usize {
        self.0.lists.load(Ordering::SeqCst)
    }

    /// How often somebody asked what server this is.
    pub(crate) fn looks(&self) -> usize {
        self.0.looks.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> usize {
        self.script().links.iter().filter(|link| !link.is_closed()).count()
    }

    pub(crate) fn starting(&self) -> usize {
        self.0.starting.load(Ordering::SeqCst)
    }

    /// The connection that was made last.
    pub(crate) fn link(&self) -> Arc<Link> {
        Arc::clone(self.script().links.last().expect("one was made"))
    }

    /// Waits until this is so; something must change for it to become so.
    pub(crate) async fn until(&self, what: impl Fn(&Self) -> bool) {
        let mut changed = self.0.changed.subscribe();
        let waited = timeout(AGES * 24, changed.wait_for(|()| what(self))).await;
        assert!(waited.is_ok(), "it did not come about");
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.script.lock().unwrap()
    }

    fn note(&self) {
        self.0.changed.send_replace(());
    }
}

/// Counts starts under way, however they end.
struct Starting<'a>(&'a Server);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.0.starting.fetch_sub(1, Ordering::SeqCst);
        self.0.note();
    }
}

#[async_trait::async_trait]
impl Connector for Server {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        assert_eq!(self.0.starting.fetch_add(1, Ordering::SeqCst), 0, "two starts at once");
        let _starting = Starting(self);
        assert_eq!(self.open(), 0, "a start beside an open connection");
        let start = {
            let mut script = self.script();
            script.log.push(Instant::now());
            let usually = script.usually;
            script.starts.pop_front().unwrap_or(usually)
        };
        self.note();
        match start {
            Start::Refused => return Err(TransportError::connect("refused")),
            Start::RefusedSlowly(time) => {
                sleep(time).await;
                return Err(TransportError::connect("refused"));
            }
            Start::Missing => return Err(TransportError::command_not_found("missing")),
            Start::Hangs => std::future::pending().await,
            Start::Slow(time) => sleep(time).await,
            Start::Well | Start::Crashes | Start::Lives(_) | Start::Mute => {}
        }
        let link = Arc::new(Link {
            server: self.clone(),
            start,
            closed: AtomicBool::new(false),
            ended: watch::channel(false).0,
            events: EventSender::default(),
            calls: watch::channel(0).0,
        });
        self.script().links.push(Arc::clone(&link));
        if let Start::Lives(time) = start {
            let link = Arc::downgrade(&link);
            tokio::spawn(async move {
                sleep(time).await;
                if let Some(link) = link.upgrade() {
                    link.end();
                }
            });
        }
        Ok(link)
    }

    fn identity(&self) -> ServerIdentity {
        self.0.looks.fetch_add(1, Ordering::SeqCst);
        self.script().identity.clone()
    }
}

/// One connection to the server.
pub(crate) struct Link {
    server: Server,
    start: Start,
    closed: AtomicBool,
    ended: watch::Sender<bool>,
    events: EventSender,
    calls: watch::Sender<usize>,
}

impl Link {
    /// Ends the connection from the server's side.
    pub(crate) fn end(&self) {
        if !self.closed.swap(true, Ordering::SeqCst) {
            self.ended.send_replace(true);
            self.events.send(Event::Closed);
            self.server.note();
        }
    }

    pub(crate) fn tell(&self, event: Event) {
        self.events.send(event);
    }

    /// Waits until so many calls have arrived.
    pub(crate) async fn has_calls(&self, calls: usize) {
        self.calls.subscribe().wait_for(|arrived| *arrived >= calls).await.unwrap();
    }
}

#[async_trait::async_trait]
impl Transport for Link {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let open = async { if self.is_closed() { Err(TransportError::closed()) } else { Ok(()) } };
        call.attempt(open, |_, ()| async {
            self.calls.send_modify(|calls| *calls += 1);
            let (mut released, mut ended) = (self.server.0.released.subscribe(), self.ended.subscribe());
            tokio::select! {
                biased;
                _ = ended.wait_for(|ended| *ended) => Err(TransportError::lost()),
                _ = released.wait_for(|released| *released) => Ok(CallToolResult::success(vec![]).into()),
            }
        })
        .await
    }

    async fn list_tools(&self, _: Option<Cursor>) -> Result<ToolPage, TransportError> {
        if self.is_closed() {
            return Err(TransportError::closed());
        }
        self.server.0.lists.fetch_add(1, Ordering::SeqCst);
        self.server.note();
        let hangs = self.start == Start::Mute || self.server.script().probe == Probe::Hangs;
        let mut ended = self.ended.subscribe();
        if hangs {
            let _ = ended.wait_for(|ended| *ended).await;
            return Err(TransportError::lost());
        }
        let within = self.server.script().within_list.take();
        within.into_iter().for_each(|work| work());
        let tools = {
            let mut script = self.server.script();
            if script.lost_lists > 0 {
                script.lost_lists -= 1;
                return Err(TransportError::lost());
            }
            script.tools.clone()
        };
        if self.start == Start::Crashes {
            self.end();
        }
        Ok(ToolPage { tools, next: None })
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    async fn close(&self) -> Fence {
        self.end();
        Fence::GroupGone
    }

    async fn probe(&self) -> Result<(), TransportError> {
        self.server.0.probes.fetch_add(1, Ordering::SeqCst);
        self.server.note();
        let probe = self.server.script().probe;
        match probe {
            Probe::Answered => Ok(()),
            Probe::Rejected => Err(TransportError::rejected(-32601)),
            Probe::Hangs => std::future::pending().await,
            Probe::Fails => Err(TransportError::lost()),
            Probe::SessionLost => Err(TransportError::session_lost().in_doubt()),
        }
    }

    fn is_probed(&self) -> bool {
        self.server.script().is_probed
    }

    fn events(&self) -> Events {
        if self.server.script().is_quiet {
            return Events::quiet();
        }
        let events = self.events.subscribe();
        if self.is_closed() { Events::closed() } else { events }
    }
}

/// A tool with these further fields, as JSON.
pub(crate) fn tool(name: &str, fields: &str) -> RawTool {
    let mut tool: serde_json::Value = serde_json::from_str(fields).unwrap();
    tool["name"] = name.into();
    if tool.get("inputSchema").is_none() {
        tool["inputSchema"] = serde_json::json!({"type": "object"});
    }
    RawTool::new(serde_json::value::to_raw_value(&tool).unwrap())
}

/// How many tasks are there.
pub(crate) fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Waits for a state of the server.
pub(crate) async fn state(server: &SupervisedDiscovery, wanted: impl Fn(State) -> bool) -> Status {
    let mut watch = server.watch();
    let status = timeout(AGES * 24, watch.wait_for(|status| wanted(status.state))).await;
    status.expect("the state came about").expect("the server is watched over").clone()
}

/// Waits until the server is ready over another connection than this.
pub(crate) async fn replaced(server: &SupervisedDiscovery, before: ConnectionId) -> Status {
    let mut watch = server.watch();
    let another = |status: &Status| status.connection > Some(before) && status.state == State::Ready;
    let status = timeout(AGES * 24, watch.wait_for(another)).await;
    status.expect("there is another").expect("the server is watched over").clone()
}

/// Writes down the codes of the states that the server goes through.
pub(crate) fn history(server: &SupervisedDiscovery) -> Arc<Mutex<Vec<&'static str>>> {
    let mut watch = server.watch();
    let history = Arc::new(Mutex::new(vec![code(&watch.borrow_and_update())]));
    let written = Arc::clone(&history);
    tokio::spawn(async move {
        while watch.changed().await.is_ok() {
            let state = code(&watch.borrow_and_update());
            let mut written = written.lock().unwrap();
            if written.last() != Some(&state) {
                written.push(state);
            }
        }
    });
    history
}

/// The code of a state; that of its reason when the server is down.
pub(crate) fn code(status: &Status) -> &'static str {
    match status.state {
        State::Down { reason, .. } => reason.code(),
        state => state.code(),
    }
}
