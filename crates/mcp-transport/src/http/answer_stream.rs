use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream, stream::BoxStream};
use http::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::{StreamableHttpClient, StreamableHttpError};
use sse_stream::{Error as SseError, Sse, SseStream};

use super::{
    client::HttpClient,
    response::{bounded, is_too_large, pause},
};
use crate::{
    TransportError,
    request::{Sorted, Tap, is_modest, nothing_for},
};

pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// However long the server asks to wait before a stream is resumed.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The event stream that answers one POST, with its resumptions.
///
/// rmcp sees one stream without event ids, so it never resumes by itself, which it would do without
/// bound. What cannot be resumed any more is lost, and said to be so at once.
pub(super) struct AnswerStream {
    pub(super) client: HttpClient,
    pub(super) tap: Arc<Tap>,
    pub(super) address: Address,
    pub(super) events: Events,
    last_event: Option<String>,
    retry: Option<Duration>,
    resumes: u32,
    answered: bool,
    /// It carried an answer to something else.
    strayed: bool,
}

/// Where a stream is resumed.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) uri: Arc<str>,
    pub(super) session: Option<Arc<str>>,
    pub(super) headers: HashMap<HeaderName, HeaderValue>,
    /// The token that a layer above brought with the POST. The host's own source is asked anew.
    pub(super) token: Option<String>,
}

/// The events of a response, each up to a limit in bytes.
pub(super) fn events_of(response: reqwest::Response, limit: usize) -> Events {
    SseStream::from_bytes_stream(Box::pin(bounded(response, limit))).boxed()
}

impl AnswerStream {
    pub(super) fn new(client: HttpClient, tap: Arc<Tap>, address: Address, events: Events) -> Self {
        Self {
            client,
            tap,
            address,
            events,
            last_event: None,
            retry: None,
            resumes: 0,
            answered: false,
            strayed: false,
        }
    }

    pub(super) fn into_events(self) -> Events {
        stream::unfold(self, |mut stream| async { stream.next().await.map(|event| (Ok(event), stream)) })
            .boxed()
    }

    async fn next(&mut self) -> Option<Sse> {
        while !self.answered && !self.tap.sending().sealed {
            match self.events.next().await {
                Some(Ok(event)) => {
                    if let Some(event) = self.take(event).await {
                        return Some(event);
                    }
                }
                Some(Err(error)) if is_too_large(&error) => {
                    self.tap.arrive(Err(TransportError::reply_too_large()));
                    return None;
                }
                // What came can be read no further; that it was cut is another matter.
                Some(Err(error)) if !matches!(error, SseError::Body(_)) => {
                    self.tap.arrive(Err(TransportError::invalid_reply("not an event stream")));
                    return None;
                }
                // Cut or ended without the answer.
                Some(Err(_)) | None => {
                    let Some(events) = self.resume().await else {
                        self.tap.arrive(Err(self.without_answer()));
                        return None;
                    };
                    self.events = events;
                }
            }
        }
        None
    }

    async fn take(&mut self, mut event: Sse) -> Option<Sse> {
        self.last_event = event.id.take().or_else(|| self.last_event.take());
        self.retry = event.retry.take().map(Duration::from_millis).or(self.retry);
        let data = event.data.as_deref()?;
        match self.client.sort_answer(data.as_bytes(), &self.tap) {
            Sorted::Delivered(id) if self.tap.has_arrived() => {
                self.answered = true;
                // A listing goes on to rmcp, which reads the headers that calls need from it.
                if !self.tap.is_listing() {
                    event.data = serde_json::to_string(&nothing_for(id)).ok();
                }
                Some(event)
            }
            // rmcp would read no further.
            Sorted::Delivered(_) | Sorted::Unasked => {
                self.strayed = true;
                None
            }
            Sorted::Request(id) | Sorted::Echo(id) => {
                self.client.came_with(&id, &self.tap);
                self.client.admits(&id, data).await.then_some(event)
            }
            Sorted::Other => is_modest(data.as_bytes()).then_some(event),
            Sorted::Stray => None,
        }
    }

    /// A server that answered another request on this stream has answered this one wrongly, as it would
    /// have in JSON; a stream that brought no answer at all was lost.
    fn without_answer(&self) -> TransportError {
        match self.strayed {
            true => TransportError::invalid_reply("an event stream that answers another request"),
            false => TransportError::lost(),
        }
    }

    /// Asks for the rest of the stream (Last-Event-ID), within the bound on all attempts together.
    async fn resume(&mut self) -> Option<Events> {
        let last_event = self.last_event.clone()?;
        while self.resumes < self.client.max_resumes() {
            tokio::time::sleep(self.retry.unwrap_or_else(|| pause(self.resumes)).min(LONGEST_PAUSE)).await;
            self.resumes += 1;
            let Address { uri, session, headers, token } = self.address.clone();
            let (uri, token) = self.client.authorised(uri, token).await.ok()?;
            let resumed = self.client.http().get_stream_with_max_sse_event_size(
                uri,
                session,
                Some(last_event.clone()),
                token,
                headers,
                self.client.max_reply(),
            );
            match resumed.await {
                Ok(events) => return Some(events),
                Err(error) if is_on_its_way_back(&error) => {}
                Err(_) => return None,
            }
        }
        None
    }
}

/// Whether the server, or what stands before it, asks to come again.
fn is_on_its_way_back(error: &StreamableHttpError<reqwest::Error>) -> bool {
    match error {
        StreamableHttpError::Client(error) => error.is_connect(),
        StreamableHttpError::HttpStatus(response) => matches!(response.status, 429 | 502..=504),
        _ => false,
    }
}
