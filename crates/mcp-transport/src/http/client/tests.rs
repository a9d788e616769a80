use bytes::Bytes;
use futures_util::stream;
use http::{Response, header::RETRY_AFTER};
use tokio::sync::oneshot::Receiver;

use super::*;
use crate::request::Arrival;

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"secret":7}}"#;

type Out = (Arc<Tap>, Receiver<Arrival>);

/// A client with two requests that are out, under the ids 1 and 2.
fn client() -> (HttpClient, [Out; 2]) {
    let requests = Arc::new(Requests::default());
    let out = [1, 2].map(|id| {
        let (tap, arrival) = requests.open(None).unwrap();
        assert!(requests.register(&tap, &RequestId::Number(id), None));
        let mut sending = tap.sending();
        (sending.json_len, sending.accepted) = (1, 1);
        drop(sending);
        (tap, arrival)
    });
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    (HttpClient::new(http, requests, None, 1000, 0), out)
}

fn nowhere() -> Address {
    Address { uri: "http://127.0.0.1/".into(), session: None, headers: HashMap::new(), token: None }
}

fn told(arrival: &mut Receiver<Arrival>) -> &'static str {
    name(&arrival.try_recv().expect("something was told"))
}

fn name(arrival: &Arrival) -> &'static str {
    match arrival {
        Ok(_) => "an answer",
        Err(error) => error.kind().code(),
    }
}

/// What comes of a response to the first request's POST. Its answer is found, so that rmcp's wake does for
/// both; all else is told.
async fn comes_of(response: Response<Body>) -> &'static str {
    let (client, [(tap, mut arrival), _]) = client();
    drop(client.answer(tap.clone(), response.into(), nowhere()).await);
    tap.found().map_or_else(|| told(&mut arrival), |found| name(&found))
}

fn response(status: u16, media_type: &str) -> http::response::Builder {
    Response::builder().status(status).header(CONTENT_TYPE, media_type)
}

#[tokio::test]
async fn an_answer_is_one_where_the_response_says_so() {
    for (status, media_type, expected) in [
        (200, "application/json", "an answer"),
        (200, "Application/JSON; charset=utf-8", "an answer"),
        (400, "application/json", "an answer"),
        (200, "text/plain", "invalid_reply"),
        (202, "application/json", "invalid_reply"),
        (204, "application/json", "invalid_reply"),
        (500, "text/plain", "http_status"),
    ] {
        let response = response(status, media_type).body(ANSWER.into()).unwrap();
        assert_eq!(comes_of(response).await, expected, "{status} {media_type}");
    }
}

#[tokio::test]
async fn an_error_page_that_breaks_off_is_still_an_error_page() {
    for (status, expected) in [(503, "http_status"), (200, "connection_lost")] {
        let pieces = [Ok(Bytes::from("{")), Err(io::Error::from(io::ErrorKind::ConnectionReset))];
        let body = Body::wrap_stream(stream::iter(pieces));
        let response = response(status, "application/json").header(RETRY_AFTER, "1").body(body).unwrap();
        assert_eq!(comes_of(response).await, expected, "{status}");
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_that_requests_and_none_of_this_one() {
    let (client, [(tap, mut arrival), (_, mut other)]) = client();
    let body = ANSWER.replace(r#""id":1"#, r#""id":2"#);
    let response = response(200, "application/json").body(Body::from(body)).unwrap();
    drop(client.answer(tap, response.into(), nowhere()).await);
    assert_eq!((told(&mut arrival), told(&mut other)), ("invalid_reply", "an answer"));
}

#[tokio::test]
async fn of_a_stream_that_answers_nothing_rmcp_gets_no_answer_and_nothing_without_measure() {
    let (client, [(_, mut arrival), _]) = client();
    let vast = format!(r#"{{"jsonrpc":"2.0","method":"n","params":[{}0]}}"#, "0,".repeat(300_000));
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#;
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    // An id is that of one question.
    let same_id = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let events = [ANSWER, &vast, question, same_id, notice].map(|data| {
        Ok::<_, SseError>(Sse { event: None, data: Some(data.to_owned()), id: None, retry: None })
    });
    let passed: Vec<_> = client.observe(stream::iter(events).boxed()).collect().await;
    let passed: Vec<_> = passed.into_iter().map(|event| event.unwrap().data.unwrap()).collect();
    assert_eq!(told(&mut arrival), "an answer");
    assert_eq!(passed[1..], [question, notice]);
    assert!(passed[0].contains(r#""id":1"#) && !passed[0].contains("secret"), "{}", passed[0]);
}

#[tokio::test(start_paused = true)]
async fn streams_that_answer_nothing_are_opened_one_after_the_other() {
    let (client, _) = client();
    let turns = [(); 3].map(|()| client.turn().duration_since(Instant::now()));
    assert_eq!(turns, [Duration::ZERO, STREAM_PAUSE, 2 * STREAM_PAUSE]);
    tokio::time::advance(10 * STREAM_PAUSE).await;
    assert_eq!(client.turn(), Instant::now());
}

#[test]
fn only_a_server_without_tools_says_that_it_knows_no_such_method() {
    let error = |code: i32| format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":""}}}}"#);
    assert!(says_method_not_found(error(-32601).as_bytes()));
    for other in [error(-32600), ANSWER.to_owned(), String::new()] {
        assert!(!says_method_not_found(other.as_bytes()), "{other}");
    }
}

#[test]
fn a_token_stands_before_the_name_and_password_of_a_url() {
    let (named, plain) = ("http://user:secret@host/mcp", "http://host/mcp");
    for (uri, token, expected) in [
        (named, Some("token"), plain),
        (named, None, named),
        (plain, Some("token"), plain),
        ("http://host/mcp?a=b@c", Some("token"), "http://host/mcp?a=b@c"),
        // Not written as a parser would write it, so it was not parsed.
        ("http://HOST/mcp", Some("token"), "http://HOST/mcp"),
    ] {
        assert_eq!(&*for_one_authorisation(uri.into(), token), expected);
    }
}

#[test]
fn a_client_shows_nothing_of_itself() {
    assert_eq!(format!("{:?}", client().0), "HttpClient");
}
