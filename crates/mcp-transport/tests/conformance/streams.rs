//! Over in-memory streams: the stdio transport, and a service that a host runs on rmcp.

use std::sync::Arc;

use mcp_transport::{
    AdoptedService, CallReply, Cursor, ErrorKind, Fence, StdioTransport, ToolCall, ToolPage, Transport,
    TransportError,
    contract::{self, Behaviour, Bench, Clause, FarEnd, Unsupported},
    rmcp::{
        model::ClientConfig,
        service::{ClientLifecycleMode, serve_client_with_lifecycle},
    },
};
use tokio::io::{DuplexStream, duplex};

use crate::{is_kept, lines, violates};

/// No request fits.
const ROOM: usize = 64;

fn far_end(far_end: FarEnd) -> (DuplexStream, DuplexStream) {
    let (writer, incoming) = duplex(ROOM);
    let (out, reader) = duplex(ROOM);
    tokio::spawn(lines::serve(far_end, incoming, out));
    (reader, writer)
}

struct Stdio;

#[async_trait::async_trait]
impl Bench for Stdio {
    async fn connect(&self, far: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
        let (reader, writer) = far_end(far);
        let lifecycle = ClientLifecycleMode::Initialize;
        let transport = StdioTransport::over(reader, writer, ClientConfig::default(), lifecycle).await;
        Ok(Arc::new(transport.expect("the handshake succeeds")))
    }

    fn room(&self) -> usize {
        ROOM
    }
}

#[tokio::test(start_paused = true)]
async fn the_stdio_transport_keeps_the_contract() {
    is_kept(&contract::examine(Stdio).await, &[]);
}

struct Adopted;

#[async_trait::async_trait]
impl Bench for Adopted {
    async fn connect(&self, far: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
        let lifecycle = ClientLifecycleMode::Initialize;
        let service = serve_client_with_lifecycle(ClientConfig::default(), far_end(far), lifecycle).await;
        Ok(Arc::new(AdoptedService::new(service.expect("the handshake succeeds"))))
    }

    fn room(&self) -> usize {
        ROOM
    }
}

/// What waits in rmcp goes out later (R23), whatever its guard says by then.
#[tokio::test(start_paused = true)]
async fn an_adopted_service_keeps_all_but_what_its_documentation_leaves_open() {
    violates(&contract::examine(Adopted).await, &["sent_after_given_up", "guard_stale"]);
}

/// The same, and an error is taken for proof when only a part of the call had been written by then.
struct PartIsProof(Arc<dyn Transport>);

#[async_trait::async_trait]
impl Transport for PartIsProof {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        self.0.call_tool(call).await.map_err(|error| match error.kind() {
            ErrorKind::Deadline => error.proven_unsent(),
            _ => error,
        })
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        self.0.list_tools(cursor).await
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    async fn close(&self) -> Fence {
        self.0.close().await
    }
}

struct Partly;

#[async_trait::async_trait]
impl Bench for Partly {
    async fn connect(&self, far_end: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
        match far_end.behaviour() {
            Behaviour::TakesNothing => Ok(Arc::new(PartIsProof(Adopted.connect(far_end).await?))),
            _ => Err(Unsupported),
        }
    }

    fn room(&self) -> usize {
        ROOM
    }
}

#[tokio::test(start_paused = true)]
async fn a_part_that_was_written_is_no_proof_while_the_rest_may_follow() {
    let report = contract::examine(Partly).await;
    assert_eq!(report.violations()[0].clause(), Clause::FalselyUnsent, "{report}");
}
