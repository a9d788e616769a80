//! A writer that accepts exactly as many bytes as a test allows, and remembers them.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
};

use tokio::io::{AsyncWrite, DuplexStream};

#[derive(Clone, Default)]
pub(crate) struct Valve(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    accepted: Vec<u8>,
    limit: Option<(usize, Then)>,
    waiting: Option<Waker>,
}

/// What happens to a byte over the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Stall,
    Fail,
}

impl Valve {
    /// Accepts this many more bytes.
    pub(crate) fn allow(&self, bytes: usize, then: Then) {
        let mut state = self.state();
        state.limit = Some((state.accepted.len() + bytes, then));
        wake(&mut state);
    }

    /// Accepts everything from now on.
    pub(crate) fn open(&self) {
        let mut state = self.state();
        state.limit = None;
        wake(&mut state);
    }

    pub(crate) fn accepted(&self) -> usize {
        self.state().accepted.len()
    }

    pub(crate) fn accepted_since(&self, mark: usize) -> Vec<u8> {
        self.state().accepted[mark..].to_vec()
    }

    /// The writer: what it accepts goes on to the server.
    pub(crate) fn on(&self, to: DuplexStream) -> impl AsyncWrite + Send + 'static {
        Writer { valve: self.clone(), to }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

fn wake(state: &mut State) {
    if let Some(waker) = state.waiting.take() {
        waker.wake();
    }
}

struct Writer {
    valve: Valve,
    to: DuplexStream,
}

impl AsyncWrite for Writer {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { valve, to } = self.get_mut();
        let mut state = valve.state();
        let room = match state.limit {
            None => bytes.len(),
            Some((limit, then)) => match (limit.saturating_sub(state.accepted.len()), then) {
                (0, Then::Fail) => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                (0, Then::Stall) => {
                    state.waiting = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                (room, _) => room.min(bytes.len()),
            },
        };
        let written = Pin::new(to).poll_write(cx, &bytes[..room]);
        if let Poll::Ready(Ok(written)) = &written {
            state.accepted.extend_from_slice(&bytes[..*written]);
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
