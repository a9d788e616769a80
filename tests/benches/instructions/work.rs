//! The pieces of work, each done as often as asked for, on one thread.

use std::{future::Future, hint::black_box, pin::Pin, sync::Arc};

use mcp_tool::{
    Client, ConservativePolicy, Discovery, PagingDiscovery, StdioTransport, ToolCall, Transport,
    TransportError, connector_fn,
    replay_policy::{Checkpoint, Delivery, FailedAttempt, Hints, ReplayPolicy, Trust},
    rmcp::{
        model::{CallToolRequestParams, JsonObject},
        serve_client,
        service::{ClientCacheConfig, ClientLifecycleMode, RoleClient, RunningService},
    },
};

use crate::server;

/// Does a piece of work this many times.
type Work = fn(u64) -> Pin<Box<dyn Future<Output = ()>>>;

/// What can be counted, by the names in the baseline.
pub(crate) const WORK: [(&str, Work); 6] = [
    ("decide", |times| Box::pin(async move { decide(times) })),
    ("call", |times| Box::pin(call(times))),
    ("call-transport", |times| Box::pin(call_transport(times))),
    ("call-raw", |times| Box::pin(call_raw(times))),
    ("rebuild", |times| Box::pin(rebuild(times))),
    ("rebuild-raw", |times| Box::pin(rebuild_raw(times))),
];

/// How many tools a rebuild lists.
const TOOLS: usize = 1000;

/// The default policy, asked once about each of the 108 rows: every form of hints under every trust.
fn decide(times: u64) {
    let values = [None, Some(true), Some(false)];
    let mut rows = Vec::new();
    for trust in
        [Trust::NONE, Trust::NONE.with_trusted_server(), Trust::NONE.with_trusted_workspace(), Trust::BOTH]
    {
        for read_only in values {
            for destructive in values {
                for idempotent in values {
                    let hints = Hints { read_only, destructive, idempotent, ..Hints::NONE };
                    let lost = FailedAttempt::new("put", Checkpoint::BeforeReplay).with_hints(Some(hints));
                    rows.push(lost.with_trust(trust).with_delivery(Delivery::Unknown));
                }
            }
        }
    }
    assert_eq!(rows.len(), 108);
    let policy = ConservativePolicy::default();
    for _ in 0..times {
        for row in &rows {
            let _ = black_box(policy.decide(black_box(row)));
        }
    }
}

/// A small call through the client.
async fn call(times: u64) {
    let client = Client::builder("counted", connector_fn(|| transport(1))).build();
    for _ in 0..times {
        let answer = client.call(ToolCall::new("put").with_arguments(arguments())).await;
        let answer = answer.expect("the server answers");
        assert_eq!(answer.reply.result().expect("the tool succeeds").content.len(), 1);
    }
}

/// The same through the transport alone.
async fn call_transport(times: u64) {
    let transport = transport(1).await.expect("the server initializes");
    for _ in 0..times {
        let reply = transport.call_tool(ToolCall::new("put").with_arguments(arguments())).await;
        let reply = reply.expect("the server answers");
        assert_eq!(reply.result().expect("the tool succeeds").content.len(), 1);
    }
}

/// The same through rmcp's own client over rmcp's own transport.
async fn call_raw(times: u64) {
    let client = raw(1).await;
    for _ in 0..times {
        let params = CallToolRequestParams::new("put").with_arguments(arguments());
        let result = client.peer().call_tool(params).await.expect("the server answers");
        assert_eq!(result.content.len(), 1);
    }
}

/// All pages of tools, listed over a live connection into a new catalog.
async fn rebuild(times: u64) {
    let discovery = PagingDiscovery::new(connector_fn(|| transport(TOOLS)));
    let mut catalog = discovery.catalog().await.expect("the server lists its tools");
    for _ in 0..times {
        catalog = discovery.rebuild(catalog.generation()).await.expect("the server lists its tools");
        assert_eq!(catalog.len(), TOOLS);
    }
}

/// The same pages, listed through rmcp's own client past its cache, as it gives them.
async fn rebuild_raw(times: u64) {
    let client = raw(TOOLS).await;
    client.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
    // The client is as warm as the other side's, which has listed once to have something to rebuild.
    for _ in 0..=times {
        let tools = client.peer().list_all_tools().await.expect("the server lists its tools");
        assert_eq!(tools.len(), TOOLS);
    }
}

async fn transport(tools: usize) -> Result<Arc<dyn Transport>, TransportError> {
    let (reader, writer) = tokio::io::split(server::start(tools));
    // The same handshake as on the raw side, so that the same bytes travel.
    let connected = StdioTransport::over(reader, writer, (), ClientLifecycleMode::Initialize).await?;
    Ok(Arc::new(connected))
}

async fn raw(tools: usize) -> RunningService<RoleClient, ()> {
    serve_client((), server::start(tools)).await.expect("the server initializes")
}

fn arguments() -> JsonObject {
    let members = [("key", "greeting"), ("value", "hello")];
    members.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect()
}
