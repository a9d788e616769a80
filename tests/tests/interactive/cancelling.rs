//! A server is told of a call that nobody waits for any more, if it can have read it.

use std::{sync::Arc, time::Duration};

use mcp_tool::{CancellationToken, Client, HttpConnector, Outcome, Reason, ToolCall};
use mcp_tool_cli::fault_server::{Cancellation, Era, Fault, Http, PageFault, Record, Reply};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::{JoinHandle, JoinSet},
    time::timeout,
};

use crate::{
    bench::process::PATIENCE,
    server::Server,
    stage::{Front, Stage},
    tools,
};

/// The cancellation that the server was told of is that of the only call that it read.
fn was_told(record: &Record) -> bool {
    let of_call = |cancellation: &Cancellation| cancellation.id == record.received()[0].id;
    record.cancellations().len() == 1 && record.cancellations().iter().all(of_call)
}

async fn hanging(front: Front, era: Era) -> Stage {
    Stage::open(front, &tools().era(era).on_call(1, Fault::Hang)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_is_told_whatever_ends_the_waiting() {
    // Over HTTP the server of 2026-07-28 is told by the end of the stream, and by nothing else.
    for (front, era) in [(Front::Pipes, Era::Legacy), (Front::Pipes, Era::Modern), (Front::Http, Era::Legacy)]
    {
        for ending in ["cancelled", "dropped", "idle_timeout", "deadline"] {
            let stage = hanging(front, era).await;
            stage.client.catalog().await.unwrap();
            let token = CancellationToken::new();
            let mut call = ToolCall::new("get").with_cancellation(token.clone());
            let soon = Duration::from_millis(200);
            match ending {
                "idle_timeout" => call = call.with_idle_timeout(soon),
                "deadline" => call = call.with_deadline(soon),
                _ => {}
            }
            let client = stage.client.clone();
            let ended = tokio::spawn(async move { client.call(call).await });
            stage.wait(|record| record.executions().len() == 1).await;
            match ending {
                "cancelled" => token.cancel(),
                "dropped" => ended.abort(),
                _ => {}
            }
            if let Ok(ended) = ended.await {
                let error = ended.unwrap_err();
                assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, ending));
            }
            stage.wait(was_told).await;
            assert_eq!(stage.record().received().len(), 1, "{front:?} {era:?} {ending}");
            assert!(stage.client.call(ToolCall::new("get")).await.is_ok(), "the connection lives");
            stage.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_cancelled_while_its_server_comes_back_reaches_nobody_again() {
    for front in Front::BOTH {
        let scenario = tools().on_call(1, Fault::DieAfterCommit);
        let next = tools().on_page(1, PageFault::Hang);
        let stage = Stage::open(front, &scenario.from_start(2, next)).await;
        let token = CancellationToken::new();
        let (client, call) = (stage.client.clone(), ToolCall::new("get").with_cancellation(token.clone()));
        let ended = tokio::spawn(async move { client.call(call).await });
        stage.wait(|record| record.lists().iter().any(|listing| listing.start == 2)).await;
        token.cancel();
        let error = ended.await.unwrap().unwrap_err();
        assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::Cancelled), "{front:?}");
        assert_eq!(stage.record().received().len(), 1);
        stage.close().await;
    }
}

/// A port that leads to the server, and a word when the client has closed a connection with a call on it.
async fn watched(server: u16, calls_closed: Arc<Notify>) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepting = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let calls_closed = calls_closed.clone();
            connections.spawn(async move {
                let mut server = TcpStream::connect(("127.0.0.1", server)).await?;
                let (mut asked, mut request, mut reply) = (Vec::new(), [0; 4096], [0; 4096]);
                loop {
                    tokio::select! {
                        read = client.read(&mut request) => match read.unwrap_or(0) {
                            0 => break,
                            read => {
                                asked.extend_from_slice(&request[..read]);
                                server.write_all(&request[..read]).await?;
                            }
                        },
                        read = server.read(&mut reply) => client.write_all(&reply[..read?]).await?,
                    }
                }
                if asked.windows(10).any(|text| text == b"tools/call") {
                    calls_closed.notify_one();
                }
                std::io::Result::Ok(())
            });
        }
    });
    (port, accepting)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_2026_07_28_on_the_end_of_the_stream_tells_a_server_over_http() {
    for reply in [Reply::Json, Reply::Sse] {
        let scenario = tools().era(Era::Modern).http(Http::new().reply(reply)).on_call(1, Fault::Hang);
        let server = Server::start(&scenario).await;
        let closed = Arc::new(Notify::new());
        let (port, relay) = watched(server.port(), closed.clone()).await;
        let connector = HttpConnector::new(&format!("http://127.0.0.1:{port}/mcp")).unwrap();
        let client = Client::builder("notes", connector).build();
        let token = CancellationToken::new();
        let call = ToolCall::new("put").with_cancellation(token.clone());
        let calling = client.clone();
        let ended = tokio::spawn(async move { calling.call(call).await });
        server.wait_for(|record| record.executions().len() == 1).await;
        token.cancel();
        assert_eq!(ended.await.unwrap().unwrap_err().reason(), Reason::Cancelled);
        timeout(PATIENCE, closed.notified()).await.expect("the connection is closed");
        drop(client);
        relay.abort();
        assert_eq!(server.record().received().len(), 1);
        server.stop().await;
    }
}
