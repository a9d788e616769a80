//! OAuth by rmcp's `AuthClient`, above this project's HTTP client: a token is refreshed before a call, and
//! a call that was answered with 401 is not sent again behind anybody's back.
//!
//! `cargo run -p mcp-tool --all-features --example oauth`
//!
//! The server is a small one in this program, which knows the tokens that the authority gave out; the
//! authority is a closure. A real host leaves both out, and lets its user log in first.

use std::{
    error::Error,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use mcp_tool::{
    Client, Connector, HttpConnector, Outcome, ToolCall, Transport, TransportError, connector_fn,
};
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationMetadata, CredentialStore, OAuthClientConfig,
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest, StoredCredentials,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let world = World::default();
    let server = TcpListener::bind("127.0.0.1:0").await?;
    let address = server.local_addr()?;
    tokio::spawn(serve(server, world.clone()));

    // The user has logged in a while ago; the token that came of it has run out since.
    let client = Client::builder("notes", connector(address, &world)?).build();
    let answer = client.call(ToolCall::new("append").with_argument("text", "buy milk")).await?;
    println!("an expired token: answered after {} attempt, refreshed before it", answer.attempts);
    assert_eq!((world.refreshed(), world.calls()), (1, vec![200]));

    // The token is revoked, which nobody here can know. `AuthClient` refreshes it and posts again; that
    // second POST is refused, since nobody can say what stands behind a 401.
    world.revoke();
    let error = client.call(ToolCall::new("append").with_argument("text", "buy bread")).await.unwrap_err();
    println!("a revoked token: {error}");
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "authorisation_required"));
    assert_eq!(world.calls(), [200, 401]);

    // The token that it fetched serves the next call.
    let answer = client.call(ToolCall::new("append").with_argument("text", "buy bread")).await?;
    println!("the next call: answered after {} attempt", answer.attempts);
    assert_eq!((world.refreshed(), world.calls()), (2, vec![200, 401, 200]));
    Ok(())
}

/// Reaches the server through `AuthClient`. Each connection gets a manager of its own; the credentials
/// are shared, by way of the store.
fn connector(server: SocketAddr, world: &World) -> Result<impl Connector + use<>, Box<dyn Error>> {
    let url = format!("http://{server}/mcp");
    let http = HttpConnector::new(&url)?;
    let (identity, world) = (http.identity(), world.clone());
    let connect = move || {
        let (http, url, world) = (http.clone(), url.clone(), world.clone());
        async move {
            let manager = manager(&url, world).await.map_err(TransportError::other)?;
            let connection = http.start_with(|client| AuthClient::new(client, manager)).await?;
            Ok::<_, TransportError>(Arc::new(connection) as Arc<dyn Transport>)
        }
    };
    Ok(connector_fn(connect).with_identity(identity))
}

async fn manager(url: &str, world: World) -> Result<AuthorizationManager, AuthError> {
    let mut manager = AuthorizationManager::new_with_oauth_http_client(url, Arc::new(world.clone())).await?;
    manager.set_credential_store(world);
    let mut metadata = AuthorizationMetadata::default();
    metadata.authorization_endpoint = "https://authority.example/authorize".to_owned();
    metadata.token_endpoint = "https://authority.example/token".to_owned();
    manager.set_metadata(metadata);
    manager.configure_client(OAuthClientConfig::new("notes-host", "http://localhost/callback"))?;
    Ok(manager)
}

/// The authority, the store of the user's credentials, and what the server knows of both.
#[derive(Clone, Default)]
struct World(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Tokens are `token-0`, `token-1`, …; only the latest is good, unless it was revoked.
    latest: u32,
    revoked: bool,
    saved: Option<StoredCredentials>,
    /// The status of each call that the server read.
    calls: Vec<u16>,
}

impl World {
    fn revoke(&self) {
        self.state().revoked = true;
    }

    fn refreshed(&self) -> u32 {
        self.state().latest
    }

    fn calls(&self) -> Vec<u16> {
        self.state().calls.clone()
    }

    fn accepts(&self, head: &str) -> bool {
        let state = self.state();
        !state.revoked && head.contains(&format!("bearer token-{}\r\n", state.latest))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn token(number: u32) -> Value {
    json!({
        "access_token": format!("token-{number}"), "token_type": "bearer", "expires_in": 3600,
        "refresh_token": "from the login",
    })
}

#[async_trait]
impl CredentialStore for World {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let login = serde_json::from_value(token(0)).expect("a token response");
        // Received in 1970, so it ran out an hour later.
        let login = StoredCredentials::new("notes-host".to_owned(), Some(login), Vec::new(), Some(0));
        Ok(Some(self.state().saved.clone().unwrap_or(login)))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.state().saved = Some(credentials);
        Ok(())
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.state().saved = None;
        Ok(())
    }
}

/// The authority's token endpoint.
impl OAuthHttpClient for World {
    fn execute(&self, _: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        let number = {
            let mut state = self.state();
            state.latest += 1;
            state.revoked = false;
            state.latest
        };
        Box::pin(async move {
            let body = token(number).to_string().into_bytes();
            let response = http::Response::builder().header("content-type", "application/json").body(body)?;
            Ok(response)
        })
    }
}

/// An MCP server with one tool, which answers whoever has the right token.
async fn serve(listener: TcpListener, world: World) {
    while let Ok((socket, _)) = listener.accept().await {
        let world = world.clone();
        tokio::spawn(async move { answer(socket, &world).await });
    }
}

async fn answer(mut socket: TcpStream, world: &World) -> Option<()> {
    let (head, request) = read(&mut socket).await?;
    let result = match request["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1.0.0"},
        }),
        Some("tools/list") => json!({"tools": [{"name": "append", "inputSchema": {"type": "object"}}]}),
        Some("tools/call") => json!({"content": [{"type": "text", "text": "appended"}]}),
        _ => Value::Null,
    };
    let status = if world.accepts(&head) { 200 } else { 401 };
    if request["method"] == "tools/call" {
        world.state().calls.push(status);
    }
    let body = match (status, &request["id"], result) {
        (401, ..) => String::new(),
        (_, Value::Null, _) => String::new(),
        (_, id, Value::Null) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
                .to_string()
        }
        (_, id, result) => json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
    };
    let status = if body.is_empty() && status == 200 { 202 } else { status };
    let head = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all((head + &body).as_bytes()).await.ok()
}

/// The head and the body of one request.
async fn read(socket: &mut TcpStream) -> Option<(String, Value)> {
    let mut reader = BufReader::new(socket);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    head.make_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let mut body = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).await.ok()?;
    Some((head, serde_json::from_slice(&body).unwrap_or_default()))
}
