//! Calls that wait for ever, or that go on after nobody waits for them any more.

use std::{error::Error, fs, sync::Arc, time::Duration};

use async_trait::async_trait;
use mcp_tool::{Client, Outcome, Reason, TokenSource, Transport, Trust, mcp_transport::DEFAULT_IDLE_TIMEOUT};
use mcp_tool_cli::fault_server::{Fault, HttpFault, Moment, Record, Response, Scenario, When};
use rmcp::service::PeerRequestOptions;
use tokio::{
    sync::Notify,
    time::{Instant, pause, resume, sleep, timeout},
};

use crate::{
    call, counts,
    invocations::Endings,
    keys, put, raw,
    server::{PATIENCE, Server},
    shows,
};

/// On a stopped clock: so long that whoever has not come back by then never will.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn ran(record: &Record) -> bool {
    record.executions().len() == 1
}

#[tokio::test]
async fn r13_a_call_that_is_never_answered_ends() {
    let accepted = HttpFault::Respond(Moment::AfterCommit, Response::new(202));
    for fault in [Fault::Hang, accepted.into()] {
        let (server, raw) = raw::connect(&put().on_call(1, fault)).await;
        let peer = raw.peer().clone();
        let calling = tokio::spawn(async move { peer.call_tool(raw::put("a")).await });
        server.wait_for(ran).await;
        // Whatever has come back by now is read before this.
        raw.peer().call_tool(raw::put("b")).await.unwrap();
        pause();
        sleep(A_DAY).await;
        resume();
        raw.peer().call_tool(raw::put("c")).await.unwrap();
        shows("R13", !calling.is_finished());
        calling.abort();
        server.stop().await;
    }

    let server = Server::start(&put().on_call(1, Fault::Hang)).await;
    let client = Client::builder("http", server.connector()).trust(Trust::BOTH).build();
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.call(call("a")).await }
    });
    server.wait_for(ran).await;
    pause();
    let before = Instant::now();
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::IdleTimeout));
    assert!(before.elapsed() < DEFAULT_IDLE_TIMEOUT + Duration::from_secs(1), "{:?}", before.elapsed());
    resume();
    client.call(call("b")).await.unwrap();
    assert_eq!((counts(&server.record()), server.record().versions().len()), ((2, 2), 1));
    server.stop().await;
}

#[tokio::test]
async fn r14_a_call_that_nobody_waits_for_is_told_as_unknown() {
    let scenario = put().on_call(1, Fault::Hang);
    let was_cancelled = |record: &Record| record.cancellations().len() == 1;

    let (server, raw) = raw::connect(&scenario).await;
    tokio::select! {
        answer = raw.peer().call_tool(raw::put("a")) => panic!("{answer:?}"),
        _ = server.wait_for(ran) => {}
    }
    // The server is told to cancel what has run, and nobody is told anything.
    server.wait_for(was_cancelled).await;
    shows("R14", counts(&server.record()) == (1, 1));
    server.stop().await;

    let server = Server::start(&scenario).await;
    let endings = Endings::default();
    let client = Client::builder("http", server.connector()).observer(endings.clone()).build();
    tokio::select! {
        answer = client.call(call("a")) => panic!("{answer:?}"),
        _ = server.wait_for(ran) => {}
    }
    assert_eq!(*endings.0.lock().unwrap(), [(Some(Outcome::Unknown), Some(Reason::Dropped))]);
    server.wait_for(was_cancelled).await;
    assert_eq!(counts(&server.record()), (1, 1));
    server.stop().await;
}

/// Sixteen calls hang; the last of them is answered on demand.
pub(crate) fn sixteen_busy(folder: &tempfile::TempDir) -> Scenario {
    let last = Fault::AnswerLate { when: When::Trigger(folder.path().join("now")) };
    (1..16).fold(put(), |scenario, call| scenario.on_call(call, Fault::Hang)).on_call(16, last)
}

#[tokio::test]
async fn r23_a_call_that_was_abandoned_behind_busy_ones_is_not_sent_later() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = sixteen_busy(&folder);
    let server = Server::start_in(folder, &scenario).await;
    let raw = raw::connect_to(&server).await;
    let mut busy = Vec::new();
    for _ in 0..16 {
        let key = format!("busy {}", busy.len());
        busy.push(raw::begin(&raw, &key, PeerRequestOptions::no_options()).await);
        let begun = busy.len();
        server.wait_for(move |record| record.executions().len() == begun).await;
    }
    let abandoned = raw::begin(&raw, "abandoned", PeerRequestOptions::no_options()).await;
    assert!(timeout(Duration::from_millis(10), abandoned.await_response()).await.is_err());
    assert_eq!(server.record().received().len(), 16, "it waits");
    fs::write(server.file("now"), "").unwrap();
    let last = busy.pop().unwrap();
    last.await_response().await.unwrap();
    let record = server.wait_for(|record| record.executions().len() > 16).await;
    shows("R23", keys(&record)[16] == "abandoned");
    server.stop().await;

    // Here no call waits behind others: the seventeenth goes out at once.
    let folder = tempfile::tempdir().unwrap();
    let scenario = sixteen_busy(&folder);
    let server = Server::start_in(folder, &scenario).await;
    let transport = Arc::new(server.connector().start().await.unwrap());
    let busy: Vec<_> = (0..16)
        .map(|_| {
            let transport = transport.clone();
            tokio::spawn(async move { transport.call_tool(call("busy")).await })
        })
        .collect();
    server.wait_for(|record| record.executions().len() == 16).await;
    transport.call_tool(call("seventeenth").with_deadline(PATIENCE)).await.unwrap();
    busy.iter().for_each(tokio::task::JoinHandle::abort);
    server.stop().await;
}

/// What a call may still wait for is its token.
#[tokio::test]
async fn r23_a_call_that_was_abandoned_while_it_waited_for_its_token_is_not_sent_later() {
    let server = Server::start(&put()).await;
    let tokens = Tokens::default();
    let transport = server.connector().with_tokens(tokens.clone()).start().await.unwrap();
    transport.call_tool(call("before")).await.unwrap();
    let turn = tokens.turn.clone().lock_owned().await;
    tokio::select! {
        answer = transport.call_tool(call("abandoned")) => panic!("{answer:?}"),
        () = tokens.asked.notified() => {}
    }
    drop(turn);
    transport.call_tool(call("after")).await.unwrap();
    assert_eq!(keys(&server.record()), ["before", "after"]);
    assert_eq!(server.record().received().len(), 2);
    server.stop().await;
}

/// Tokens that nobody gets while a test has the turn.
#[derive(Clone, Default)]
struct Tokens {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Somebody has to wait.
    asked: Arc<Notify>,
}

#[async_trait]
impl TokenSource for Tokens {
    async fn token(&self) -> Result<Option<String>, Box<dyn Error + Send + Sync>> {
        if self.turn.try_lock().is_err() {
            self.asked.notify_one();
        }
        drop(self.turn.lock().await);
        Ok(None)
    }
}
