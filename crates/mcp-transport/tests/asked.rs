//! What the server asks of the host has bounds: how much of it is without an answer at a time.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use mcp_transport::{
    Transport,
    rmcp::{
        ClientHandler, ErrorData,
        model::{ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction},
        service::{RequestContext, RoleClient},
    },
};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::sleep};

use crate::{
    server::{Ends, Server, connect_as, connect_over, ends, legacy, modern, put, settle},
    valve::{Then, Valve},
};

/// The bound, where nobody sets another.
const UNANSWERED: usize = 256;

/// A host that thinks about each question until it may answer, whatever the server wants meanwhile.
#[derive(Clone)]
struct Host {
    may_answer: Arc<Semaphore>,
    thinking: Arc<AtomicUsize>,
}

impl Host {
    fn new() -> Self {
        Self { may_answer: Arc::new(Semaphore::new(0)), thinking: Arc::default() }
    }

    fn thinks_about(&self) -> usize {
        self.thinking.load(SeqCst)
    }
}

impl ClientHandler for Host {
    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.thinking.fetch_add(1, SeqCst);
        self.may_answer.acquire().await.unwrap().forget();
        self.thinking.fetch_sub(1, SeqCst);
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }
}

fn ping(id: usize) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn question(id: usize) -> Value {
    let form = json!({"message": "sure?", "requestedSchema": {"type": "object", "properties": {}}});
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form})
}

/// The ids that were answered with a result, and those that were refused, among what comes now.
async fn answers(server: &mut Server) -> (Vec<u64>, Vec<u64>) {
    let (mut answered, mut refused) = (Vec::new(), Vec::new());
    while let Ok(Some(line)) = tokio::time::timeout(Duration::from_millis(1), server.line()).await {
        let answer: Value = serde_json::from_str(&line).unwrap();
        if answer["method"].is_string() {
            continue;
        }
        let id = answer["id"].as_u64().unwrap();
        if answer["error"]["code"] == -32000 {
            refused.push(id);
        } else {
            assert!(answer["result"].is_object(), "{answer}");
            answered.push(id);
        }
    }
    (answered, refused)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_reads_no_answers_is_owed_a_bounded_number_of_them() {
    let (valve, Ends { server, reader, writer }) = (Valve::default(), ends(1 << 20));
    let (transport, mut server) =
        connect_over(server, reader, valve.on(writer), ClientConfig::default(), legacy()).await;
    valve.allow(0, Then::Stall);
    for id in 0..10_000 {
        server.send(ping(id)).await;
    }
    settle().await;
    valve.open();
    let (answered, refused) = answers(&mut server).await;
    assert_eq!(answered.len(), UNANSWERED);
    assert!((1..=UNANSWERED).contains(&refused.len()), "{}", refused.len());
    // What came beyond that was never answered; the connection does not suffer from it.
    server.send(ping(10_000)).await;
    assert_eq!(server.next().await["id"], 10_000);
    assert!(tokio::join!(transport.call_tool(put()), server.serve_one("done")).0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn requests_that_cannot_be_understood_are_not_refused_without_end_either() {
    let (valve, Ends { server, reader, writer }) = (Valve::default(), ends(1 << 20));
    let (_transport, mut server) =
        connect_over(server, reader, valve.on(writer), ClientConfig::default(), legacy()).await;
    valve.allow(0, Then::Stall);
    for id in 0..10_000 {
        server.send(json!({"jsonrpc": "2.0", "id": id, "method": "ping", "params": 7})).await;
    }
    settle().await;
    valve.open();
    let mut refused = 0;
    while let Ok(Some(_)) = tokio::time::timeout(Duration::from_millis(1), server.line()).await {
        refused += 1;
    }
    assert!((1..=UNANSWERED).contains(&refused), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_host_is_asked_no_more_questions_at_a_time_than_the_bound() {
    let host = Host::new();
    let (transport, mut server) = connect_as(host.clone(), legacy()).await;
    for id in 0..UNANSWERED + 10 {
        server.send(question(id)).await;
    }
    settle().await;
    assert_eq!(host.thinks_about(), UNANSWERED);
    let (answered, refused) = answers(&mut server).await;
    assert_eq!((answered.len(), refused), (0, (256..266).collect()));
    // A call does not wait for the host.
    assert!(tokio::join!(transport.call_tool(put()), server.serve_one("done")).0.is_ok());

    host.may_answer.add_permits(UNANSWERED);
    let (answered, refused) = answers(&mut server).await;
    assert_eq!((answered.into_iter().collect::<HashSet<_>>().len(), refused.len()), (UNANSWERED, 0));
    // Now there is room again.
    server.send(question(0)).await;
    host.may_answer.add_permits(1);
    assert_eq!(answers(&mut server).await, (vec![0], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_taken_back_makes_room_only_when_the_host_is_done_with_it() {
    let host = Host::new();
    let (_transport, mut server) = connect_as(host.clone(), legacy()).await;
    for id in 0..UNANSWERED {
        server.send(question(id)).await;
        server.notify("notifications/cancelled", json!({"requestId": id})).await;
    }
    settle().await;
    assert_eq!(host.thinks_about(), UNANSWERED);
    server.send(question(1_000)).await;
    assert_eq!(answers(&mut server).await, (vec![], vec![1_000]));

    host.may_answer.add_permits(UNANSWERED);
    settle().await;
    server.hears_nothing().await;
    // All of the room is back.
    for id in 0..UNANSWERED {
        server.send(question(id)).await;
    }
    settle().await;
    assert_eq!(host.thinks_about(), UNANSWERED);
    server.hears_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_is_not_asked_twice_under_one_id() {
    let host = Host::new();
    let (_transport, mut server) = connect_as(host.clone(), legacy()).await;
    for _ in 0..10 {
        server.send(question(7)).await;
    }
    settle().await;
    assert_eq!(host.thinks_about(), 1);
    host.may_answer.add_permits(10);
    assert_eq!(answers(&mut server).await, (vec![7], vec![]));
    server.send(question(7)).await;
    assert_eq!(answers(&mut server).await, (vec![7], vec![]));
}

#[tokio::test(start_paused = true)]
async fn what_is_never_answered_does_not_use_up_the_room_for_ever() {
    // rmcp answers nothing before the handshake of 2026-07-28 is done.
    let Ends { mut server, reader, writer } = ends(1 << 20);
    for id in 0..UNANSWERED {
        server.send(ping(id)).await;
    }
    let (_transport, mut server) =
        connect_over(server, reader, writer, ClientConfig::default(), modern()).await;
    server.send(ping(1_000)).await;
    assert_eq!(answers(&mut server).await, (vec![], vec![1_000]));
    sleep(Duration::from_secs(10)).await;
    server.send(ping(1_001)).await;
    assert_eq!(answers(&mut server).await, (vec![1_001], vec![]));
}
