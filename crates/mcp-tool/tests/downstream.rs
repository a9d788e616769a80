//! What people outside should be able to write: a transport, a host, mocks, a policy, a decorator.
//!
//! Everything that a crate of somebody else's needs is public and of one rmcp.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use mcp_tool::{
    CallReply, Client, Connector, DiscoveryError, Outcome, Reason, ToolCall, ToolError, Transport,
    TransportError, Trust, connector_fn,
    mcp_discovery::{Catalog, Discovery, Generation, MockDiscovery},
    mcp_transport::{
        Cursor, Delivery, ErrorClass, ErrorKind, Events, Fence, MockConnector, MockTransport, ServerIdentity,
        TaskReply, TaskRequest, ToolPage,
    },
    replay_policy::{self, Checkpoint, Decision, FailedAttempt, MockReplayPolicy},
    rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations},
};
use tokio::sync::{mpsc, oneshot};

fn put() -> Tool {
    Tool::new("put", "stores a value", JsonObject::new())
}

fn idempotent_put() -> Tool {
    put().with_annotations(ToolAnnotations::new().idempotent(true))
}

fn success() -> CallReply {
    CallToolResult::success(vec![]).into()
}

/// A transport of one's own: a queue of requests, each with the way back of its reply.
struct Queue(mpsc::Sender<Job>);

type Job = (String, oneshot::Sender<CallReply>);

#[async_trait]
impl Transport for Queue {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let room = async { self.0.reserve().await.map_err(TransportError::connection) };
        call.attempt(room, |call, room| async move {
            let (reply, answer) = oneshot::channel();
            room.send((call.name().to_owned(), reply));
            answer.await.map_err(TransportError::connection)
        })
        .await
    }

    async fn list_tools(&self, _: Option<Cursor>) -> Result<ToolPage, TransportError> {
        Ok(ToolPage::of([idempotent_put()]))
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    async fn close(&self) -> Fence {
        Fence::None
    }
}

/// A server behind a queue, of which the first lives die with the first call that they take.
fn queue_server(deaths: usize) -> impl Connector + 'static {
    let lives = AtomicUsize::new(0);
    connector_fn(move || {
        let dies = lives.fetch_add(1, Ordering::Relaxed) < deaths;
        async move {
            let (jobs, mut queue) = mpsc::channel::<Job>(8);
            tokio::spawn(async move {
                while let Some((_, reply)) = queue.recv().await {
                    if dies {
                        return;
                    }
                    let _ = reply.send(success());
                }
            });
            Ok(Arc::new(Queue(jobs)) as Arc<dyn Transport>)
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_custom_transport_proves_that_a_call_in_a_full_queue_was_not_sent() {
    let (jobs, _nobody_takes_them) = mpsc::channel(1);
    let queue = Queue(jobs.clone());
    let _only_room = jobs.reserve().await.unwrap();
    let call = ToolCall::new("put").with_deadline(Duration::from_secs(1));
    let error = queue.call_tool(call).await.unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Other, Delivery::Unsent));
}

#[tokio::test]
async fn a_custom_transport_whose_far_side_is_gone_proves_that_a_call_was_not_sent() {
    let (jobs, far_side) = mpsc::channel(1);
    drop(far_side);
    let error = Queue(jobs).call_tool(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unsent));
}

#[tokio::test]
async fn a_host_reads_the_outcome_and_the_reason() {
    let trusted = Client::builder("files", queue_server(1)).trust(Trust::BOTH).build();
    let call = ToolCall::new("put").with_argument("key", "a").with_deadline(Duration::from_secs(60));
    let said = match trusted.call(call.clone()).await {
        Ok(answer) => match answer.reply {
            CallReply::Result(_) => format!("answered after {} attempts", answer.attempts),
            CallReply::Error(error) => format!("the server said {}", error.code.0),
            other => format!("{other:?}"),
        },
        Err(error) => error.to_string(),
    };
    assert_eq!(said, "answered after 2 attempts");

    let untrusted = Client::builder("files", queue_server(1)).build();
    let error = untrusted.call(call).await.unwrap_err();
    let denied = Reason::Denied(replay_policy::Reason::ServerUntrusted);
    assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, denied));
    assert_eq!((error.server(), error.tool(), error.attempts()), ("files", "put", 1));
    assert_eq!(error.transport_error().map(TransportError::kind), Some(ErrorKind::Lost));
}

#[test]
fn what_a_host_keeps_can_be_cloned_and_sent() {
    fn sent(_: impl Future + Send) {}
    fn kept<T: Clone + Send + Sync + 'static>() {}
    let client = Client::builder("files", queue_server(0)).build();
    sent(client.call(ToolCall::new("put")));
    kept::<Client>();
    kept::<mcp_tool::ToolHandle>();
    kept::<ToolError>();
    kept::<DiscoveryError>();
    kept::<TransportError>();
    kept::<ToolCall>();
}

/// A connection that loses the one call that is made over it.
fn losing() -> MockTransport {
    let mut connection = MockTransport::new();
    connection.expect_call_tool().times(1).returning(|_| Err(TransportError::connection("reset")));
    connection
}

