use std::{collections::HashMap, fmt, io, sync::Arc};

use async_trait::async_trait;
use futures_util::{StreamExt, future::ready, stream::BoxStream};
use http::{
    HeaderName, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE},
};
use reqwest::{Body, StatusCode};
use rmcp::{
    model::{ClientJsonRpcMessage, ErrorCode, JsonRpcError},
    transport::{
        common::http_header::{EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE},
        streamable_http_client::{
            AuthRequiredError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
            StreamableHttpResponseLimits,
        },
    },
};
use sse_stream::{Error as SseError, Sse};

use super::{
    answer_stream::{Address, AnswerStream, events_of},
    body::SealedBody,
    response::{is_of, read, send_error, status_error},
};
use crate::{
    Event, TransportError,
    request::{Outgoing, Requests, Sorted, Tap, nothing_for},
};

type Failure = StreamableHttpError<reqwest::Error>;

/// Gives the bearer token of each request, when it is about to be sent.
///
/// A host that refreshes its tokens does so here, before the POST: a request that was answered with 401
/// is never sent again.
#[async_trait]
pub trait TokenSource: Send + Sync {
    /// The token for the next request, without `Bearer`; none sends no `Authorization` header.
    ///
    /// # Errors
    ///
    /// When there is no valid token to be had: the request is not sent.
    async fn token(&self) -> Result<Option<String>, Box<dyn std::error::Error + Send + Sync>>;
}

/// The HTTP client below rmcp's worker: it sees each POST with its request id.
///
/// A `tools/call` is posted at most once per request, whoever asks (rmcp's session recovery, an
/// authorisation layer that has refreshed its token); what came of it is told to the call by facts, not
/// by the text of an error. Everything else goes through rmcp's own client.
#[derive(Clone)]
pub struct HttpClient(Arc<Inner>);

struct Inner {
    http: reqwest::Client,
    requests: Arc<Requests>,
    tokens: Option<Arc<dyn TokenSource>>,
    max_reply: usize,
    max_resumes: u32,
}

impl HttpClient {
    pub(super) fn new(
        http: reqwest::Client,
        requests: Arc<Requests>,
        tokens: Option<Arc<dyn TokenSource>>,
        max_reply: usize,
        max_resumes: u32,
    ) -> Self {
        Self(Arc::new(Inner { http, requests, tokens, max_reply, max_resumes }))
    }

    pub(super) fn http(&self) -> &reqwest::Client {
        &self.0.http
    }

    pub(super) fn max_reply(&self) -> usize {
        self.0.max_reply
    }

    pub(super) fn max_resumes(&self) -> u32 {
        self.0.max_resumes
    }

    pub(super) fn sort(&self, text: &[u8]) -> Sorted {
        self.0.requests.sort(text)
    }

    /// Where a request goes, and with which token: the one that rmcp brings, or else the host's.
    pub(super) async fn authorised(
        &self,
        uri: Arc<str>,
        given: Option<String>,
    ) -> Result<(Arc<str>, Option<String>), TransportError> {
        let token = match (given, &self.0.tokens) {
            (None, Some(tokens)) => tokens
                .token()
                .await
                .map_err(|error| TransportError::authorisation_required().caused_by(error).proven_unsent())?,
            (given, _) => given,
        };
        Ok((for_one_authorisation(uri, token.as_deref()), token))
    }

    async fn post_ours(
        &self,
        tap: Arc<Tap>,
        json: Vec<u8>,
        address: Address,
        token: Option<String>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        {
            let mut sending = tap.sending();
            if sending.sealed || sending.json_len > 0 {
                return Err(refused("a request is posted once"));
            }
            sending.json_len = json.len();
        }
        let mut request = self
            .http()
            .post(address.uri.as_ref())
            .header(ACCEPT, [JSON_MIME_TYPE, EVENT_STREAM_MIME_TYPE].join(", "))
            .header(CONTENT_TYPE, JSON_MIME_TYPE);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        // The content type is ours to tell; twice, some servers refuse it.
        for (name, value) in address.headers.iter().filter(|(name, _)| *name != CONTENT_TYPE) {
            request = request.header(name, value);
        }
        if let Some(session) = &address.session {
            request = request.header(HEADER_SESSION_ID, session.as_ref());
        }
        let request = request.body(Body::wrap(SealedBody::new(json, tap.clone())));
        match request.send().await {
            Ok(response) => self.answer(tap, response, address).await,
            Err(error) => Err(told(&tap, send_error(error))),
        }
    }

