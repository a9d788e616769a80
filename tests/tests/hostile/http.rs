//! Servers over HTTP: what comes before, and in place of, an event stream.

use std::{
    io::{self, Write},
    thread,
    time::Duration,
};

use mcp_tool::{Outcome, Reason, mcp_transport::ErrorKind, replay_policy};
use mcp_tool_tests::hostile;
use serde_json::json;

use crate::{
    alone::alone,
    peer::{Peer, Request},
    stdio::{call, client, is_never_answered},
};

/// What is cut is a lost connection, after which a tool that may run twice is tried a few times.
const CUT: &[Reason] = &[Reason::Deadline, Reason::Denied(replay_policy::Reason::ReplayLimit)];

/// What a call on such a server ends with, in doubt.
async fn fails(misbehave: impl Fn(&mut Request) -> io::Result<()> + Send + Sync + 'static, kinds: &[Reason]) {
    let before = std::time::Instant::now();
    let error = call(&client(Peer::on_call(misbehave).connector())).await.unwrap_err();
    println!("{:?} after {:?}", error.reason(), before.elapsed());
    assert!(kinds.contains(&error.reason()), "{:?}", error.reason());
    // Or the policy was asked, and listed again, after a connection that was lost.
    assert_eq!(error.outcome(), Outcome::Unknown);
}

#[test]
fn a_body_without_end_is_too_large_and_that_of_an_error_is_not_waited_for() {
    alone("http::a_body_without_end_is_too_large_and_that_of_an_error_is_not_waited_for", 96, async || {
        let body = |status: &'static str| {
            move |request: &mut Request| {
                request.begin(status, "application/json")?;
                request.stream.write_all(br#"{"jsonrpc":"2.0","id":1,"result":{"x":""#)?;
                request.endless(b"x")
            }
        };
        fails(body("200 OK"), &[Reason::Transport(ErrorKind::ReplyTooLarge)]).await;
        fails(body("400 Bad Request"), &[Reason::Transport(ErrorKind::HttpStatus(400))]).await;
        fails(body("500 Oh"), &[Reason::Transport(ErrorKind::HttpStatus(500))]).await;
        let text = |request: &mut Request| {
            request.begin("502 Bad Gateway", "text/html")?;
            request.endless(b"<p>")
        };
        fails(text, &[Reason::Transport(ErrorKind::HttpStatus(502))]).await;
    });
}

/// Begins a body in chunks.
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

#[test]
fn small_chunks_without_end_end_by_the_deadline() {
    alone("http::small_chunks_without_end_end_by_the_deadline", 48, async || {
        let small = |request: &mut Request| {
            request.stream.write_all(CHUNKED)?;
            request.endless(b"1\r\nx\r\n")
        };
        fails(small, &[Reason::Deadline, Reason::Transport(ErrorKind::ReplyTooLarge)]).await;
    });
}

#[test]
fn a_chunk_whose_size_has_no_end_ends_by_the_deadline() {
    alone("http::a_chunk_whose_size_has_no_end_ends_by_the_deadline", 48, async || {
        let size = |request: &mut Request| {
            request.stream.write_all(CHUNKED)?;
            request.endless(b"0")
        };
        fails(size, CUT).await;
    });
}

#[test]
fn a_chunk_whose_extension_has_no_end_is_cut() {
    alone("http::a_chunk_whose_extension_has_no_end_is_cut", 48, async || {
        let extension = |request: &mut Request| {
            request.stream.write_all(CHUNKED)?;
            request.stream.write_all(b"1;")?;
            request.endless(b"x")
        };
        fails(extension, CUT).await;
    });
}

#[test]
fn a_head_without_end_is_cut() {
    alone("http::a_head_without_end_is_cut", 24, async || {
        let headers = |request: &mut Request| {
            request.stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            request.endless(b"x-more: of the same\r\n")
        };
        fails(headers, CUT).await;
        let value = |request: &mut Request| {
            request.stream.write_all(b"HTTP/1.1 200 OK\r\nx-long: ")?;
            request.endless(b"x")
        };
        fails(value, CUT).await;
        let interim = |request: &mut Request| request.endless(b"HTTP/1.1 100 Continue\r\n\r\n");
        fails(interim, CUT).await;
    });
}

#[test]
fn an_answer_byte_by_byte_ends_by_the_deadline() {
    alone("http::an_answer_byte_by_byte_ends_by_the_deadline", 24, async || {
        let peer = Peer::on_call(|request| {
            let answer = hostile::answer(&request.message["id"], &json!("slow"));
            request.begin("200 OK", "application/json")?;
            for byte in answer.into_bytes() {
                request.stream.write_all(&[byte])?;
                thread::sleep(Duration::from_millis(500));
            }
            Ok(())
        });
        is_never_answered(&client(peer.connector())).await;
    });
}

#[test]
fn a_handshake_without_end_is_given_up() {
    alone("http::a_handshake_without_end_is_given_up", 96, async || {
        for method in ["initialize", "server/discover"] {
            for content_type in ["application/json", "text/event-stream"] {
                let peer = Peer::on(method, move |request| {
                    request.begin("200 OK", content_type)?;
                    request.endless(b": x")
                });
                let connector = peer.connector().with_connect_timeout(Duration::from_secs(2));
                let error = connector.start().await.unwrap_err();
                // Over the limit, or over the time, whichever comes first.
                println!("{method} {content_type}: {:?}", error.kind());
            }
        }
    });
}
