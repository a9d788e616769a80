//! One request between the threads that write it, give it up, answer it and end its connection: in every
//! order in which they can come, or in many.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test -p mcp-transport --features stdio --lib interleavings`

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use rmcp::model::RequestId;
use serde_json::value::RawValue;
use shuttle::{
    Config, Runner,
    scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler},
    thread,
};
use tokio::io::AsyncWrite;

use super::{outbox::Outbox, sink::Sink, wire::Wire};
use crate::{
    Delivery, ToolCall, TransportError,
    request::{Answer, Arrival, Asked, Carrier, Extent, Tap, UnderWay},
};

const REQUEST: &[u8] = b"{\"id\":1}";
/// The most bytes that the writer takes at once: the request leaves in three pieces.
const PIECE: usize = 4;
const SCHEDULES: usize = 5_000;

/// What the server has read: all that was accepted.
#[derive(Clone, Default)]
struct Read(Arc<AtomicUsize>);

impl Read {
    fn bytes(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn is_whole(&self) -> bool {
        self.bytes() >= REQUEST.len()
    }
}

impl AsyncWrite for Read {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let taken = bytes.len().min(PIECE);
        // Anybody may come between the look at the seal and the byte, if the lock lets them.
        thread::yield_now();
        self.0.fetch_add(taken, Ordering::SeqCst);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A connection whose task that writes what waits is at work.
fn connection() -> (Arc<Wire>, Read, thread::JoinHandle<()>) {
    let read = Read::default();
    let (wire, _released) = Wire::new(Outbox::new(Sink::Stream(Box::pin(read.clone()))), Asked::default());
    let drained = wire.clone();
    let drainer = thread::spawn(move || shuttle::future::block_on(drained.outbox.drain()));
    (wire, read, drainer)
}

fn send(wire: &Wire, tap: &Arc<Tap>) {
    if wire.requests.register(tap, &RequestId::Number(1), None) {
        drop(wire.outbox.push(REQUEST.to_vec(), Some(tap.clone())));
    }
}

/// Plays it in many orders: at random, with few changes of the thread, and one after the other.
fn in_many_orders(play: impl Fn() + Send + Sync + Clone + 'static) {
    fn run(scheduler: impl Scheduler + 'static, play: impl Fn() + Send + Sync + 'static) -> usize {
        Runner::new(scheduler, Config::new()).run(play)
    }
    let schedules = run(RandomScheduler::new(SCHEDULES), play.clone())
        + run(PctScheduler::new(3, SCHEDULES), play.clone())
        + run(DfsScheduler::new(Some(SCHEDULES), false), play);
    println!("{schedules} schedules");
}

/// The request is written by one thread and given up by another.
fn given_up(give_up: impl Fn(&Wire, &Arc<Tap>) -> Extent + Send + Sync + 'static) {
    let (wire, read, drainer) = connection();
    let (tap, _arrival) = wire.open(Some(ToolCall::new("put"))).expect("it is open");
    let (writing, written) = (wire.clone(), tap.clone());
    let writer = thread::spawn(move || send(&writing, &written));
    let extent = give_up(&wire, &tap);
    let told = tap.sending().accepted;
    writer.join().unwrap();
    wire.end();
    wire.outbox.shut_down();
    drainer.join().unwrap();
    // What comes behind the request and its newline tells the server of a cancel.
    assert_eq!(read.bytes().min(REQUEST.len() + 1), told, "bytes were accepted after the seal");
    assert_eq!(extent == Extent::Whole, read.is_whole(), "the claim is true");
    assert_eq!(wire.kept(), 0);
}

#[test]
fn no_byte_is_accepted_after_the_seal_and_what_it_found_is_true() {
    in_many_orders(|| given_up(|wire, tap| wire.give_up(tap)));
}

#[test]
fn a_count_that_is_read_before_the_seal_is_found_out() {
    let reads_first = |_: &Wire, tap: &Arc<Tap>| {
        let is_whole = tap.is_out();
        tap.seal();
        if is_whole { Extent::Whole } else { Extent::Part }
    };
    let found = catch_unwind(AssertUnwindSafe(|| in_many_orders(move || given_up(reads_first))));
    assert!(found.is_err());
}

fn answer() -> Arrival {
    Ok(Answer::Result(RawValue::from_string("{}".to_owned()).expect("it is JSON")))
}

#[test]
fn a_request_is_answered_or_given_up_and_never_both_whoever_comes_first() {
    in_many_orders(|| {
        let (wire, read, drainer) = connection();
        let under_way = UnderWay::begin(&*wire, Some(ToolCall::new("put"))).expect("it is open");
        let tap = under_way.tap();
        let writing = wire.clone();
        let writer = thread::spawn(move || send(&writing, &tap));
        let (server, readable) = (wire.clone(), read.clone());
        let answerer = thread::spawn(move || {
            // Only a server that has read the request can answer it.
            readable.is_whole() && server.deliver(&RequestId::Number(1), answer).is_some()
        });
        let ending = wire.clone();
        let ender = thread::spawn(move || ending.end());
        let came = under_way.end(Err(TransportError::deadline()));
        writer.join().unwrap();
        ender.join().unwrap();
        let was_answered = answerer.join().unwrap();
        wire.outbox.shut_down();
        drainer.join().unwrap();
        match came {
            Ok(_) => assert!(was_answered && read.is_whole()),
            // Answered all the same, if its newline was lost: then the request had failed before.
            Err(error) => assert_eq!(error.delivery() == Delivery::Unsent, !read.is_whole(), "{error:?}"),
        }
        assert_eq!(wire.kept(), 0);
    });
}

#[test]
fn of_two_requests_in_one_stream_each_claim_is_true() {
    in_many_orders(|| {
        let (wire, read, drainer) = connection();
        let (first, _first) = wire.open(Some(ToolCall::new("put"))).expect("it is open");
        let (second, _second) = wire.open(Some(ToolCall::new("put"))).expect("it is open");
        let (writing, taps) = (wire.clone(), [first.clone(), second.clone()]);
        let writer = thread::spawn(move || {
            for tap in &taps {
                drop(writing.outbox.push(REQUEST.to_vec(), Some(tap.clone())));
            }
        });
        let giving_up = wire.clone();
        let other = thread::spawn(move || (giving_up.give_up(&second), second));
        let extent = wire.give_up(&first);
        let (other_extent, second) = other.join().unwrap();
        writer.join().unwrap();
        wire.end();
        wire.outbox.shut_down();
        drainer.join().unwrap();
        let accepted = [&first, &second].map(|tap| tap.sending().accepted);
        assert_eq!(read.bytes(), accepted.iter().sum::<usize>());
        for (extent, accepted) in [(extent, accepted[0]), (other_extent, accepted[1])] {
            assert_eq!(extent == Extent::Whole, accepted >= REQUEST.len());
        }
    });
}
