use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use rmcp::{
    ClientHandler,
    model::{CancelledNotificationParam, ServerPeerInfo},
    service::{ClientLifecycleMode, Peer, RoleClient, serve_client_with_lifecycle},
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
    },
};
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::response::refused_handshake;
use crate::{
    CallReply, Cursor, Events, Fence, TaskReply, TaskRequest, ToolCall, ToolPage, Transport, TransportError,
    handshake::listen_for_changes,
    request::{
        Answers, Arrival, Carrier, Extent, Host, Questions, Requests, Tap, call_tool, list_tools, task,
    },
};

/// How long the server may take to end its session.
const FAREWELL: Duration = Duration::from_secs(6);
/// How long telling the server of a cancellation may take.
const CANCELLATION: Duration = Duration::from_secs(5);

type Closing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One session with a server over Streamable HTTP (or, from 2026-07-28 on, a connection without one).
///
/// A lost response does not end it. It is closed when the server no longer knows the session, and ends
/// with its last user; nothing is known then of what the server still does ([`Fence::None`]).
pub struct HttpTransport {
    peer: Peer<RoleClient>,
    carrier: HttpCarrier,
    list_timeout: Duration,
    tasks: Vec<JoinHandle<()>>,
    /// Owns rmcp's service; running it ends the session.
    closing: Mutex<Option<Closing>>,
}

/// The requests of one connection, and the way to tell the server that one is no longer wanted.
struct HttpCarrier {
    requests: Arc<Requests>,
    cancellations: mpsc::UnboundedSender<rmcp::model::RequestId>,
}

pub(super) struct Session<C> {
    pub(super) client: C,
    pub(super) requests: Arc<Requests>,
    pub(super) config: StreamableHttpClientTransportConfig,
    pub(super) connect_timeout: Duration,
    pub(super) list_timeout: Duration,
}

impl HttpTransport {
    pub(super) async fn establish<C, H>(
        session: Session<C>,
        handler: H,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, TransportError>
    where
        C: StreamableHttpClient + Sync,
        H: ClientHandler,
    {
        let worker = StreamableHttpClientTransport::with_client(session.client, session.config);
        let asked = session.requests.asked();
        let handler = Host::new(handler, session.requests.questions().clone(), asked.clone());
        let worker = Answers::of(worker, asked.clone());
        let shaking_hands = serve_client_with_lifecycle(handler, worker, lifecycle);
        let mut service = match timeout(session.connect_timeout, shaking_hands).await {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => return Err(refused_handshake(error)),
            Err(_) => return Err(TransportError::connect_timeout()),
        };
        let peer = service.peer().clone();
        let (cancellations, cancelled) = mpsc::unbounded_channel();
        let mut tasks = vec![tokio::spawn(tell_cancellations(peer.clone(), cancelled))];
        tasks.extend(listen_for_changes(&peer));
        Ok(Self {
            peer,
            carrier: HttpCarrier { requests: session.requests, cancellations },
            list_timeout: session.list_timeout,
            tasks,
            closing: Mutex::new(Some(Box::pin(async move {
                // Not ending in time, or in order, changes nothing for us.
                let _ = service.close_with_timeout(FAREWELL).await;
            }))),
        })
    }

    /// What the server said of itself in the handshake.
    pub fn server(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// rmcp's peer, for everything that is not a tool. A tool that is called through it is outside every
    /// guarantee of this crate.
    pub fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    /// From 2026-07-28 on rmcp writes headers from a call's arguments, so it has to see them.
    fn needs_arguments(&self) -> bool {
        self.peer.peer_info().is_some_and(|server| !server.protocol_version.has_initialize())
    }
}

async fn tell_cancellations(
    peer: Peer<RoleClient>,
    mut cancelled: mpsc::UnboundedReceiver<rmcp::model::RequestId>,
) {
    while let Some(id) = cancelled.recv().await {
        let params = CancelledNotificationParam::new(Some(id), Some("the caller gave up".to_owned()));
        // The server learns it or not: the call has ended either way.
        let _ = timeout(CANCELLATION, peer.notify_cancelled(params)).await;
    }
}

impl Carrier for HttpCarrier {
    fn questions(&self) -> &Questions {
        self.requests.questions()
    }

    fn open(&self, call: Option<ToolCall>) -> Result<(Arc<Tap>, oneshot::Receiver<Arrival>), TransportError> {
        self.requests.open(call)
    }

    fn answered(&self, tap: &Tap) {
        self.requests.forget(tap);
    }

    fn give_up(&self, tap: &Arc<Tap>) -> Extent {
        let extent = tap.seal();
        if let Some(id) = self.requests.forget(tap)
            && extent == Extent::Whole
        {
            // An error only says that the connection has ended.
            let _ = self.cancellations.send(id);
        }
        extent
    }
}

#[async_trait]
impl Transport for HttpTransport {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let arguments = if self.needs_arguments() { call.arguments().cloned() } else { None };
        call_tool(&self.carrier, &self.peer, call, arguments).await
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        let page = list_tools(&self.carrier, &self.peer, cursor, self.list_timeout).await;
        page.map_err(lost_session)
    }

    async fn task(&self, request: TaskRequest) -> Result<TaskReply, TransportError> {
        task(&self.carrier, &self.peer, request, self.list_timeout).await.map_err(lost_session)
    }

    fn is_closed(&self) -> bool {
        self.carrier.requests.is_ended() || self.peer.is_transport_closed()
    }

    async fn close(&self) -> Fence {
        self.carrier.requests.end();
        if let Some(closing) = self.closing.lock().await.take() {
            closing.await;
        }
        Fence::None
    }

    async fn retire(&self) -> Fence {
        self.carrier.requests.refuse_further();
        Fence::None
    }

    fn is_probed(&self) -> bool {
        self.carrier.requests.is_in_session()
    }

    fn events(&self) -> Events {
        self.carrier.requests.subscribe()
    }
}

/// A server that lost the session may say so in its own way (400 is common). Asking again for what runs no
/// tool costs nothing, so the connection is taken for lost.
fn lost_session(error: TransportError) -> TransportError {
    match error.kind() {
        // Asked to wait, it knows the session.
        crate::ErrorKind::HttpStatus(408 | 429) => error,
        crate::ErrorKind::HttpStatus(400..500) => TransportError::session_lost().in_doubt(),
        _ => error,
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.carrier.requests.end();
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}
