//! Servers over HTTP: event streams.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use mcp_tool::{Outcome, Reason, ToolCall, mcp_transport::ErrorKind};
use mcp_tool_tests::hostile;
use serde_json::json;
use tokio::time::sleep;

use crate::{
    alone::alone,
    peer::{Peer, event},
    stdio::{call, client, is_never_answered},
};

/// Answers a call with an event stream of these messages without end.
fn flood(what: &'static str) -> Peer {
    Peer::on_call(move |request| {
        let message = hostile::flood(what, &request.message["id"]).unwrap();
        request.begin_events()?;
        request.flood(|number| event(&message(number)))
    })
}

macro_rules! floods {
    ($($name:ident, $mebibytes:expr;)*) => {$(
        #[test]
        fn $name() {
            alone(concat!("streams::", stringify!($name)), $mebibytes, async || {
                is_never_answered(&client(flood(stringify!($name)).connector())).await;
            });
        }
    )*};
}

floods! {
    pings, 10;
    unreadable_requests, 10;
    questions, 10;
    questions_taken_back, 10;
    samplings, 10;
    large_questions, 40;
    notifications, 10;
    list_changed, 10;
    progress_of_nobody, 10;
    banners, 10;
}

#[test]
fn answers_to_nobody_are_no_answer() {
    alone("streams::answers_to_nobody_are_no_answer", 32, async || {
        for what in ["answers_to_nobody", "answers_with_odd_ids"] {
            let error = call(&client(flood(what).connector())).await.unwrap_err();
            let wrong = Reason::Transport(ErrorKind::InvalidReply);
            assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, wrong), "{what}");
        }
    });
}

/// The first answers; what follows is not even read.
#[test]
fn an_answer_that_comes_again_and_again_answers_once() {
    alone("streams::an_answer_that_comes_again_and_again_answers_once", 32, async || {
        let client = client(flood("answers_again_and_again").connector());
        for _ in 0..10 {
            assert!(call(&client).await.is_ok());
        }
    });
}

#[test]
fn comments_and_empty_events_without_end_keep_no_call_alive() {
    alone("streams::comments_and_empty_events_without_end_keep_no_call_alive", 32, async || {
        for text in
            [": still here\n\n", "\n", "\r\n", "event: x\n\n", "id: 1\n\n", "retry: 0\n\n", "data:\n\n"]
        {
            let peer = Peer::on_call(move |request| {
                request.begin_events()?;
                request.endless(text.as_bytes())
            });
            let idle = ToolCall::new("put").with_idle_timeout(Duration::from_millis(500));
            let error = client(peer.connector()).call(idle).await.unwrap_err();
            assert_eq!(
                (error.outcome(), error.reason()),
                (Outcome::Unknown, Reason::IdleTimeout),
                "{text:?}"
            );
        }
    });
}

#[test]
fn an_event_without_end_is_too_large() {
    alone("streams::an_event_without_end_is_too_large", 40, async || {
        for text in ["x", "data: x\n", ": x\n", "id: x\n", "event: x\n"] {
            let peer = Peer::on_call(move |request| {
                request.begin_events()?;
                request.stream.write_all(b"data: ")?;
                request.endless(text.as_bytes())
            });
            // A field that stands once in an event and comes again is a fault of its own.
            let told = match text {
                "id: x\n" | "event: x\n" => ErrorKind::InvalidReply,
                _ => ErrorKind::ReplyTooLarge,
            };
            // Reading sixteen mebibytes of it takes its time.
            let patient = ToolCall::new("put").with_deadline(Duration::from_secs(120));
            let error = client(peer.connector()).call(patient).await.unwrap_err();
            assert_eq!(
                (error.outcome(), error.reason()),
                (Outcome::Unknown, Reason::Transport(told)),
                "{text:?}"
            );
        }
    });
}

/// Answers a call with an event stream of these messages, once.
fn told(what: &'static str) -> Peer {
    Peer::on_call(move |request| {
        let messages = hostile::messages(what, &request.message["id"]);
        request.begin_events()?;
        for message in messages {
            request.stream.write_all(event(&message).as_bytes())?;
        }
        Ok(())
    })
}

#[test]
fn nesting_without_end_overflows_no_stack() {
    alone("streams::nesting_without_end_overflows_no_stack", 48, async || {
        for what in ["deep_answer", "deep_error"] {
            let error = call(&client(told(what).connector())).await.unwrap_err();
            let unreadable = Reason::Transport(ErrorKind::InvalidReply);
            assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, unreadable), "{what}");
        }
        assert!(call(&client(told("deep_everything").connector())).await.is_ok());
    });
}

#[test]
fn small_values_by_the_million_that_answer_nobody_are_not_read() {
    // The peer's own texts are in this: 50 MiB at a time.
    alone("streams::small_values_by_the_million_that_answer_nobody_are_not_read", 224, async || {
        let patient = || ToolCall::new("put").with_deadline(Duration::from_secs(60));
        assert!(client(told("bracket_everything").connector()).call(patient()).await.is_ok());
        // The same on the stream that belongs to no request, while calls are answered.
        let peer = Peer::start(|mut request| {
            if request.method != "GET" {
                return Some(request);
            }
            let _ = request.begin_events();
            for message in hostile::messages("bracket_everything", &json!(78)) {
                let _ = request.stream.write_all(event(&message).as_bytes());
            }
            None
        });
        let client = client(peer.connector());
        for _ in 0..20 {
            assert!(client.call(patient()).await.is_ok());
            sleep(Duration::from_millis(100)).await;
        }
    });
}

/// The stream that belongs to no request (a GET) is a way in, too.
#[test]
fn a_common_stream_that_is_a_flood_harms_no_call() {
    alone("streams::a_common_stream_that_is_a_flood_harms_no_call", 32, async || {
        for what in ["pings", "notifications", "list_changed", "answers_to_nobody", "banners"] {
            let peer = Peer::start(move |mut request| {
                if request.method != "GET" {
                    return Some(request);
                }
                let message = hostile::flood(what, &request.message["id"]).unwrap();
                let _ = request.begin_events().and_then(|()| request.flood(|number| event(&message(number))));
                None
            });
            let client = client(peer.connector());
            for _ in 0..5 {
                assert!(call(&client).await.is_ok(), "{what}");
            }
            sleep(Duration::from_secs(1)).await;
            assert!(call(&client).await.is_ok(), "{what}");
        }
    });
}

/// A server whose streams end as soon as they begin is not asked again and again without a pause.
#[test]
fn a_common_stream_that_ends_at_once_is_not_opened_in_a_hurry() {
    alone("streams::a_common_stream_that_ends_at_once_is_not_opened_in_a_hurry", 32, async || {
        let opened = Arc::new(AtomicU64::new(0));
        let count = opened.clone();
        let peer = Peer::start(move |mut request| {
            if request.method != "GET" {
                return Some(request);
            }
            count.fetch_add(1, SeqCst);
            let ended = |request: &mut crate::peer::Request| -> io::Result<()> {
                request.begin_events()?;
                request.stream.write_all(b"id: 1\nretry: 0\ndata:\n\n")
            };
            let _ = ended(&mut request);
            None
        });
        let client = client(peer.connector());
        assert!(call(&client).await.is_ok());
        sleep(Duration::from_secs(5)).await;
        let opened = opened.load(SeqCst);
        println!("opened {opened} times");
        assert!(opened < 50, "{opened}");
    });
}
