//! A layer above an HTTP client that posts again: with another token after a 401, as those do that
//! refresh tokens, and when it has lost patience.

use std::{collections::HashMap, sync::Arc};

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::{Error as SseError, Sse};
use tokio::sync::Notify;

#[derive(Clone)]
pub(crate) struct PostingAgain<C> {
    client: C,
    /// Told of it, the layer waits no longer for what it has posted.
    loses_patience: Arc<Notify>,
}

impl<C> PostingAgain<C> {
    /// Patient for ever.
    pub(crate) fn new(client: C) -> Self {
        Self::until(client, Arc::default())
    }

    pub(crate) fn until(client: C, loses_patience: Arc<Notify>) -> Self {
        Self { client, loses_patience }
    }
}

type Headers = HashMap<HeaderName, HeaderValue>;
type Failure<C> = StreamableHttpError<<C as StreamableHttpClient>::Error>;

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for PostingAgain<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure<C>> {
        let post = |token: &str| {
            let (uri, message, session) = (uri.clone(), message.clone(), session.clone());
            let (token, headers) = (Some(token.to_owned()), headers.clone());
            self.client.post_message(uri, message, session, token, headers)
        };
        let posted = tokio::select! {
            posted = post("stale") => Some(posted),
            () = self.loses_patience.notified() => None,
        };
        match posted {
            None | Some(Err(StreamableHttpError::AuthRequired(_))) => post("fresh").await,
            Some(posted) => posted,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure<C>> {
        self.client.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure<C>> {
        self.client.get_stream(uri, session, last_event, token, headers).await
    }
}
