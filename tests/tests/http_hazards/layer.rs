//! A layer above an HTTP client that posts again with another token after a 401, as those do that
//! refresh tokens.

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

#[derive(Clone)]
pub(crate) struct Refreshing<C>(pub(crate) C);

type Headers = HashMap<HeaderName, HeaderValue>;
type Failure<C> = StreamableHttpError<<C as StreamableHttpClient>::Error>;

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for Refreshing<C> {
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
            self.0.post_message(uri, message, session, token, headers)
        };
        match post("stale").await {
            Err(StreamableHttpError::AuthRequired(_)) => post("fresh").await,
            posted => posted,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure<C>> {
        self.0.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure<C>> {
        self.0.get_stream(uri, session, last_event, token, headers).await
    }
}
