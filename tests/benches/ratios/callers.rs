//! The sides that are compared: raw rmcp, this project's transport alone, and the whole safe layer.

use std::{env, future::Future, sync::Arc};

use mcp_tool::{
    CallReply, Client, Connector, HttpConnector, StdioConnector, StdioTransport, ToolCall, Transport,
    connector_fn,
    rmcp::{
        model::{CallToolRequestParams, JsonObject},
        serve_client,
        service::{ClientLifecycleMode, RoleClient, RunningService},
        transport::{StreamableHttpClientTransport, TokioChildProcess},
    },
};
use tokio::{io::DuplexStream, process::Command, task::JoinSet};

use crate::line_server::{self, SERVE};

/// As much as a pipe of Linux holds.
const DUPLEX: usize = 64 * 1024;

/// Something that calls the tool once. Every side is given arguments of its own, as a host has them.
pub(crate) trait Caller: Clone + Send + 'static {
    fn call(&self, arguments: JsonObject) -> impl Future<Output = ()> + Send;
}

/// rmcp's own client over rmcp's own transport.
#[derive(Clone)]
pub(crate) struct Raw(Arc<RunningService<RoleClient, ()>>);

impl Raw {
    pub(crate) async fn in_memory() -> Self {
        Self(Arc::new(serve_client((), line_server()).await.expect("the server initializes")))
    }

    pub(crate) async fn http(url: &str) -> Self {
        let transport = StreamableHttpClientTransport::from_uri(url);
        Self(Arc::new(serve_client((), transport).await.expect("the server initializes")))
    }

    pub(crate) async fn child() -> Self {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        command.arg(SERVE);
        let child = TokioChildProcess::new(command).expect("this program starts");
        Self(Arc::new(serve_client((), child).await.expect("the server initializes")))
    }
}

impl Caller for Raw {
    async fn call(&self, arguments: JsonObject) {
        let params = CallToolRequestParams::new("put").with_arguments(arguments);
        let result = self.0.peer().call_tool(params).await.expect("the server answers");
        assert_eq!(result.content.len(), 1);
    }
}

/// The transport without the layers above it.
#[derive(Clone)]
pub(crate) struct Alone(Arc<dyn Transport>);

impl Alone {
    pub(crate) async fn in_memory() -> Self {
        Self(transport().await)
    }

    pub(crate) async fn child() -> Self {
        let started = this_program().connect().await;
        Self(started.expect("the server initializes"))
    }

    pub(crate) async fn http(url: &str) -> Self {
        Self(over_http(url).connect().await.expect("the server initializes"))
    }
}

impl Caller for Alone {
    async fn call(&self, arguments: JsonObject) {
        let reply = self.0.call_tool(ToolCall::new("put").with_arguments(arguments)).await;
        expect_result(&reply.expect("the server answers"));
    }
}

/// What a host calls.
#[derive(Clone)]
pub(crate) struct Safe(Client);

impl Safe {
    pub(crate) async fn in_memory() -> Self {
        Self::connected(Client::builder("line", connector_fn(|| async { Ok(transport().await) })).build())
            .await
    }

    pub(crate) async fn child() -> Self {
        Self::connected(Client::builder("line", this_program()).build()).await
    }

    pub(crate) async fn http(url: &str) -> Self {
        Self::connected(Client::builder("line", over_http(url)).build()).await
    }

    async fn connected(client: Client) -> Self {
        client.catalog().await.expect("the server lists its tools");
        Self(client)
    }
}

impl Caller for Safe {
    async fn call(&self, arguments: JsonObject) {
        let answer = self.0.call(ToolCall::new("put").with_arguments(arguments)).await;
        expect_result(&answer.expect("the server answers").reply);
    }
}

fn expect_result(reply: &CallReply) {
    assert_eq!(reply.result().expect("the server succeeds").content.len(), 1);
}

/// The server as a child process, with the same handshake as on the raw side.
fn this_program() -> StdioConnector {
    StdioConnector::new(env::current_exe().expect("this program has a path"))
        .arg(SERVE)
        .with_lifecycle(ClientLifecycleMode::Initialize)
}

fn over_http(url: &str) -> HttpConnector {
    let connector = HttpConnector::new(url).expect("the server told it");
    connector.with_lifecycle(ClientLifecycleMode::Initialize)
}

pub(crate) fn line_server() -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(DUPLEX);
    tokio::spawn(line_server::serve(theirs));
    ours
}

async fn transport() -> Arc<dyn Transport> {
    let (reader, writer) = tokio::io::split(line_server());
    // The same handshake as on the raw side, so that the same bytes travel.
    let connected = StdioTransport::over(reader, writer, (), ClientLifecycleMode::Initialize).await;
    Arc::new(connected.expect("the server initializes"))
}

/// What is called, how often, and how much of it at the same time.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) arguments: Arc<JsonObject>,
    pub(crate) in_flight: u32,
    /// How many calls each of those makes, one after the other.
    pub(crate) each: u32,
}

impl Load {
    pub(crate) async fn run(&self, caller: &impl Caller) {
        let mut callers = JoinSet::new();
        for _ in 0..self.in_flight {
            let (caller, arguments, each) = (caller.clone(), self.arguments.clone(), self.each);
            callers.spawn(async move {
                for _ in 0..each {
                    caller.call(JsonObject::clone(&arguments)).await;
                }
            });
        }
        callers.join_all().await;
    }
}
