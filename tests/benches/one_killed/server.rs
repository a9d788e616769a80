//! A server in memory that can be killed: it answers `put` at once, and `wait` and `keep` when it is
//! released. It says of `wait` that it may run again.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use mcp_tool::{
    CancellationToken, Connector, StdioTransport, Transport, TransportError,
    rmcp::service::ClientLifecycleMode,
};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream},
    sync::watch,
};

const INITIALIZED: &str = concat!(
    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"#,
    r#""serverInfo":{"name":"line-server","version":"1"}}"#
);
const LISTED: &str = concat!(
    r#""result":{"tools":[{"name":"put","inputSchema":{"type":"object"}},"#,
    r#"{"name":"keep","inputSchema":{"type":"object"}},"#,
    r#"{"name":"wait","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}]}"#
);
const CALLED: &str = r#""result":{"content":[{"type":"text","text":"stored"}],"isError":false}"#;

/// One server and all its lives. Clones are the same server.
#[derive(Clone)]
pub(crate) struct Server(Arc<Inner>);

struct Inner {
    lives: AtomicUsize,
    /// How many calls wait in this life.
    waiting: watch::Sender<usize>,
    released: watch::Sender<bool>,
    life: Mutex<CancellationToken>,
}

#[derive(Deserialize)]
struct Request<'a> {
    /// Absent from a notification.
    id: Option<u64>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: Option<&'a str>,
}

impl Params<'_> {
    fn waits(&self) -> bool {
        self.name.is_some_and(|name| ["keep", "wait"].contains(&name))
    }
}

impl Server {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            lives: AtomicUsize::new(0),
            waiting: watch::channel(0).0,
            released: watch::channel(false).0,
            life: Mutex::default(),
        }))
    }

    pub(crate) fn lives(&self) -> usize {
        self.0.lives.load(Ordering::Relaxed)
    }

    /// Ends the present life, with all that wait in it.
    pub(crate) fn kill(&self) {
        self.0.waiting.send_replace(0);
        self.0.life.lock().expect("nobody panics").cancel();
    }

    /// Waits until so many calls wait.
    pub(crate) async fn has_waiting(&self, calls: usize) {
        let mut waiting = self.0.waiting.subscribe();
        waiting.wait_for(|waiting| *waiting == calls).await.expect("the server is here");
    }

    /// Answers all that wait, or lets those who come wait again.
    pub(crate) fn release(&self, released: bool) {
        self.0.waiting.send_replace(0);
        self.0.released.send_replace(released);
    }

    /// Begins a life.
    pub(crate) fn begin(&self) -> DuplexStream {
        self.0.lives.fetch_add(1, Ordering::Relaxed);
        let life = CancellationToken::new();
        *self.0.life.lock().expect("nobody panics") = life.clone();
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(self.clone().serve(theirs, life));
        ours
    }

    async fn serve(self, stream: DuplexStream, life: CancellationToken) {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut lines = BufReader::with_capacity(64 * 1024, reader).lines();
        let mut released = self.0.released.subscribe();
        let mut waiting = Vec::new();
        loop {
            let mut answers = String::new();
            tokio::select! {
                biased;
                () = life.cancelled() => return,
                _ = released.wait_for(|released| *released), if !waiting.is_empty() => {
                    waiting.drain(..).for_each(|id| answers += &answer(id, CALLED));
                }
                line = lines.next_line() => {
                    let Ok(Some(line)) = line else { return };
                    let request: Request<'_> = serde_json::from_str(&line).expect("a request");
                    match (request.id, request.method) {
                        (None, _) => {}
                        (Some(id), "initialize") => answers = answer(id, INITIALIZED),
                        (Some(id), "tools/list") => answers = answer(id, LISTED),
                        (Some(id), _) if request.params.is_some_and(|params| params.waits()) => {
                            waiting.push(id);
                            self.0.waiting.send_modify(|waiting| *waiting += 1);
                        }
                        (Some(id), _) => answers = answer(id, CALLED),
                    }
                }
            }
            if writer.write_all(answers.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

fn answer(id: u64, body: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}\n")
}

#[async_trait]
impl Connector for Server {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        let (reader, writer) = tokio::io::split(self.begin());
        let connected = StdioTransport::over(reader, writer, (), ClientLifecycleMode::Initialize);
        Ok(Arc::new(connected.await?))
    }
}
