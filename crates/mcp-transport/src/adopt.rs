mod in_flight;

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use async_trait::async_trait;
use rmcp::{
    ServiceError,
    model::{
        CallToolRequest, CancelledNotificationParam, ClientRequest, Extensions, ListToolsRequest,
        PaginatedRequestParams, RequestId,
    },
    service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, RunningService, Service},
};
use tokio::{
    runtime::Handle,
    task::{JoinSet, coop::unconstrained},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use self::in_flight::{Answered, InFlight, Response};
use crate::{
    CallReply, Cursor, Fence, TaskReply, TaskRequest, ToolCall, ToolPage, Transport, TransportError, answer,
};

/// How long rmcp may take to forget a request that was given up.
const FORGET: Duration = Duration::from_secs(5);

/// A connection that a host already runs on rmcp, as a [`Transport`].
///
/// Each call is one raw request: never a cached list, never a second round, and a task keeps its id.
/// Deadline and cancellation are kept here, outside of rmcp, so a call ends even where rmcp's own timers
/// do not fire; the server is told with `notifications/cancelled` if rmcp still takes it.
///
/// # What can be told
///
/// | fact | class | delivery |
/// |---|---|---|
/// | this transport or rmcp's service was closed before; cut or withdrawn before rmcp's queue took the request | as it is | unsent |
/// | `TransportClosed` with the request in flight; the service ended; [`close`](Transport::close) | connection | unknown |
/// | `TransportSend`, when a [`std::io::Error`] is among its causes | connection | unknown |
/// | rmcp's timeout without progress; the deadline | other | unknown |
/// | cancelled, by the caller or by the host through rmcp | abort | unknown |
/// | `McpError` | an answer | - |
/// | anything else | other | unknown |
///
/// The guard is asked directly before the request enters rmcp's queue, which is not directly before the
/// first byte: nobody can tell when that leaves. Progress resets the idle timeout inside rmcp; it goes to
/// the host's own handler and not to [`ToolCall::with_progress`]. Where rmcp cannot write its cancellation
/// (below, R19), a call that is idle ends only by its deadline. Events are the handler's, too:
/// [`events`](Transport::events) stays quiet, and an end is seen by [`is_closed`](Transport::is_closed).
/// What the server asks is asked of the host by rmcp alone: it goes on after the connection was lost, and
/// the idle timeout does not wait for it.
///
/// # Hazards that stay open
///
/// What happens below rmcp's service loop cannot be seen from above it. Over an adopted connection
/// - a session that expired is opened again and the call is **sent again** (R1), unless the host switched
///   `reinit_on_expired_session` off; calls orphaned by that end in an `McpError` that looks like an
///   answer (R2). The same for a token that is refreshed (R10) and a redirect that is followed (R11);
/// - no proof of unsent can be given for what was handed over (R3, R4), and what waits in rmcp's queues
///   may still leave after the call has returned (R23);
/// - a resumption over SSE goes on up to the call's deadline (R8), and so does a reply over rmcp's limit
///   of a line (R9);
/// - what ends with a process or its pipes is the host's: descendants (R15), a server that stops reading
///   (R18; here the call and the close are bounded, the task inside rmcp is not), the seconds that rmcp
///   takes to notice a dead server (R20);
/// - with HTTP, `is_closed` stays false whatever the server does (R21); idle connections may be pooled
///   (R16); tools whose headers are malformed are missing from a page (R17), as are headers from calls
///   before the first listing (R24).
///
/// Where any of them matters, let a connector of this crate make the connection.
///
/// ```no_run
/// use mcp_transport::{AdoptedService, rmcp::{RoleClient, model::ClientConfig, service::RunningService}};
///
/// fn adopt(service: RunningService<RoleClient, ClientConfig>) -> AdoptedService {
///     AdoptedService::new(service)
/// }
/// ```
pub struct AdoptedService {
    peer: Peer<RoleClient>,
    /// None when the service is the host's to end.
    service: tokio::sync::Mutex<Option<Box<dyn End>>>,
    closed: CancellationToken,
    retired: AtomicBool,
    list_timeout: Duration,
    close_timeout: Duration,
    /// Requests that were given up and that rmcp still knows.
    leaving: Mutex<JoinSet<()>>,
}

impl AdoptedService {
    /// Takes the service over: it ends with [`close`](Transport::close), or when this is dropped.
    pub fn new<S: Service<RoleClient>>(service: RunningService<RoleClient, S>) -> Self {
        let peer = service.peer().clone();
        Self { service: tokio::sync::Mutex::new(Some(Box::new(service))), ..Self::from_peer(peer) }
    }

    /// Shares a service that the host keeps: closing ends the calls made here, and nothing else.
    pub fn from_peer(peer: Peer<RoleClient>) -> Self {
        Self {
            peer,
            service: tokio::sync::Mutex::new(None),
            closed: CancellationToken::new(),
            retired: AtomicBool::new(false),
            list_timeout: Duration::from_secs(30),
            close_timeout: Duration::from_secs(10),
            leaving: Mutex::default(),
        }
    }

    /// How long one page of the tools may take. Default: 30 s.
    #[must_use]
    pub fn with_list_timeout(mut self, timeout: Duration) -> Self {
        self.list_timeout = timeout;
        self
    }

    /// How long rmcp may take to close its transport. Default: 10 s; a child of rmcp's that does not end
    /// by itself needs six.
    #[must_use]
    pub fn with_close_timeout(mut self, timeout: Duration) -> Self {
        self.close_timeout = timeout;
        self
    }

    /// rmcp's peer, for everything that is not a tool.
    ///
    /// A tool that is called through it is outside every guarantee of this crate.
    pub fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    /// One request, under the bounds of this call. The idle timeout is rmcp's.
    async fn exchange(&self, bounds: &ToolCall, request: ClientRequest) -> Result<Answered, TransportError> {
        if self.is_closed() {
            return Err(TransportError::closed());
        }
        let mut options = PeerRequestOptions::no_options();
        options.timeout = bounds.idle_timeout();
        options.reset_timeout_on_progress = true;
        let outer = bounds.clone().without_idle_timeout();
        let handle = {
            let enqueued = pin!(self.enqueued(bounds, request, options));
            outer.bounded(enqueued).await
        };
        let handle = match handle {
            Ok(handle) => handle?,
            Err(cut) => return Err(TransportError::from(cut).proven_unsent()),
        };
        let mut in_flight = InFlight::new(self, handle.id.clone(), Box::pin(handle.await_response()));
        outer.bounded(pin!(in_flight.answered())).await?
    }

    /// Waits for room in rmcp's queue. The guard is asked again before each try, and a try that does not
    /// succeed leaves nothing behind.
    async fn enqueued(
        &self,
        bounds: &ToolCall,
        request: ClientRequest,
        options: PeerRequestOptions,
    ) -> Result<RequestHandle<RoleClient>, TransportError> {
        let mut entering = pin!(self.peer.send_request_with_option(request, options));
        poll_fn(|cx| {
            bounds.may_send()?;
            entering.as_mut().poll(cx).map_err(|error| match error {
                ServiceError::TransportClosed => TransportError::closed(),
                error => TransportError::other(error),
            })
        })
        .await
    }

    /// Tells the server, if rmcp's queue has room: one try, and no wait.
    fn tell_cancelled(&self, id: RequestId) {
        let params = CancelledNotificationParam::new(Some(id), Some("the caller gave up".to_owned()));
        let telling = pin!(unconstrained(self.peer.notify_cancelled(params)));
        let _ = telling.poll(&mut Context::from_waker(Waker::noop()));
    }

    /// rmcp keeps a watcher for each request until its response has been waited for to the end.
    fn let_go(&self, response: Response) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        while leaving.try_join_next().is_some() {}
        leaving.spawn_on(async { drop(timeout(FORGET, response).await) }, &runtime);
    }
}

