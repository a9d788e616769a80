use std::process::Stdio;

use mcp_tool::{Client, HttpConnector, Outcome, ToolCall, Trust};
use rustix::process::Signal;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
    process::{Child, Command},
};

use crate::server;

/// server-everything in its Streamable HTTP mode, once it listens.
async fn start(port: u16) -> Child {
    let mut command = Command::new(server::installed("node_modules/.bin/mcp-server-everything"));
    command.arg("streamableHttp").env("PORT", port.to_string()).kill_on_drop(true);
    let mut child =
        command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("listening") {
            // Read on, or the server would block or die on its log.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return child;
        }
    }
    panic!("it ended before it listened");
}

async fn stop(mut child: Child) {
    let pid = child.id().unwrap();
    crate::process::signal(pid, Signal::KILL);
    child.wait().await.unwrap();
}

async fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

fn echo() -> ToolCall {
    ToolCall::new("echo").with_argument("message", "hi")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the servers that tests/real-servers/install installs"]
async fn a_server_over_http_is_called_and_survives_its_restart() {
    let port = free_port().await;
    let child = start(port).await;
    let connector = HttpConnector::new(&format!("http://127.0.0.1:{port}/mcp")).unwrap();
    let client = Client::builder("everything", connector).trust(Trust::BOTH).build();
    assert!(client.call(echo()).await.unwrap().reply.result().is_some());

    // A call to nobody is in nobody's hands: it waits for the server.
    stop(child).await;
    let (delivered, child) = tokio::join!(client.call(echo().with_argument("n", 1)), start(port));
    match delivered {
        Ok(answer) => assert_eq!(answer.attempts, 1),
        Err(error) => panic!("{error}"),
    }

    // Back before anybody noticed: it reports the lost session by a 400 of its own, which proves nothing,
    // and the call after that opens a new one.
    stop(child).await;
    let child = start(port).await;
    let error = client.call(echo()).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "http_status"));
    assert!(client.call(echo()).await.unwrap().reply.result().is_some());
    stop(child).await;
}
