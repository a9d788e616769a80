//! A server that misbehaves on request and keeps a log of what reached it.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mcp_discovery::PagingDiscovery;
use mcp_transport::{
    CallReply, Connector, Cursor, ErrorClass, Event, EventSender, Events, Fence, RawTool, ServerIdentity,
    ToolCall, ToolPage, Transport, TransportError,
};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

/// What the server does with one connect, one request of a page or one close; by default it is `Well`.
pub(crate) enum Step {
    Well,
    Fail(TransportError),
    /// Ends the connection and fails.
    Die,
    /// Waits until the test calls [`Server::release`], then does well.
    Hold,
    /// Never does anything.
    Hang,
    /// Does well after this time.
    Slow(Duration),
}

type Pages = dyn Fn(Option<&str>) -> ToolPage + Send + Sync;

/// Clones are the same server.
#[derive(Clone)]
pub(crate) struct Server(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    logged: watch::Sender<()>,
    released: watch::Sender<bool>,
    /// Held by each connect under way.
    connecting: Arc<()>,
}

struct State {
    log: Vec<(Instant, String)>,
    pages: Arc<Pages>,
    connects: VecDeque<Step>,
    lists: VecDeque<Step>,
    closes: VecDeque<Step>,
    links: Vec<Arc<Link>>,
    cursors: Vec<Option<Cursor>>,
    identities: VecDeque<ServerIdentity>,
    fence: Fence,
    class: Option<ErrorClass>,
}

impl Server {
    /// A server with the one tool `put`.
    pub(crate) fn new() -> Self {
        let server = Self(Arc::new(Inner {
            state: Mutex::new(State {
                log: Vec::new(),
                pages: Arc::new(|_| ToolPage::default()),
                connects: VecDeque::new(),
                lists: VecDeque::new(),
                closes: VecDeque::new(),
                links: Vec::new(),
                cursors: Vec::new(),
                identities: VecDeque::new(),
                fence: Fence::None,
                class: None,
            }),
            logged: watch::channel(()).0,
            released: watch::channel(false).0,
            connecting: Arc::default(),
        }));
        server.serve(|_| page(&[tool("put")]));
        server
    }

    pub(crate) fn discovery(&self) -> PagingDiscovery<Self> {
        PagingDiscovery::new(self.clone())
    }

    /// From now on, lists these pages, as they are when a request arrives.
    pub(crate) fn serve(&self, pages: impl Fn(Option<&str>) -> ToolPage + Send + Sync + 'static) {
        self.state().pages = Arc::new(pages);
    }

    pub(crate) fn on_connect(&self, steps: impl IntoIterator<Item = Step>) {
        self.state().connects.extend(steps);
    }

    pub(crate) fn on_list(&self, steps: impl IntoIterator<Item = Step>) {
        self.state().lists.extend(steps);
    }

    pub(crate) fn on_close(&self, steps: impl IntoIterator<Item = Step>) {
        self.state().closes.extend(steps);
    }

    /// What closing a connection reports.
    pub(crate) fn fence_with(&self, fence: Fence) {
        self.state().fence = fence;
    }

    /// Classifies every error like this, whatever it was born with.
    pub(crate) fn classify_as(&self, class: ErrorClass) {
        self.state().class = Some(class);
    }

    /// What the connector says it reaches, one answer after the other; the last one stays.
    pub(crate) fn identify_as(&self, identities: impl IntoIterator<Item = ServerIdentity>) {
        self.state().identities.extend(identities);
    }

    /// Lets go everything that holds, now and later.
    pub(crate) fn release(&self) {
        self.0.released.send_replace(true);
    }

    /// What reached the server, in order: `connect 1`, `list 1`, `close 1`, `closed 1`, numbered by connect;
    /// and `overlap` before a connect that comes while another connection is made or open.
    pub(crate) fn log(&self) -> Vec<String> {
        self.state().log.iter().map(|(_, entry)| entry.clone()).collect()
    }

    /// When this was logged, in order.
    pub(crate) fn times(&self, entry: &str) -> Vec<Instant> {
        let state = self.state();
        state.log.iter().filter(|(_, logged)| logged.starts_with(entry)).map(|(at, _)| *at).collect()
    }

    pub(crate) fn count(&self, entry: &str) -> usize {
        self.times(entry).len()
    }

    /// Waits until this has been logged so many times; fails when that does not come.
    pub(crate) async fn until(&self, entry: &str, times: usize) {
        let mut logged = self.0.logged.subscribe();
        let logged = logged.wait_for(|()| self.count(entry) >= times);
        let came = timeout(Duration::from_secs(20), logged).await;
        assert!(came.is_ok(), "{entry} did not come {times} times: {:?}", self.log());
    }

