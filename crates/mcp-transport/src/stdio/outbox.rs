use std::{
    collections::VecDeque,
    io,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use tokio::sync::oneshot;

use super::sink::Sink;
use crate::{
    TransportError,
    request::Tap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The one place where bytes are accepted for the server.
///
/// Frames leave in the order in which rmcp hands them over. A frame is written at once when the writer
/// takes it, else by [`Outbox::drain`]. Before the first byte of a call its guard is asked, under the
/// lock of its [`Tap`], which is also the lock that seals: after a seal no byte is accepted any more.
pub(super) struct Outbox {
    state: Mutex<State>,
    /// [`State::broken`], for those who only look: whoever holds the lock may be in the middle of a write.
    broken: Arc<AtomicBool>,
}

struct State {
    /// None once the outbox was shut down.
    writer: Option<Sink>,
    /// Bytes that the writer has accepted, of all frames.
    accepted: u64,
    /// What [`State::read_at_most`] said when the outbox was shut down.
    read: Option<u64>,
    queue: VecDeque<Frame>,
    /// The stream takes nothing more: the writer failed, or a frame was cut in the middle. Set under the
    /// lock.
    broken: Arc<AtomicBool>,
    /// Wakes the task that drains; also registered with the writer by writes made on the spot.
    drainer: Option<Waker>,
}

struct Frame {
    bytes: Vec<u8>,
    offset: usize,
    tap: Option<Arc<Tap>>,
    done: Option<oneshot::Sender<io::Result<()>>>,
}

/// What became of a frame that was handed over.
pub(super) enum Sent {
    /// Decided on the spot.
    Now(io::Result<()>),
    /// Waits for the writer.
    Later(oneshot::Receiver<io::Result<()>>),
}

enum Step {
    Written,
    Pending,
    /// The frame was sealed before its first byte: it leaves the queue and the stream lives.
    Withdrawn(Option<TransportError>),
    Broken(io::Error),
}

impl Outbox {
    pub(super) fn new(writer: Sink) -> Self {
        let broken = Arc::new(AtomicBool::new(false));
        let state = State {
            writer: Some(writer),
            accepted: 0,
            read: None,
            queue: VecDeque::new(),
            broken: broken.clone(),
            drainer: None,
        };
        Self { state: Mutex::new(state), broken }
    }

    /// Hands over one frame: a JSON text without its newline.
    pub(super) fn push(&self, mut json: Vec<u8>, tap: Option<Arc<Tap>>) -> Sent {
        let json_len = json.len();
        json.push(b'\n');
        let mut state = self.state();
        if state.is_broken() {
            if let Some(tap) = tap {
                tap.arrive(Err(TransportError::connection(broken_pipe())));
            }
            return Sent::Now(Err(broken_pipe()));
        }
        if let Some(tap) = &tap {
            let mut sending = tap.sending();
            if sending.sealed {
                return Sent::Now(Err(withdrawn()));
            }
            sending.json_len = json_len;
        }
        // Our own requests are followed by their taps; only rmcp's other messages need a report.
        let (done, later) = match tap {
            Some(_) => (None, None),
            None => {
                let (done, later) = oneshot::channel();
                (Some(done), Some(later))
            }
        };
        state.queue.push_back(Frame { bytes: json, offset: 0, tap, done });
        if state.queue.len() == 1
            && let Some(waker) = state.drainer.clone()
        {
            state.drive(&mut Context::from_waker(&waker));
        }
        later.map_or(Sent::Now(Ok(())), Sent::Later)
    }

    /// Writes what waits, until the outbox is shut down. Run by one task per connection.
    pub(super) async fn drain(&self) {
        std::future::poll_fn(|cx| {
            let mut state = self.state();
            if state.writer.is_none() {
                return Poll::Ready(());
            }
            state.drainer = Some(cx.waker().clone());
            state.drive(cx);
            Poll::Pending
        })
        .await;
    }

    /// Follows up on a seal: an untouched frame leaves the queue, one cut in the middle (were it only
    /// its newline that is missing) ends the stream.
    pub(super) fn cut(&self, tap: &Arc<Tap>) {
        let is_its = |frame: &Frame| frame.tap.as_ref().is_some_and(|other| Arc::ptr_eq(other, tap));
        let mut state = self.state();
        match state.queue.iter().position(is_its) {
            Some(at) if state.queue[at].offset > 0 => state.fail(&broken_pipe()),
            Some(at) => drop(state.queue.remove(at)),
            None => {}
        }
    }

    /// Whether no further byte will be accepted.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Whether the server has read, or may still read, a request to the end of its JSON text. Asked of
    /// one that was sealed.
    pub(super) fn may_be_read(&self, tap: &Tap) -> bool {
        let ends_at = tap.sending().ends_at;
        self.state().read_at_most().is_none_or(|read| read >= ends_at)
    }

    /// Whether it can become known what the server has read, and is not yet.
    pub(super) fn may_yet_tell(&self) -> bool {
        let state = self.state();
        state.writer.as_ref().is_some_and(Sink::is_pipe) && state.read_at_most().is_none()
    }

    /// Accepts nothing more, but keeps the writer open: the server may still answer.
    pub(super) fn stop(&self) {
        self.state().fail(&broken_pipe());
    }

    /// Accepts nothing more and closes the writer. Never waits for a write that is stuck.
    pub(super) fn shut_down(&self) {
        let mut state = self.state();
        state.fail(&broken_pipe());
        state.read = state.read_at_most();
        let writer = state.writer.take();
        let drainer = state.drainer.take();
        drop(state);
        drop(writer);
        if let Some(drainer) = drainer {
            drainer.wake();
        }
    }

    /// How many frames have not left.
    pub(super) fn waiting(&self) -> usize {
        self.state().queue.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        while let (false, Some(writer), Some(frame)) =
            (self.is_broken(), &mut self.writer, self.queue.front_mut())
        {
            match frame.step(writer, &mut self.accepted, cx) {
                Step::Pending => return,
                Step::Broken(error) => self.fail(&error),
                Step::Written => {
                    if let Some(frame) = self.queue.pop_front() {
                        frame.finish(Ok(()));
                    }
                }
                Step::Withdrawn(refusal) => {
                    if let Some(frame) = self.queue.pop_front() {
                        frame.withdraw(refusal);
                    }
                }
            }
        }
        // What a writer with a buffer of its own still holds would otherwise wait for the next frame.
        if let (false, Some(writer)) = (self.is_broken(), &mut self.writer)
            && let Poll::Ready(Err(error)) = writer.poll_flush(cx)
        {
            self.fail(&error);
        }
    }

    /// How many bytes of the stream the server has read, where that is known: nobody is left to read
    /// more, so nothing more is accepted either.
    fn read_at_most(&self) -> Option<u64> {
        let unread = || self.writer.as_ref().and_then(Sink::unread);
        self.read.or_else(|| unread().map(|unread| self.accepted.saturating_sub(unread)))
    }

    fn fail(&mut self, error: &io::Error) {
        self.broken.store(true, Ordering::Release);
        for frame in self.queue.drain(..) {
            if let Some(tap) = &frame.tap {
                tap.arrive(Err(TransportError::connection(io::Error::from(error.kind()))));
            }
            frame.finish(Err(error.kind().into()));
        }
    }
}

impl Frame {
    fn step(&mut self, writer: &mut Sink, accepted: &mut u64, cx: &mut Context<'_>) -> Step {
        while self.offset < self.bytes.len() {
            // Held from the look at the seal until the bytes are counted: the two are one step.
            let mut sending = self.tap.as_ref().map(|tap| tap.sending());
            if sending.as_ref().is_some_and(|sending| sending.sealed) {
                return if self.offset == 0 { Step::Withdrawn(None) } else { Step::Broken(broken_pipe()) };
            }
            if self.offset == 0
                && let Some(call) = self.tap.as_ref().and_then(|tap| tap.call.as_ref())
                && let Err(refusal) = call.may_send()
            {
                if let Some(sending) = &mut sending {
                    sending.sealed = true;
                }
                return Step::Withdrawn(Some(refusal));
            }
            match writer.poll_write(cx, &self.bytes[self.offset..]) {
                Poll::Pending => return Step::Pending,
                Poll::Ready(Err(error)) => return Step::Broken(error),
                Poll::Ready(Ok(0)) => return Step::Broken(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(written)) => {
                    if let Some(sending) = &mut sending {
                        sending.ends_at = *accepted + (sending.json_len - self.offset) as u64;
                        sending.accepted = self.offset + written;
                    }
                    self.offset += written;
                    *accepted += written as u64;
                }
            }
        }
        Step::Written
    }

    fn withdraw(self, refusal: Option<TransportError>) {
        if let (Some(tap), Some(refusal)) = (&self.tap, refusal) {
            tap.arrive(Err(refusal));
        }
        self.finish(Err(withdrawn()));
    }

    fn finish(self, result: io::Result<()>) {
        if let Some(done) = self.done {
            // Most senders do not wait for this.
            let _ = done.send(result);
        }
    }
}

fn broken_pipe() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

fn withdrawn() -> io::Error {
    io::ErrorKind::Interrupted.into()
}

#[cfg(test)]
mod tests;
