use std::net::Ipv4Addr;

use futures_util::stream;
use reqwest::Body;
use rmcp::transport::{
    DynamicTransportError,
    streamable_http_client::{AuthRequiredError, HttpStatusError},
};
use tokio::net::TcpListener;

use super::*;
use crate::Delivery;

/// What passes of this text, which comes in one chunk.
async fn passes(text: &'static str, limit: usize) -> bool {
    let response = Response::from(http::Response::new(text));
    let chunks: Vec<_> = bounded(response, limit).collect().await;
    chunks.iter().all(Result::is_ok)
}

#[tokio::test]
async fn an_event_over_the_limit_does_not_hide_behind_its_own_end() {
    assert!(passes("data: 12\n\ndata: 34\n\n", 9).await);
    assert!(!passes("data: 12\n\n", 8).await);
    assert!(!passes("data: 1\r\n\r\ndata: 1234567\r\n\r\ndata: 1\r\n\r\n", 9).await);
}

/// What is read of a body that comes in these chunks, with a length in its head or without.
async fn length_read(chunks: &'static [&'static str], limit: usize) -> Result<usize, &'static str> {
    let body = match *chunks {
        [one] => Body::from(one),
        _ => Body::wrap_stream(stream::iter(chunks.iter().map(|chunk| Ok::<_, io::Error>(*chunk)))),
    };
    let read = read(http::Response::new(body).into(), limit).await;
    read.map(|bytes| bytes.len()).map_err(|error| error.kind().code())
}

#[tokio::test]
async fn a_body_is_read_up_to_the_limit_and_no_further() {
    assert_eq!(length_read(&["12345"], 5).await, Ok(5));
    assert_eq!(length_read(&["12345"], 4).await, Err("reply_too_large"));
    assert_eq!(length_read(&["1", "2345"], 5).await, Ok(5));
    assert_eq!(length_read(&["1", "2345"], 4).await, Err("reply_too_large"));
    assert_eq!(length_read(&["1", "2", "3"], 9).await, Ok(3));
    assert_eq!(length_read(&[""], 0).await, Ok(0));
}

#[test]
fn an_event_over_the_limit_is_found_behind_whatever_it_is_told_by() {
    let large = || io::Error::new(io::ErrorKind::FileTooLarge, EventTooLarge);
    assert!(is_too_large(&large()));
    assert!(is_too_large(&Outer(large())));
    assert!(!is_too_large(&io::Error::from(io::ErrorKind::ConnectionReset)));
    assert!(!is_too_large(&EventTooLarge));
}

#[derive(Debug, thiserror::Error)]
#[error("around it")]
struct Outer(#[source] io::Error);

#[test]
fn pauses_double_up_to_five_seconds() {
    let pauses = [0, 1, 5, 6, u32::MAX].map(|resumes| pause(resumes).as_millis());
    assert_eq!(pauses, [100, 200, 3_200, 5_000, 5_000]);
}

#[test]
fn a_status_is_a_loss_of_the_session_only_where_there_is_one() {
    let told = |status, in_session| status_error(status, in_session).kind().code();
    assert_eq!(told(StatusCode::NOT_FOUND, true), "session_lost");
    for in_session in [true, false] {
        assert_eq!(told(StatusCode::FORBIDDEN, in_session), "authorisation_required");
        assert_eq!(told(StatusCode::GONE, in_session), "http_status");
    }
    assert_eq!(told(StatusCode::NOT_FOUND, false), "http_status");
}

#[tokio::test]
async fn a_post_that_failed_says_where() {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let failure = async |url: &str, timeout| {
        let sent = http.post(url).timeout(Duration::from_millis(timeout)).send().await;
        send_error(sent.unwrap_err()).kind().code()
    };
    assert_eq!(failure("no url", 60_000).await, "connect_failed");

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    assert_eq!(failure(&url, 1).await, "deadline");
    let closing = async {
        while let Ok((socket, _)) = listener.accept().await {
            drop(socket);
        }
    };
    tokio::select! {
        told = failure(&url, 60_000) => assert_eq!(told, "connection_lost"),
        () = closing => unreachable!("it accepts for ever"),
    }
    drop(listener);
    assert_eq!(failure(&url, 60_000).await, "connect_failed");
}

fn of_http(error: StreamableHttpError<reqwest::Error>) -> ClientInitializeError {
    let error = DynamicTransportError::from_parts("http", std::any::TypeId::of::<()>(), Box::new(error));
    ClientInitializeError::TransportError { error, context: "a test".into() }
}

fn of_status(status: u16, retry_after: Option<&str>) -> ClientInitializeError {
    of_http(HttpStatusError::new(status, retry_after.map(str::to_owned)).into())
}

#[test]
fn a_handshake_that_http_ended_says_why_and_for_how_long_and_that_no_call_was_sent() {
    let unauthorised = of_http(StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())));
    let html = of_http(StreamableHttpError::UnexpectedContentType(Some("text/html".to_owned())));
    let odd = of_http(StreamableHttpError::UnexpectedServerResponse("odd".into()));
    let later = Some(Duration::from_secs(2));
    for (error, code, retry_after) in [
        (of_status(400, None), "http_status", None),
        (of_status(500, Some("2")), "http_status", later),
        (of_status(429, Some("2")), "connect_failed", later),
        (of_status(503, Some("2")), "connect_failed", later),
        (of_status(502, Some("nonsense")), "connect_failed", None),
        (unauthorised, "authorisation_required", None),
        (html, "handshake_failed", None),
        (odd, "handshake_failed", None),
        (of_http(StreamableHttpError::UnexpectedEndOfStream), "connect_failed", None),
        (ClientInitializeError::ConnectionClosed(String::new()), "connect_failed", None),
    ] {
        let told = refused_handshake(error);
        let shown = (told.kind().code(), told.retry_after(), told.delivery());
        assert_eq!(shown, (code, retry_after, Delivery::Unsent));
    }
    let fallback = Box::new(of_status(503, Some("2")));
    let discover = Box::new(ClientInitializeError::ConnectionClosed(String::new()));
    let told = refused_handshake(ClientInitializeError::LegacyFallbackFailed { discover, fallback });
    assert_eq!((told.kind().code(), told.retry_after()), ("connect_failed", later));
}