    async fn answer(
        &self,
        tap: Arc<Tap>,
        response: reqwest::Response,
        address: Address,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        tap.rule_out_proof();
        let status = response.status();
        let in_session = address.session.is_some();
        if status == StatusCode::NOT_FOUND && in_session {
            self.0.requests.refuse_further();
            tap.arrive(Err(status_error(status, in_session)));
            return Err(StreamableHttpError::SessionExpired);
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
            let challenge = challenge.unwrap_or_default().to_owned();
            tap.arrive(Err(status_error(status, in_session)));
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)));
        }
        if status.is_success() && is_of(&response, EVENT_STREAM_MIME_TYPE) {
            let events = events_of(response, self.max_reply());
            let stream = AnswerStream::new(self.clone(), tap, address, events);
            return Ok(StreamableHttpPostResponse::Sse(stream.into_events(), None));
        }
        let unusable = || match status.is_success() {
            true => TransportError::invalid_reply("neither JSON nor an event stream with an answer"),
            false => status_error(status, in_session),
        };
        if !is_of(&response, JSON_MIME_TYPE)
            || matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT)
        {
            return Err(told(&tap, unusable()));
        }
        let body = match read(response, self.max_reply()).await {
            Ok(body) => body,
            // An error page that breaks off is still the error that it began as.
            Err(_) if !status.is_success() => return Err(told(&tap, unusable())),
            Err(error) => return Err(told(&tap, error)),
        };
        let may_be_lost = in_session && status.is_client_error();
        if may_be_lost && tap.is_listing() && !says_method_not_found(&body) {
            return Err(told(&tap, unusable()));
        }
        match self.sort(&body) {
            // An answer to another request leaves this one without.
            Sorted::Delivered(_) if !tap.has_arrived() => Err(told(&tap, unusable())),
            Sorted::Delivered(id) => {
                if may_be_lost {
                    // Some servers tell of a lost session like that. Whoever lists again finds out.
                    self.0.requests.events().send(Event::ToolsChanged);
                }
                // A listing goes on to rmcp, which reads the headers that calls need from it.
                let listing = if tap.is_listing() { serde_json::from_slice(&body).ok() } else { None };
                Ok(StreamableHttpPostResponse::Json(listing.unwrap_or_else(|| nothing_for(id)), None))
            }
            _ => Err(told(&tap, unusable())),
        }
    }

    /// Tells progress and events of a stream that answers no request of ours.
    fn observe(
        &self,
        events: BoxStream<'static, Result<Sse, SseError>>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let client = self.clone();
        let observed = events.filter_map(move |event| {
            let Ok(mut event) = event else {
                return ready(Some(event));
            };
            if let Some(data) = &event.data
                && let Sorted::Delivered(id) = client.sort(data.as_bytes())
            {
                event.data = serde_json::to_string(&nothing_for(id)).ok();
            }
            ready(Some(Ok(event)))
        });
        observed.boxed()
    }
}

/// A server without tools, which is no lost session.
fn says_method_not_found(body: &[u8]) -> bool {
    let error = serde_json::from_slice::<JsonRpcError>(body);
    error.is_ok_and(|error| error.error.code == ErrorCode::METHOD_NOT_FOUND)
}

/// Tells the call what ended it, and rmcp only that it has ended.
fn told(tap: &Tap, error: TransportError) -> Failure {
    let for_rmcp = refused(error.kind().code());
    tap.arrive(Err(error));
    for_rmcp
}

fn refused(why: &'static str) -> Failure {
    StreamableHttpError::Io(io::Error::other(why))
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        if session.is_some() {
            self.0.requests.enter_session();
        }
        let ours = Outgoing::of(&message);
        let given = token.clone();
        let (uri, token) = match (self.authorised(uri, token).await, &ours) {
            (Ok(authorised), _) => authorised,
            (Err(error), Some(ours)) => return Err(told(&ours.tap, error)),
            (Err(_), None) => {
                return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())));
            }
        };
        let Some(ours) = ours else {
            let http = self.http();
            let posted = http
                .post_message_with_response_limits(uri, message, session, token, headers, limits)
                .await
                .map_err(without_url)?;
            return Ok(match posted {
                StreamableHttpPostResponse::Sse(events, session) => {
                    StreamableHttpPostResponse::Sse(self.observe(events), session)
                }
                other => other,
            });
        };
        if !ours.register(&self.0.requests) {
            return Err(refused("the request was given up"));
        }
        let json = match ours.json(&message) {
            Ok(json) => json,
            Err(error) => return Err(told(&ours.tap, TransportError::other(error))),
        };
        self.post_ours(ours.tap, json, Address { uri, session, headers, token: given }, token).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let authorised = self.authorised(uri, token).await;
        let (uri, token) = authorised.map_err(|error| refused(error.kind().code()))?;
        self.http().delete_session(uri, session, token, headers).await.map_err(without_url)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let limit = self.max_reply();
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, limit).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        limit: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let authorised = self.authorised(uri, token).await;
        let (uri, token) = authorised.map_err(|error| refused(error.kind().code()))?;
        let http = self.http();
        let events = http
            .get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, limit)
            .await
            .map_err(without_url)?;
        Ok(self.observe(events))
    }
}

/// A name and a password in the URL are sent as `Authorization`, too, and twice is once too often: the
/// token wins.
fn for_one_authorisation(uri: Arc<str>, token: Option<&str>) -> Arc<str> {
    if token.is_none() || !uri.contains('@') {
        return uri;
    }
    let Ok(mut url) = reqwest::Url::parse(&uri) else {
        return uri;
    };
    // Refused only for URLs that can have neither.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.as_str().into()
}

/// rmcp logs these errors, and a URL may hold a secret.
fn without_url(error: Failure) -> Failure {
    match error {
        StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
        other => other,
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpClient")
    }
}
