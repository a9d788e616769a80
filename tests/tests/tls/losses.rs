use mcp_tool::{CancellationToken, Client, Outcome, Trust};
use mcp_tool_cli::fault_server::{Era, Fault, Http, HttpFault, Moment, Reply, Response, Resumed};

use crate::{
    backend::{BACKENDS, Backend},
    call, client, put,
    secure::Secure,
};

/// What must come of a call that meets a fault.
#[derive(Clone, Copy, PartialEq)]
enum Comes {
    Answer,
    /// A loss of the connection: replayed where that is safe.
    Loss,
    End(&'static str),
}

type Row = (Fault, Reply, usize, Comes);

/// Each with how often the first attempt runs the tool.
fn rows() -> Vec<Row> {
    use Comes::{Answer, End, Loss};
    use Moment::{AfterCommit, BeforeCommit};
    let ends_after_id = |resumed| HttpFault::SseEndsAfterId { resumed }.into();
    let status = |moment| HttpFault::Respond(moment, Response::new(503)).into();
    vec![
        (HttpFault::Reset(BeforeCommit).into(), Reply::Json, 0, Loss),
        (HttpFault::Reset(AfterCommit).into(), Reply::Json, 1, Loss),
        (Fault::DieBeforeCommit, Reply::Json, 0, Loss),
        (Fault::DieAfterCommit, Reply::Json, 1, Loss),
        (HttpFault::JsonCut.into(), Reply::Json, 1, Loss),
        (HttpFault::SseCut.into(), Reply::Sse, 1, Loss),
        (HttpFault::SseEnds.into(), Reply::Sse, 1, Loss),
        (ends_after_id(Resumed::Answer), Reply::SseWithIds, 1, Answer),
        (ends_after_id(Resumed::Empty), Reply::SseWithIds, 1, Loss),
        (status(BeforeCommit), Reply::Json, 0, End("http_status")),
        (status(AfterCommit), Reply::Json, 1, End("http_status")),
        (Fault::Hang, Reply::Json, 1, End("cancelled")),
        (Fault::AnswerHuge { bytes: 11 << 20 }, Reply::Json, 1, Answer),
    ]
}

async fn meets((fault, reply, executed, comes): Row, backend: Backend, era: Era, safe: bool) {
    let row = format!("{} {backend:?} {era:?} safe={safe}", fault.name());
    let scenario = put(safe).era(era).on_call(1, fault);
    let server = Secure::start(scenario, Http::new().reply(reply)).await;
    let client = Client::builder("tls", server.over(backend)).trust(Trust::BOTH).build();
    let token = CancellationToken::new();
    let calling = client.call(call("first").with_cancellation(token.clone()));
    let giving_up = async {
        if comes == Comes::End("cancelled") {
            server.wait_for(|record| record.executions().len() == 1).await;
            token.cancel();
        }
    };
    let (result, ()) = tokio::join!(calling, giving_up);

    let replayed = comes == Comes::Loss && safe;
    let (executed, attempts) = if replayed { (executed + 1, 2) } else { (executed, 1) };
    match (&result, comes) {
        (Ok(answer), Comes::Answer) => assert_eq!((answer.attempts, answer.replays), (1, 0), "{row}"),
        (Ok(answer), Comes::Loss) if safe => {
            assert_eq!((answer.attempts, answer.replays, answer.earlier_unknown), (2, 1, true), "{row}");
        }
        (Err(error), Comes::Loss) if !safe => {
            assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unannotated"), "{row}");
        }
        (Err(error), Comes::End(reason)) => {
            assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, reason), "{row}");
        }
        _ => panic!("{row}: {result:?}"),
    }
    let record = server.record();
    assert_eq!(record.executions().len(), executed, "executions, {row}");
    assert_eq!(record.received().len(), attempts, "one POST per attempt, {row}");
    assert_eq!(record.faults().len(), 1, "the fault struck, {row}");
    server.stop().await;
}

async fn every_fault(era: Era) {
    // What differs between the libraries does not differ between the eras.
    let backends = if era == Era::Legacy { BACKENDS } else { &[Backend::Rustls] };
    for &backend in backends {
        for safe in [true, false] {
            let rows = rows().into_iter().map(|row| tokio::spawn(meets(row, backend, era, safe)));
            for row in rows.collect::<Vec<_>>() {
                row.await.unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_strike_over_tls_as_they_do_without_with_sessions() {
    every_fault(Era::Legacy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_strike_over_tls_as_they_do_without_and_without_sessions() {
    every_fault(Era::Modern).await;
}

#[tokio::test]
async fn a_call_to_a_server_that_was_killed_while_idle_is_delivered_once_when_it_is_back() {
    for &backend in BACKENDS {
        let server = Secure::start(put(false), Http::new()).await;
        let client = client(server.over(backend));
        client.call(call("before")).await.unwrap();
        server.stay_down().await;
        let calling = tokio::spawn(async move { client.call(call("delivered")).await });
        server.come_back();
        let answer = calling.await.unwrap().unwrap();
        assert_eq!((answer.attempts, answer.replays), (1, 0), "{backend:?}");
        let record = server.record();
        assert_eq!((record.starts().len(), record.received().len()), (2, 2), "{backend:?}");
        let executed = record.executions();
        assert_eq!(executed.iter().filter(|execution| execution.key == "delivered").count(), 1);
        server.stop().await;
    }
}
