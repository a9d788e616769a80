//! A host's own source of bearer tokens.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use mcp_tool::{Client, Outcome, TokenSource, ToolCall, ToolError, Transport};
use mcp_tool_cli::fault_server::{Http, HttpFault, Reply, Resumed, Scenario, ToolSpec};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::{Error as SseError, Sse};

use crate::server::Server;

/// Has a token, or says why not.
#[derive(Clone, Default)]
struct Tokens {
    gone: Arc<AtomicBool>,
}

#[async_trait]
impl TokenSource for Tokens {
    async fn token(&self) -> Result<Option<String>, Box<dyn std::error::Error + Send + Sync>> {
        match self.gone.load(Ordering::Relaxed) {
            true => Err(io::Error::other("canary: the refresh token was revoked").into()),
            false => Ok(Some("canary".to_owned())),
        }
    }
}

fn is_not_executed_for_want_of_authorisation(error: &ToolError) {
    assert_eq!(error.outcome(), Outcome::NotExecuted);
    assert_eq!(error.transport_error().unwrap().kind().code(), "authorisation_required");
    let told = format!("{error} {error:?} {:?}", error.transport_error());
    assert!(!told.contains("canary") && !error.to_string().contains('\n'), "{told}");
}

#[tokio::test]
async fn a_call_without_a_token_to_be_had_is_not_sent_and_the_next_goes_out_over_the_same_session() {
    let server = Server::start(&Scenario::new().tool(ToolSpec::new("put"))).await;
    let tokens = Tokens::default();
    let client = Client::builder("http", server.connector().with_tokens(tokens.clone())).build();
    client.call(ToolCall::new("put")).await.unwrap();
    tokens.gone.store(true, Ordering::Relaxed);
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    is_not_executed_for_want_of_authorisation(&error);
    assert_eq!((error.attempts(), error.reason().code()), (0, "authorisation_required"));
    tokens.gone.store(false, Ordering::Relaxed);
    client.call(ToolCall::new("put")).await.unwrap();
    let record = server.record();
    assert_eq!((record.received().len(), record.executions().len()), (2, 2));
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_for_want_of_a_token_is_told_so_at_once() {
    let server = Server::start(&Scenario::new().tool(ToolSpec::new("put"))).await;
    let tokens = Tokens::default();
    tokens.gone.store(true, Ordering::Relaxed);
    let client = Client::builder("http", server.connector().with_tokens(tokens.clone())).build();
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    is_not_executed_for_want_of_authorisation(&error);
    assert_eq!(error.reason().code(), "unavailable");
    assert!(server.record().received().is_empty());
    tokens.gone.store(false, Ordering::Relaxed);
    client.call(ToolCall::new("put")).await.unwrap();
    server.stop().await;
}

/// A layer that brings the token of every request, as rmcp's `AuthClient` does.
#[derive(Clone)]
struct Bringing<C>(C);

type Headers = HashMap<HeaderName, HeaderValue>;
type Failure<C> = StreamableHttpError<<C as StreamableHttpClient>::Error>;

fn brought() -> Option<String> {
    Some("canary".to_owned())
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for Bringing<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure<C>> {
        self.0.post_message(uri, message, session, brought(), headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure<C>> {
        self.0.delete_session(uri, session, brought(), headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure<C>> {
        self.0.get_stream(uri, session, last_event, brought(), headers).await
    }
}

#[tokio::test]
async fn a_stream_is_resumed_with_a_token_whoever_brought_it() {
    let scenario = Scenario::new()
        .tool(ToolSpec::new("put"))
        .http(Http::new().token("canary").reply(Reply::SseWithIds).retry_ms(1))
        .on_every_call(HttpFault::SseEndsAfterId { resumed: Resumed::Answer });
    let server = Server::start(&scenario).await;
    let of_a_layer = server.connector().start_with(Bringing).await.unwrap();
    of_a_layer.call_tool(ToolCall::new("put")).await.unwrap();
    let of_the_host = server.connector().with_tokens(Tokens::default()).start().await.unwrap();
    of_the_host.call_tool(ToolCall::new("put")).await.unwrap();
    let record = server.record();
    assert_eq!((record.received().len(), record.resumes().len()), (2, 2));
    server.stop().await;
}
