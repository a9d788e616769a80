use std::{error::Error, io, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use rmcp::{service::ClientInitializeError, transport::streamable_http_client::StreamableHttpError};

use super::{retry_after::with_retry_after, tls};
use crate::{TransportError, handshake::handshake_error};

/// What a failed POST says, or a client that could not be made. Whether a body had left is for the seal
/// to tell.
pub(super) fn send_error(error: reqwest::Error) -> TransportError {
    if (error.is_connect() || error.is_builder()) && tls::failed(&error) {
        TransportError::tls().caused_by(error.without_url())
    } else if error.is_connect() || error.is_builder() {
        TransportError::connect(error.without_url())
    } else if error.is_timeout() {
        TransportError::deadline().caused_by(error.without_url())
    } else {
        TransportError::connection(error.without_url())
    }
}

/// What an HTTP status that brings no answer says of the request.
pub(super) fn status_error(status: StatusCode, in_session: bool) -> TransportError {
    match status {
        StatusCode::NOT_FOUND if in_session => TransportError::session_lost(),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => TransportError::authorisation_required(),
        status => TransportError::http_status(status.as_u16()),
    }
}

/// The same of a response whose body may still be read.
pub(super) fn unanswered(response: &Response, in_session: bool) -> TransportError {
    let later = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    with_retry_after(status_error(response.status(), in_session), later)
}

/// What a handshake says that an HTTP response has ended. One that says "later" is a server that cannot
/// be reached yet; another will not change its mind.
pub(super) fn refused_handshake(error: ClientInitializeError) -> TransportError {
    let later = later(&error).map(str::to_owned);
    with_retry_after(refusal(error), later.as_deref())
}

/// What the last response of a handshake has for `Retry-After`.
fn later(error: &ClientInitializeError) -> Option<&str> {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => later(fallback),
        ClientInitializeError::TransportError { error, .. } => {
            match error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
                StreamableHttpError::HttpStatus(response) => response.retry_after.as_deref(),
                _ => None,
            }
        }
        _ => None,
    }
}

fn refusal(error: ClientInitializeError) -> TransportError {
    let response = match &error {
        ClientInitializeError::TransportError { error, .. } => error.error.downcast_ref(),
        _ => None,
    };
    let told = match response {
        Some(StreamableHttpError::<reqwest::Error>::AuthRequired(_))
        | Some(StreamableHttpError::InsufficientScope(_)) => TransportError::authorisation_required(),
        Some(StreamableHttpError::HttpStatus(response)) if !matches!(response.status, 429 | 502..=504) => {
            TransportError::http_status(response.status)
        }
        Some(
            StreamableHttpError::UnexpectedContentType(_) | StreamableHttpError::UnexpectedServerResponse(_),
        ) => return TransportError::handshake(error),
        Some(StreamableHttpError::Client(failed)) if speaks_no_http(failed) => {
            return TransportError::handshake(error);
        }
        // With a connect that failed, or later: a server may refuse the client's certificate after the
        // request has left (TLS 1.3).
        Some(StreamableHttpError::Client(failed)) if tls::failed(failed) => TransportError::tls(),
        _ => {
            return match error {
                ClientInitializeError::LegacyFallbackFailed { fallback, .. } => refusal(*fallback),
                error => handshake_error(error),
            };
        }
    };
    told.caused_by(error).proven_unsent()
}

/// Whether something answered, and not in HTTP: a port that speaks TLS, say.
fn speaks_no_http(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return true;
        }
        cause = error.source();
    }
    false
}

pub(super) fn is_of(response: &Response, media_type: &str) -> bool {
    let value = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes());
    let essence = value.and_then(|value| value.split(|byte| *byte == b';').next());
    essence.is_some_and(|essence| essence.trim_ascii().eq_ignore_ascii_case(media_type.as_bytes()))
}

/// Reads a body up to a limit.
pub(super) async fn read(response: Response, limit: usize) -> Result<Bytes, TransportError> {
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(TransportError::reply_too_large());
    }
    let mut body = BytesMut::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(send_error)?;
        if body.len() + chunk.len() > limit {
            return Err(TransportError::reply_too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// The bytes of an event stream, until one event grows over a limit.
pub(super) fn bounded(
    response: Response,
    limit: usize,
) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static {
    let mut event = 0_usize;
    let mut last = 0_u8;
    response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(|error| io::Error::other(error.without_url()))?;
        for byte in chunk.iter().copied().filter(|byte| *byte != b'\r') {
            event = if byte == b'\n' && last == b'\n' { 0 } else { event + 1 };
            last = byte;
            // Not only at the end of the chunk: there the next event may have begun.
            if event > limit {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, EventTooLarge));
            }
        }
        Ok(chunk)
    })
}

#[derive(Debug, thiserror::Error)]
#[error("an event was larger than the limit")]
struct EventTooLarge;

/// Whether an error of the event stream comes from [`bounded`]'s limit.
pub(super) fn is_too_large(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::FileTooLarge)
        {
            return true;
        }
        cause = error.source();
    }
    false
}

/// How long to wait before the `n`th attempt to resume a stream, where the server does not say.
pub(super) fn pause(resumes: u32) -> Duration {
    Duration::from_millis(100).saturating_mul(2_u32.saturating_pow(resumes)).min(Duration::from_secs(5))
}

#[cfg(test)]
mod tests;
