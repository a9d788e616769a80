//! Stock rmcp over Streamable HTTP, as a host would use it that trusts its defaults.

use std::sync::{Arc, Mutex};

use mcp_tool_cli::fault_server::Scenario;
use rmcp::{
    RoleClient, ServiceExt,
    model::{
        CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, JsonRpcMessage,
        ProtocolVersion, RequestId,
    },
    service::{
        ClientLifecycleMode, PeerRequestOptions, RequestHandle, RunningService, RxJsonRpcMessage,
        TxJsonRpcMessage, serve_client_with_lifecycle,
    },
    transport::{
        StreamableHttpClientTransport, Transport,
        streamable_http_client::{StreamableHttpClient, StreamableHttpClientTransportConfig},
    },
};
use serde_json::{Map, Value};

use crate::server::Server;

pub(crate) type Raw = RunningService<RoleClient, ()>;

/// Starts the server and completes the handshake of before 2026-07-28.
pub(crate) async fn connect(scenario: &Scenario) -> (Server, Raw) {
    let server = Server::start(scenario).await;
    let raw = connect_to(&server).await;
    (server, raw)
}

pub(crate) async fn connect_to(server: &Server) -> Raw {
    ().serve(StreamableHttpClientTransport::from_uri(server.url())).await.expect("a healthy handshake")
}

/// The same through a client of the test's own.
pub(crate) async fn connect_with<C: StreamableHttpClient + Sync>(client: C, url: String) -> Raw {
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    ().serve(transport).await.expect("a healthy handshake")
}

/// Completes the handshake of 2026-07-28.
pub(crate) async fn discover(url: String) -> Raw {
    let modern = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let transport = StreamableHttpClientTransport::from_uri(url);
    serve_client_with_lifecycle((), transport, modern).await.expect("a healthy handshake")
}

/// A call of `put` with this key.
pub(crate) fn put(key: &str) -> CallToolRequestParams {
    CallToolRequestParams::new("put").with_arguments(Map::from_iter([("key".to_owned(), Value::from(key))]))
}

/// Hands such a call over, and comes back before there is an answer.
pub(crate) async fn begin(raw: &Raw, key: &str, options: PeerRequestOptions) -> RequestHandle<RoleClient> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(put(key)));
    raw.peer().send_request_with_option(request, options).await.expect("an open queue")
}

/// A wrapper around rmcp's own transport, where one might hope to see what was sent.
pub(crate) struct Witness<T> {
    inner: T,
    sent: Sent,
}

/// The requests that the wrapped transport said it had sent.
pub(crate) type Sent = Arc<Mutex<Vec<RequestId>>>;

/// Completes the handshake behind a witness.
pub(crate) async fn connect_witnessed(server: &Server) -> (Raw, Sent) {
    let sent = Sent::default();
    let inner = StreamableHttpClientTransport::from_uri(server.url());
    let raw = ().serve(Witness { inner, sent: sent.clone() }).await.expect("a healthy handshake");
    (raw, sent)
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Witness<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let (id, sent) = (request_id(&message), self.sent.clone());
        let sending = self.inner.send(message);
        async move {
            sending.await?;
            sent.lock().unwrap().extend(id);
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.inner.receive().await
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

fn request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}
