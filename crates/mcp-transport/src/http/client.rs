use std::{
    collections::HashMap,
    fmt, io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt, stream::BoxStream};
use http::{
    HeaderName, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE},
};
use reqwest::{Body, StatusCode};
use rmcp::{
    model::{ClientJsonRpcMessage, ErrorCode, JsonRpcError, JsonRpcMessage, RequestId},
    transport::{
        common::http_header::{EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE},
        streamable_http_client::{
            AuthRequiredError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
            StreamableHttpResponseLimits,
        },
    },
};
use sse_stream::{Error as SseError, Sse};
use tokio::time::Instant;

use super::{
    answer_stream::{Address, AnswerStream, events_of},
    body::SealedBody,
    response::{is_of, read, send_error, status_error, unanswered},
};
use crate::{
    Event, TransportError,
    request::{Outgoing, Requests, Sorted, Tap, for_rmcp, is_modest, nothing_for},
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
    /// When a stream that answers no request may be opened again.
    next_stream: Mutex<Instant>,
}

/// The shortest time between two openings of such a stream. rmcp opens it again whenever it ends, and
/// waits no longer than the server says.
const STREAM_PAUSE: Duration = Duration::from_secs(1);

impl HttpClient {
    pub(super) fn new(
        http: reqwest::Client,
        requests: Arc<Requests>,
        tokens: Option<Arc<dyn TokenSource>>,
        max_reply: usize,
        max_resumes: u32,
    ) -> Self {
        let next_stream = Mutex::new(Instant::now());
        Self(Arc::new(Inner { http, requests, tokens, max_reply, max_resumes, next_stream }))
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

    pub(super) fn sort_answer(&self, text: &[u8], to: &Tap) -> Sorted {
        self.0.requests.sort_answer(text, to)
    }

    /// Waits until a request of the server can be handed on: a stream with more of them than are answered
    /// is read no further meanwhile. False when it is to be dropped.
    pub(super) async fn admits(&self, id: &RequestId, text: &str) -> bool {
        // What rmcp would drop is never answered.
        for_rmcp(text.as_bytes()).is_some() && self.0.requests.asked().admitted(id, text.len()).await
    }

    /// The server asks this on the stream that is to answer this request.
    pub(super) fn came_with(&self, question: &RequestId, tap: &Tap) {
        self.0.requests.questions().came_with(question, tap.key);
    }

    /// Whether this is the answer to a question that nobody asks any more: the server was told that the call
    /// was given up, and one that was restarted meanwhile could take it for the answer to its own question.
    fn is_moot(&self, message: &ClientJsonRpcMessage) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        id.is_some_and(|id| self.0.requests.questions().is_moot(id))
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

    async fn post_one_of_ours(
        &self,
        ours: Outgoing<'_>,
        message: &ClientJsonRpcMessage,
        address: Address,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let (uri, token) = match self.authorised(address.uri.clone(), address.token.clone()).await {
            Ok(authorised) => authorised,
            Err(error) => return Err(told(&ours.tap, error)),
        };
        if !ours.register(&self.0.requests) {
            return Err(refused("the request was given up"));
        }
        let json = match ours.json(message) {
            Ok(json) => json,
            Err(error) => return Err(told(&ours.tap, TransportError::other(error))),
        };
        self.post_once(ours.tap, json, Address { uri, ..address }, token).await
    }

    async fn post_once(
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
        let unusable = match status.is_success() {
            true => TransportError::invalid_reply("neither JSON nor an event stream with an answer"),
            false => unanswered(&response, in_session),
        };
        let unusable = || unusable.clone();
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
        match self.sort_answer(&body, &tap) {
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

    /// When a stream that answers no request of ours may be opened. Each takes its turn.
    fn turn(&self) -> Instant {
        let mut next = self.0.next_stream.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = Instant::now().max(*next);
        *next = turn + STREAM_PAUSE;
        turn
    }

    /// Tells progress and events of a stream that answers no request of ours.
    fn observe(
        &self,
        events: BoxStream<'static, Result<Sse, SseError>>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let client = self.clone();
        let observed = events.filter_map(move |event| {
            let client = client.clone();
            async move {
                let Ok(mut event) = event else {
                    return Some(event);
                };
                if let Some(data) = &event.data {
                    match client.0.requests.sort(data.as_bytes()) {
                        Sorted::Delivered(id) => event.data = serde_json::to_string(&nothing_for(id)).ok(),
                        Sorted::Request(id) | Sorted::Echo(id) if !client.admits(&id, data).await => {
                            return None;
                        }
                        _ if !is_modest(data.as_bytes()) => return None,
                        _ => {}
                    }
                }
                Some(Ok(event))
            }
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
        if self.is_moot(&message) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if let Some(ours) = Outgoing::of(&message) {
            let tap = ours.tap.clone();
            let posted = self.post_one_of_ours(ours, &message, Address { uri, session, headers, token });
            return tokio::select! {
                biased;
                posted = posted => posted,
                // Nobody waits for a token, or for a connection, on behalf of a call that is over.
                () = tap.withheld() => Err(refused("the request was given up")),
            };
        }
        let Ok((uri, token)) = self.authorised(uri, token).await else {
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())));
        };
        let http = self.http();
        let posted = http
            .post_message_with_response_limits(uri, message, session, token, headers, limits)
            .await
            .map_err(without_url)?;
        Ok(match posted {
            StreamableHttpPostResponse::Sse(events, session) => {
                StreamableHttpPostResponse::Sse(self.observe(events), session)
            }
            other => other,
        })
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
        tokio::time::sleep_until(self.turn()).await;
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

#[cfg(test)]
mod tests;