#[tokio::test]
async fn with_mocks_a_denied_call_never_rebuilds() {
    let listed = Arc::new(Catalog::new(Generation::FIRST, losing()).with_tool(put()));
    let mut discovery = MockDiscovery::new();
    discovery.expect_catalog().times(1).return_once(move || Ok(listed));
    discovery.expect_rebuild().never();
    discovery.expect_suspect().withf(|lost| *lost == Generation::FIRST).times(1).return_const(());
    let mut policy = MockReplayPolicy::new();
    policy
        .expect_decide()
        .withf(|attempt| attempt.tool() == "put" && attempt.checkpoint() == Checkpoint::BeforeReconnect)
        .times(1)
        .return_const(Decision::Deny(replay_policy::Reason::Custom("budget_spent")));
    let client = Client::with_discovery("files", discovery).policy(policy).build();
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "budget_spent"));
}

#[tokio::test]
async fn with_mocks_a_connector_is_asked_once_for_many_calls() {
    let mut connection = MockTransport::new();
    connection.expect_list_tools().times(1).returning(|_| Ok(ToolPage::of([put()])));
    connection.expect_call_tool().times(2).returning(|_| Ok(success()));
    connection.expect_is_closed().return_const(false);
    let connection: Arc<dyn Transport> = Arc::new(connection);
    let mut connector = MockConnector::new();
    connector.expect_connect().times(1).return_once(move || Ok(connection));
    let client = Client::builder("files", connector).build();
    client.call(ToolCall::new("put")).await.unwrap();
    client.call(ToolCall::new("put")).await.unwrap();
}

#[tokio::test]
async fn provided_methods_run_in_mocks_that_leave_them_out() {
    let mut mock = MockTransport::new();
    mock.expect_list_tools().times(1).returning(|_| Ok(ToolPage::default()));
    let connection: Arc<dyn Transport> = Arc::new(mock);
    connection.probe().await.unwrap();
    let _quiet: Events = connection.events();
    assert_eq!(connection.classify(&TransportError::connection("reset")), ErrorClass::Connection);
    assert_eq!(MockConnector::new().identity(), ServerIdentity::unspecified());
}

#[test]
fn a_policy_can_be_used_without_anything_else() {
    use replay_policy::{ConservativePolicy, Hints, Reason, ReplayPolicy, policy_fn};

    let gate = ConservativePolicy::default();
    let lost = FailedAttempt::new("put", Checkpoint::BeforeReconnect).with_trust(Trust::BOTH);
    assert_eq!(gate.decide(&lost.clone().with_hints(Some(Hints::idempotent()))), Decision::Replay);
    let strict = policy_fn(move |attempt: &FailedAttempt| {
        if attempt.tool().starts_with("pay_") {
            Decision::Deny(Reason::Custom("payments"))
        } else {
            gate.decide(attempt)
        }
    });
    let shared: Arc<dyn ReplayPolicy> = Arc::new(strict);
    let payment = FailedAttempt::new("pay_rent", Checkpoint::BeforeReconnect);
    assert_eq!(shared.decide(&payment), Decision::Deny(Reason::Custom("payments")));
    assert_eq!(shared.decide(&lost), Decision::Deny(Reason::Unannotated));
}

/// A decorator over any transport: counts the attempts.
struct Counted<T> {
    inner: T,
    attempts: Arc<AtomicUsize>,
}

#[async_trait]
impl<T: Transport> Transport for Counted<T> {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        self.inner.call_tool(call).await
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        self.inner.list_tools(cursor).await
    }

    fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    async fn close(&self) -> Fence {
        self.inner.close().await
    }

    // The provided methods are forwarded too, or what the inner transport does there is lost.
    fn classify(&self, error: &TransportError) -> ErrorClass {
        self.inner.classify(error)
    }

    async fn probe(&self) -> Result<(), TransportError> {
        self.inner.probe().await
    }

    fn is_probed(&self) -> bool {
        self.inner.is_probed()
    }

    async fn retire(&self) -> Fence {
        self.inner.retire().await
    }

    async fn task(&self, request: TaskRequest) -> Result<TaskReply, TransportError> {
        self.inner.task(request).await
    }

    fn events(&self) -> Events {
        self.inner.events()
    }
}

/// Puts the decorator over whatever another connector returns.
struct Counting<C> {
    inner: C,
    attempts: Arc<AtomicUsize>,
}

#[async_trait]
impl<C: Connector> Connector for Counting<C> {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        let inner = self.inner.connect().await?;
        Ok(Arc::new(Counted { inner, attempts: self.attempts.clone() }))
    }

    fn identity(&self) -> ServerIdentity {
        self.inner.identity()
    }
}

#[tokio::test]
async fn a_decorator_fits_over_what_a_connector_returns() {
    let attempts = Arc::<AtomicUsize>::default();
    let counting = Counting { inner: queue_server(2), attempts: attempts.clone() };
    let client = Client::builder("files", counting).trust(Trust::BOTH).build();
    let answer = client.call(ToolCall::new("put")).await.unwrap();
    assert_eq!((answer.attempts, attempts.load(Ordering::Relaxed)), (3, 3));
}

/// A discovery of one's own: one fixed catalog, never another.
struct Fixed(Arc<Catalog>);

#[async_trait]
impl Discovery for Fixed {
    async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        Ok(self.0.clone())
    }

    async fn rebuild(&self, _: Generation) -> Result<Arc<Catalog>, DiscoveryError> {
        Err(TransportError::connect("there is no other").into())
    }

    fn suspect(&self, _: Generation) {}
}

#[tokio::test]
async fn a_discovery_of_ones_own_takes_the_place_of_the_paging_one() {
    let listed = Arc::new(Catalog::new(Generation::FIRST, losing()).with_tool(idempotent_put()));
    let client = Client::with_discovery("files", Fixed(listed)).trust(Trust::BOTH).build();
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::Unavailable));
}
