//! Questions that the server asks in the middle of a call: for how long they are asked, and what they
//! mean for the call.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_transport::{
    CallReply, StdioTransport, ToolCall, Transport, TransportError,
    rmcp::{
        ClientHandler, ErrorData,
        model::{ElicitRequestParams, ElicitResult, ElicitationAction},
        service::{RequestContext, RoleClient},
    },
};
use serde_json::{Value, json};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use crate::server::{Ends, ROOM, Server, connect, connect_as, ends, legacy, raw_over, settle, text_result};

/// A person who thinks until told otherwise, or until nobody waits any more.
#[derive(Clone, Default)]
struct Person(Arc<Inner>);

#[derive(Default)]
struct Inner {
    asked: AtomicUsize,
    left: AtomicUsize,
    decides: Notify,
}

struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Person {
    /// How often they were asked, and how often they are done with it.
    fn was_asked(&self) -> (usize, usize) {
        (self.0.asked.load(Ordering::Relaxed), self.0.left.load(Ordering::Relaxed))
    }
}

impl ClientHandler for Person {
    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.0.asked.fetch_add(1, Ordering::Relaxed);
        let _leaves = Leaves(&self.0.left);
        self.0.decides.notified().await;
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }
}

async fn ask(server: &mut Server, id: &str, method: &str) {
    let params = json!({
        "mode": "form", "message": "who?", "requestedSchema": {"type": "object", "properties": {}},
        "messages": [{"role": "user", "content": {"type": "text", "text": "who?"}}], "maxTokens": 1,
    });
    server.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
}

fn call() -> ToolCall {
    ToolCall::new("put").with_deadline(Duration::from_secs(1000)).with_idle_timeout(Duration::from_secs(10))
}

/// A call that is under way, and what it becomes.
fn begin(
    transport: &Arc<StdioTransport>,
    call: ToolCall,
) -> tokio::task::JoinHandle<Result<CallReply, TransportError>> {
    let transport = transport.clone();
    tokio::spawn(async move { transport.call_tool(call).await })
}

async fn asked()
-> (Person, Arc<StdioTransport>, Server, Value, tokio::task::JoinHandle<Result<CallReply, TransportError>>) {
    let person = Person::default();
    let (transport, mut server) = connect_as(person.clone(), legacy()).await;
    let transport = Arc::new(transport);
    let reply = begin(&transport, call());
    let request = server.expect("tools/call").await;
    ask(&mut server, "q", "elicitation/create").await;
    settle().await;
    assert_eq!(person.was_asked(), (1, 0));
    (person, transport, server, request, reply)
}

#[tokio::test(start_paused = true)]
async fn a_server_may_be_silent_while_the_host_thinks_and_no_longer() {
    let began = Instant::now();
    let (person, _transport, mut server, _, reply) = asked().await;
    sleep(Duration::from_secs(105)).await;
    assert!(!reply.is_finished());
    person.0.decides.notify_one();
    assert_eq!(server.next().await["result"]["action"], "decline");
    let error = reply.await.unwrap().unwrap_err();
    assert_eq!(error.kind().code(), "idle_timeout");
    assert_eq!(began.elapsed().as_secs(), 115, "ten seconds after the answer");
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_the_host_leads_to_that_of_the_call() {
    let (person, _transport, mut server, request, reply) = asked().await;
    sleep(Duration::from_secs(25)).await;
    person.0.decides.notify_one();
    server.next().await;
    server.answer(&request, text_result("done")).await;
    assert!(reply.await.unwrap().is_ok());
    assert_eq!(person.was_asked(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_call_while_the_host_thinks() {
    let began = Instant::now();
    let (person, _transport, mut server, request, reply) = asked().await;
    assert_eq!(reply.await.unwrap().unwrap_err().kind().code(), "deadline");
    assert_eq!(began.elapsed().as_secs(), 1000);
    let cancelled = server.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    assert_eq!(person.was_asked(), (1, 0), "over pipes nothing tells that the question was the call's");
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_ends_the_question_at_once() {
    let (person, transport, server, _, reply) = asked().await;
    let began = Instant::now();
    drop(server);
    assert_eq!(reply.await.unwrap().unwrap_err().kind().code(), "connection_lost");
    settle().await;
    assert_eq!(person.was_asked(), (1, 1), "what the host did for it was dropped");
    assert!(began.elapsed() < Duration::from_secs(1));
    transport.close().await;
    assert!(began.elapsed() < Duration::from_secs(1), "closing waits for nobody's answer");
}

#[tokio::test(start_paused = true)]
async fn rmcp_alone_goes_on_asking_when_the_connection_is_lost() {
    let person = Person::default();
    let Ends { server, reader, writer } = ends(ROOM);
    let (service, mut server) = raw_over(server, reader, writer, person.clone()).await;
    ask(&mut server, "q", "elicitation/create").await;
    settle().await;
    drop(server);
    sleep(Duration::from_secs(3600)).await;
    assert!(service.peer().is_transport_closed());
    assert_eq!(person.was_asked(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_server_takes_back_is_over_and_not_answered() {
    let (person, _transport, mut server, request, reply) = asked().await;
    server.notify("notifications/cancelled", json!({"requestId": "q"})).await;
    server.hears_nothing().await;
    assert_eq!(person.was_asked(), (1, 1));
    server.answer(&request, text_result("done")).await;
    assert!(reply.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_host_without_a_handler_refuses_cleanly_and_the_call_goes_on() {
    let (transport, mut server) = connect().await;
    let transport = Arc::new(transport);
    let reply = begin(&transport, call());
    let request = server.expect("tools/call").await;
    ask(&mut server, "1", "elicitation/create").await;
    assert_eq!(server.next().await["result"]["action"], "decline");
    ask(&mut server, "2", "sampling/createMessage").await;
    assert_eq!(server.next().await["error"]["code"], -32601);
    ask(&mut server, "3", "roots/list").await;
    assert_eq!(server.next().await["result"]["roots"], json!([]));
    server.answer(&request, text_result("done")).await;
    assert!(reply.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_ends_keeps_no_connection_from_ending() {
    #[derive(Clone)]
    struct Stone;
    impl ClientHandler for Stone {
        async fn create_elicitation(
            &self,
            _: ElicitRequestParams,
            _: RequestContext<RoleClient>,
        ) -> Result<ElicitResult, ErrorData> {
            pending().await
        }
    }
    let (transport, mut server) = connect_as(Stone, legacy()).await;
    ask(&mut server, "q", "elicitation/create").await;
    settle().await;
    let began = Instant::now();
    transport.close().await;
    // The client's side is closed when rmcp's service has ended.
    assert_eq!(server.line().await, None);
    assert!(began.elapsed() < Duration::from_secs(1));
}