    /// The connection of this number, counted from 1.
    pub(crate) fn link(&self, number: usize) -> Arc<Link> {
        let state = self.state();
        Arc::clone(state.links.iter().find(|link| link.number == number).expect("it was made"))
    }

    /// Holds no connection any more.
    pub(crate) fn forget_links(&self) {
        self.state().links.clear();
    }

    /// The number of the newest connection that was made; 0 before the first.
    pub(crate) fn newest(&self) -> usize {
        self.state().links.last().map_or(0, |link| link.number)
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> usize {
        self.state().links.iter().filter(|link| !link.is_closed()).count()
    }

    /// The cursors that were asked for.
    pub(crate) fn cursors(&self) -> Vec<Option<String>> {
        let cursor = |cursor: &Option<Cursor>| cursor.as_ref().map(|cursor| cursor.as_str().to_owned());
        self.state().cursors.iter().map(cursor).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    fn note(&self, entry: String) {
        self.state().log.push((Instant::now(), entry));
        self.0.logged.send_replace(());
    }

    async fn act(&self, step: Option<Step>) -> Result<(), TransportError> {
        match step.unwrap_or(Step::Well) {
            Step::Well => Ok(()),
            Step::Fail(error) => Err(error),
            Step::Die => Err(TransportError::lost()),
            Step::Hold => {
                self.0.released.subscribe().wait_for(|released| *released).await.unwrap();
                Ok(())
            }
            Step::Hang => std::future::pending().await,
            Step::Slow(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
        }
    }
}

#[async_trait::async_trait]
impl Connector for Server {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        let number = self.count("connect") + 1;
        if self.open() > 0 || Arc::strong_count(&self.0.connecting) > 1 {
            self.note("overlap".to_owned());
        }
        let _connecting = Arc::clone(&self.0.connecting);
        self.note(format!("connect {number}"));
        let step = self.state().connects.pop_front();
        let outcome = self.act(step).await;
        let (server, closed, events) =
            (self.clone(), AtomicBool::new(outcome.is_err()), EventSender::default());
        let link = Arc::new(Link { number, server, closed, events });
        self.state().links.push(Arc::clone(&link));
        outcome.map(|()| link as Arc<dyn Transport>)
    }

    fn identity(&self) -> ServerIdentity {
        let identities = &mut self.state().identities;
        match identities.len() {
            0 => ServerIdentity::unspecified(),
            1 => identities[0].clone(),
            _ => identities.pop_front().unwrap(),
        }
    }
}

/// One connection to the server.
pub(crate) struct Link {
    number: usize,
    server: Server,
    closed: AtomicBool,
    events: EventSender,
}

impl Link {
    /// Ends the connection from the server's side.
    pub(crate) fn disconnect(&self) {
        self.closed.store(true, Ordering::Release);
        self.events.send(Event::Closed);
    }

    pub(crate) fn tell(&self, event: Event) {
        self.events.send(event);
    }
}

#[async_trait::async_trait]
impl Transport for Link {
    async fn call_tool(&self, _: ToolCall) -> Result<CallReply, TransportError> {
        panic!("a discovery calls no tool")
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        self.server.note(format!("list {}", self.number));
        if self.is_closed() {
            return Err(TransportError::closed());
        }
        let (step, pages) = {
            let mut state = self.server.state();
            state.cursors.push(cursor.clone());
            (state.lists.pop_front(), Arc::clone(&state.pages))
        };
        let page = pages(cursor.as_ref().map(Cursor::as_str));
        if matches!(step, Some(Step::Die)) {
            self.disconnect();
        }
        self.server.act(step).await.map(|()| page)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    async fn close(&self) -> Fence {
        self.server.note(format!("close {}", self.number));
        let (step, fence) = {
            let mut state = self.server.state();
            (state.closes.pop_front(), state.fence)
        };
        self.server.act(step).await.unwrap();
        self.disconnect();
        self.server.note(format!("closed {}", self.number));
        fence
    }

    fn classify(&self, error: &TransportError) -> ErrorClass {
        self.server.state().class.unwrap_or(error.class())
    }

    fn events(&self) -> Events {
        self.events.subscribe()
    }
}

pub(crate) fn raw(json: &str) -> RawTool {
    RawTool::new(serde_json::from_str(json).unwrap())
}

pub(crate) fn tool(name: &str) -> RawTool {
    raw(&format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#))
}

pub(crate) fn page(tools: &[RawTool]) -> ToolPage {
    ToolPage { tools: tools.to_vec(), next: None }
}
