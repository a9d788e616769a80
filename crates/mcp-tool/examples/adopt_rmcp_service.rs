//! A host that runs rmcp already: it keeps its connection, and calls tools through the gate.
//!
//! `cargo run -p mcp-tool --all-features --example adopt_rmcp_service`
//!
//! What rmcp does below its service loop stays open then (the documentation of `AdoptedService` lists it),
//! and nothing that was handed over can be proven unsent. A connector of mcp-transport has neither limit.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use mcp_tool::{
    Client, Outcome, ToolCall, Transport, TransportError, Trust, connector_fn,
    mcp_transport::AdoptedService,
    rmcp::{
        RoleClient, ServiceExt,
        model::ClientConfig,
        service::{ClientInitializeError, RunningService},
    },
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};

/// Where the host's server is. The first `deaths` connections to it die with the first call.
#[derive(Clone, Default)]
struct Place {
    deaths: usize,
    connections: Arc<AtomicUsize>,
    executions: Arc<AtomicUsize>,
}

impl Place {
    /// The host's own code, as it was before.
    async fn connect(&self) -> Result<RunningService<RoleClient, ClientConfig>, ClientInitializeError> {
        let (ours, theirs) = duplex(64 * 1024);
        let dies = self.connections.fetch_add(1, Ordering::Relaxed) < self.deaths;
        tokio::spawn(serve(theirs, dies, self.executions.clone()));
        ClientConfig::default().serve(ours).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    share().await?;
    hand_over().await
}

/// The host keeps its service, for prompts and resources, say, and shares its peer.
async fn share() -> Result<(), Box<dyn Error>> {
    let place = Place::default();
    let service = place.connect().await?;
    let peer = service.peer().clone();
    let shared = connector_fn(move || {
        let shared = Arc::new(AdoptedService::from_peer(peer.clone()));
        async { Ok(shared as Arc<dyn Transport>) }
    });
    let client = Client::builder("notes", shared).build();

    let answer = client.call(ToolCall::new("append")).await?;
    println!("shared: answered after {} attempt", answer.attempts);
    assert_eq!((answer.attempts, place.executions.load(Ordering::Relaxed)), (1, 1));

    drop(client);
    let tools = service.peer().list_tools(None).await?.tools.len();
    println!("shared: the host's connection lives on and lists {tools} tools");
    assert_eq!((tools, place.connections.load(Ordering::Relaxed)), (2, 1));
    Ok(())
}

/// The host hands its services over, one for each time that its server is to be reached.
async fn hand_over() -> Result<(), Box<dyn Error>> {
    for (tool, executions) in [("append", 1), ("put", 2)] {
        let place = Place { deaths: 1, ..Place::default() };
        let here = place.clone();
        let handed_over = connector_fn(move || {
            let here = here.clone();
            async move {
                let service = here.connect().await.map_err(TransportError::connect)?;
                Ok(Arc::new(AdoptedService::new(service)) as Arc<dyn Transport>)
            }
        });
        let client = Client::builder("notes", handed_over).trust(Trust::BOTH).build();
        match client.call(ToolCall::new(tool)).await {
            Ok(answer) => {
                println!("handed over: {tool} was answered after {} attempts", answer.attempts);
                assert_eq!((tool, answer.attempts, answer.replays), ("put", 2, 1));
            }
            Err(error) => {
                println!("handed over: {tool} is {}, because {}", error.outcome().code(), error.reason());
                assert_eq!((tool, error.outcome()), ("append", Outcome::Unknown));
            }
        }
        assert_eq!(place.executions.load(Ordering::Relaxed), executions);
    }
    Ok(())
}

/// An MCP server at the other end: a request per line in, an answer per line out.
async fn serve(stream: DuplexStream, dies: bool, executions: Arc<AtomicUsize>) -> std::io::Result<()> {
    let (reader, mut writer) = split(stream);
    let mut lines = BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await? {
        let request: Value = serde_json::from_str(&line)?;
        let Some(id) = request.get("id") else { continue };
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "notes", "version": "1.0.0" },
            }),
            Some("tools/list") => json!({ "tools": [
                { "name": "append", "inputSchema": {} },
                { "name": "put", "inputSchema": {}, "annotations": { "idempotentHint": true } },
            ] }),
            _ => {
                executions.fetch_add(1, Ordering::Relaxed);
                if dies {
                    return Ok(());
                }
                json!({ "content": [] })
            }
        };
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        writer.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}
