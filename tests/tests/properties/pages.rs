//! A server in memory that lists what it is told to, and writes down what it has listed.

use std::sync::{Arc, Mutex, MutexGuard};

use mcp_tool::{
    CallReply, Connector, ToolCall, Transport, TransportError,
    mcp_transport::{Cursor, Fence, RawTool, ToolPage},
};

/// What becomes of one request for a page.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Page {
        tools: Vec<String>,
        next: Option<String>,
    },
    /// A JSON-RPC error of this code.
    Reject(i32),
    /// The request is lost, and the connection is not.
    Lose,
    /// The connection ends.
    Die,
    /// Nothing ever comes.
    Hang,
}

/// One request for a page: what it asked for, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) cursor: Option<String>,
    pub(crate) step: Step,
}

/// Clones are the same server. When its steps are used up, it lists one healthy page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lister(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    steps: Vec<Step>,
    asked: Vec<Asked>,
    connects: usize,
    open: usize,
}

impl Lister {
    /// Takes these steps, one for each request, whatever it asks for.
    pub(crate) fn new(mut steps: Vec<Step>) -> Self {
        steps.reverse();
        Self(Arc::new(Mutex::new(State { steps, ..State::default() })))
    }

    /// The only tool of a server whose steps are used up.
    pub(crate) const HEALTHY: &str = r#"{"name":"healthy","inputSchema":{}}"#;

    /// The requests so far, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    /// Leaves out the steps that are left.
    pub(crate) fn heal(&self) {
        self.state().steps.clear();
    }

    pub(crate) fn connects(&self) -> usize {
        self.state().connects
    }

    /// Connections that nobody has closed.
    pub(crate) fn open(&self) -> usize {
        self.state().open
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nobody panics with it")
    }
}

#[async_trait::async_trait]
impl Connector for Lister {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        let mut state = self.state();
        state.connects += 1;
        state.open += 1;
        Ok(Arc::new(Link { lister: self.clone(), closed: Mutex::new(false) }))
    }
}

struct Link {
    lister: Lister,
    closed: Mutex<bool>,
}

impl Link {
    fn end(&self) {
        let mut closed = self.closed.lock().expect("nobody panics with it");
        if !std::mem::replace(&mut *closed, true) {
            self.lister.state().open -= 1;
        }
    }
}

#[async_trait::async_trait]
impl Transport for Link {
    async fn call_tool(&self, _: ToolCall) -> Result<CallReply, TransportError> {
        panic!("a discovery calls no tool")
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        let step = {
            let mut state = self.lister.state();
            let healthy = || Step::Page { tools: vec![Lister::HEALTHY.to_owned()], next: None };
            let step = state.steps.pop().unwrap_or_else(healthy);
            let cursor = cursor.as_ref().map(|cursor| cursor.as_str().to_owned());
            state.asked.push(Asked { cursor, step: step.clone() });
            step
        };
        match step {
            Step::Page { tools, next } => {
                let raw = |json: &String| RawTool::new(serde_json::from_str(json).expect("it is JSON"));
                let page = ToolPage { tools: tools.iter().map(raw).collect(), next: None };
                Ok(match next {
                    Some(next) => page.with_next(next),
                    None => page,
                })
            }
            Step::Reject(code) => Err(TransportError::rejected(code)),
            Step::Lose => Err(TransportError::lost()),
            Step::Die => {
                self.end();
                Err(TransportError::lost())
            }
            Step::Hang => std::future::pending().await,
        }
    }

    fn is_closed(&self) -> bool {
        *self.closed.lock().expect("nobody panics with it")
    }

    async fn close(&self) -> Fence {
        self.end();
        Fence::None
    }
}
