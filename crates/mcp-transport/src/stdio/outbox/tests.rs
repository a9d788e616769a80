use std::{
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::io::AsyncWrite;

use super::*;
use crate::{Delivery, Guard, ToolCall, request::Arrival};

type Slot = Arc<Mutex<Option<Arc<Tap>>>>;

/// Accepts so many bytes, and looks at the lock of the tap meanwhile.
struct Writer {
    room: Arc<AtomicUsize>,
    slot: Slot,
    writes: Arc<AtomicUsize>,
}

impl AsyncWrite for Writer {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Some(tap) = &*self.slot.lock().unwrap() {
            assert!(tap.is_locked(), "a seal could come between the bytes and their count");
        }
        self.writes.fetch_add(1, Ordering::Relaxed);
        let taken = bytes.len().min(self.room.load(Ordering::Relaxed));
        self.room.fetch_sub(taken, Ordering::Relaxed);
        if taken == 0 { Poll::Pending } else { Poll::Ready(Ok(taken)) }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn outbox(room: &Arc<AtomicUsize>, slot: &Slot) -> (Outbox, Arc<AtomicUsize>) {
    let writes = Arc::new(AtomicUsize::new(0));
    let writer = Writer { room: room.clone(), slot: slot.clone(), writes: writes.clone() };
    let outbox = Outbox::new(Sink::Stream(Box::pin(writer)));
    // As the task that drains would have done.
    outbox.state().drainer = Some(Waker::noop().clone());
    (outbox, writes)
}

fn room(bytes: usize) -> Arc<AtomicUsize> {
    Arc::new(AtomicUsize::new(bytes))
}

fn tap(call: ToolCall) -> (Arc<Tap>, oneshot::Receiver<Arrival>) {
    let (tap, arrival) = Tap::new(0, Some(call));
    (Arc::new(tap), arrival)
}

#[test]
fn the_lock_that_seals_is_held_from_the_guard_until_the_bytes_are_counted() {
    let slot = Slot::default();
    let asked = Arc::new(AtomicUsize::new(0));
    let guard = Guard::new({
        let (slot, asked) = (slot.clone(), asked.clone());
        move || {
            assert!(slot.lock().unwrap().as_ref().unwrap().is_locked());
            asked.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    });
    let (tap, _arrival) = tap(ToolCall::new("put").with_guard(guard));
    *slot.lock().unwrap() = Some(tap.clone());
    let (outbox, writes) = outbox(&room(1_000), &slot);
    assert!(matches!(outbox.push(b"{}".to_vec(), Some(tap.clone())), Sent::Now(Ok(()))));
    assert_eq!((asked.load(Ordering::Relaxed), writes.load(Ordering::Relaxed)), (1, 1));
    assert_eq!(tap.seal().delivery(), Delivery::Unknown);
}

#[test]
fn a_request_that_was_given_up_takes_no_room_in_the_queue() {
    let (outbox, writes) = outbox(&room(0), &Slot::default());
    let (stuck, _stuck) = tap(ToolCall::new("stuck"));
    let (second, _second) = tap(ToolCall::new("second"));
    for tap in [&stuck, &second] {
        let _ = outbox.push(vec![b'x'; 1_000], Some(tap.clone()));
    }
    assert_eq!(outbox.waiting(), 2);
    assert_eq!(second.seal().delivery(), Delivery::Unsent);
    outbox.cut(&second);
    assert_eq!(outbox.waiting(), 1);
    assert_eq!(stuck.seal().delivery(), Delivery::Unsent);
    outbox.cut(&stuck);
    assert_eq!((outbox.waiting(), outbox.is_broken()), (0, false));

    // Given up between rmcp's queue and this one.
    let (late, _late) = tap(ToolCall::new("late"));
    late.seal();
    let tries = writes.load(Ordering::Relaxed);
    assert!(matches!(outbox.push(b"{}".to_vec(), Some(late)), Sent::Now(Err(_))));
    assert_eq!((outbox.waiting(), writes.load(Ordering::Relaxed)), (0, tries));
}

#[test]
fn the_writer_that_moves_again_looks_at_the_seal_first() {
    for (bytes, is_broken) in [(0, false), (1, true), (2, true)] {
        let room = room(bytes);
        let (outbox, _) = outbox(&room, &Slot::default());
        let (tap, _arrival) = tap(ToolCall::new("put"));
        let _ = outbox.push(b"{}".to_vec(), Some(tap.clone()));
        // The seal is set, and whoever set it has not come to withdraw the frame.
        let expected = if bytes < 2 { Delivery::Unsent } else { Delivery::Unknown };
        assert_eq!(tap.seal().delivery(), expected);
        room.store(1_000, Ordering::Relaxed);
        outbox.state().drive(&mut Context::from_waker(Waker::noop()));
        assert_eq!(room.load(Ordering::Relaxed), 1_000, "not one more byte");
        assert_eq!((outbox.waiting(), outbox.is_broken()), (0, is_broken), "after {bytes} bytes");
    }
}

#[test]
fn a_request_that_finds_the_outbox_broken_is_told() {
    let (outbox, _) = outbox(&room(0), &Slot::default());
    outbox.stop();
    let (tap, mut arrival) = tap(ToolCall::new("put"));
    assert!(matches!(outbox.push(b"{}".to_vec(), Some(tap)), Sent::Now(Err(_))));
    assert!(matches!(arrival.try_recv(), Ok(Err(_))));
}

/// What is known of the frames of a child that reads so many bytes and exits.
#[cfg(target_os = "linux")]
mod unread {
    use std::process::Stdio;

    use tokio::process::{Child, Command};

    use super::*;

    /// Frames of so many bytes and a newline each, and a child that takes so many bytes, one by one, that it
    /// does not end before all of them are written.
    async fn frames(count: usize, length: usize, read: usize) -> (Outbox, Vec<Arc<Tap>>, Child) {
        let mut child = Command::new("dd");
        let child = child.args([&format!("count={read}"), "bs=1", "status=none"]);
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let outbox = Outbox::new(Sink::Pipe(child.stdin.take().unwrap()));
        let taps: Vec<_> = (0..count).map(|_| tap(ToolCall::new("put")).0).collect();
        for tap in &taps {
            assert!(matches!(outbox.push(vec![b'x'; length], Some(tap.clone())), Sent::Now(Ok(()))));
        }
        std::future::poll_fn(|cx| {
            let mut state = outbox.state();
            state.drive(cx);
            if state.queue.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        (outbox, taps, child)
    }

    #[tokio::test]
    async fn what_a_dead_child_read_is_told_to_the_byte_and_so_it_is_after_the_pipe_was_closed() {
        // The last two frames are more than a pipe takes at once.
        let cases: [(usize, usize, &[bool]); 10] = [
            (10, 1, &[false]),
            (10, 9, &[false]),
            (10, 10, &[true]),
            (10, 11, &[true]),
            (10, 12, &[true, false]),
            (10, 20, &[true, false]),
            (10, 21, &[true, true]),
            (10, 22, &[true, true]),
            (100_000, 99_999, &[false]),
            (100_000, 100_000, &[true]),
        ];
        for (length, read, expected) in cases {
            let (outbox, taps, mut child) = frames(expected.len(), length, read).await;
            child.wait().await.unwrap();
            // A process that another test is just starting has all our pipes for a moment.
            for _ in 0..10_000 {
                if !outbox.may_yet_tell() {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
            let may_be_read =
                |outbox: &Outbox| -> Vec<_> { taps.iter().map(|tap| outbox.may_be_read(tap)).collect() };
            assert_eq!(may_be_read(&outbox), expected, "{read} bytes were read");
            outbox.shut_down();
            assert_eq!(may_be_read(&outbox), expected, "{read} bytes were read");
        }
    }

    #[tokio::test]
    async fn of_a_child_that_lives_nothing_is_known_and_of_a_stream_it_never_will() {
        let mut child = Command::new("cat");
        let child = child.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = child.spawn().unwrap();
        let outbox = Outbox::new(Sink::Pipe(child.stdin.take().unwrap()));
        let (of_pipe, _arrival) = tap(ToolCall::new("put"));
        assert!(outbox.may_yet_tell() && outbox.may_be_read(&of_pipe));
        outbox.shut_down();
        child.wait().await.unwrap();
        assert!(!outbox.may_yet_tell() && outbox.may_be_read(&of_pipe));
        let (stream, _) = super::outbox(&room(0), &Slot::default());
        assert!(!stream.may_yet_tell() && stream.may_be_read(&of_pipe));
    }
}