#[async_trait]
impl Transport for AdoptedService {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let call = call.started();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(call.to_params()));
        let reply = match self.exchange(&call, request).await {
            Ok(Ok(result)) => answer::read_call_result(result),
            Ok(Err(error)) => Ok(CallReply::Error(error)),
            Err(error) => Err(error),
        };
        reply.map_err(|error| call.or_abort(error))
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        let page = cursor
            .map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.as_str().to_owned())));
        let request = ListToolsRequest { params: page, ..ListToolsRequest::default() };
        let bounds = ToolCall::new("").with_deadline(self.list_timeout).without_idle_timeout().started();
        match self.exchange(&bounds, ClientRequest::ListToolsRequest(request)).await? {
            Ok(result) => answer::read_tool_page(&result),
            Err(error) => Err(TransportError::rejected(error.code.0)),
        }
    }

    async fn task(&self, request: TaskRequest) -> Result<TaskReply, TransportError> {
        let asks_for_state = request.asks_for_state();
        let bounds = ToolCall::new("").with_deadline(self.list_timeout).without_idle_timeout().started();
        match self.exchange(&bounds, request.into_request(Extensions::new())).await? {
            Ok(result) => TaskRequest::reply(asks_for_state, &answer::raw(&result)?),
            Err(error) => Err(TransportError::rejected(error.code.0)),
        }
    }

    fn is_closed(&self) -> bool {
        self.retired.load(Ordering::Acquire) || self.closed.is_cancelled() || self.peer.is_transport_closed()
    }

    /// Calls in flight go on, since over HTTP the loss of one says nothing of the others. The service
    /// ends with the last user of this.
    async fn retire(&self) -> Fence {
        self.retired.store(true, Ordering::Release);
        Fence::None
    }

    async fn close(&self) -> Fence {
        self.closed.cancel();
        if let Some(service) = &mut *self.service.lock().await {
            service.end(self.close_timeout).await;
        }
        Fence::None
    }
}

impl fmt::Debug for AdoptedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdoptedService").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

/// A running service, whatever handler it has.
#[async_trait]
trait End: Send + Sync {
    async fn end(&mut self, within: Duration);
}

#[async_trait]
impl<S: Service<RoleClient>> End for RunningService<RoleClient, S> {
    async fn end(&mut self, within: Duration) {
        // What it says of the end is of no use to anybody: the service is over for us either way.
        let _ = self.close_with_timeout(within).await;
    }
}
