//! The two byte streams of one connection, and what becomes of them.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    task::coop::unconstrained,
};

use crate::{
    life::{ReadFault, WriteFault},
    world::{Event, Harm, World},
};

/// How long a write waits that goes on afterwards.
const PAUSE: u64 = 4_000;

/// How often a task may go on before others have their turn is no part of a play: it depends on the order in
/// which rmcp looks at what is ready, which is random.
fn at_once<T>(cx: &mut Context<'_>, poll: impl FnMut(&mut Context<'_>) -> Poll<T> + Unpin) -> Poll<T> {
    Pin::new(&mut unconstrained(poll_fn(poll))).poll(cx)
}

/// Towards the server. Everything that it accepts is in the record.
pub(crate) struct Requests {
    pub(crate) stream: DuplexStream,
    pub(crate) world: World,
    pub(crate) life: usize,
    /// The most bytes that one write takes.
    pub(crate) write: usize,
    pub(crate) accepted: usize,
    pub(crate) fault: Option<(usize, WriteFault)>,
    pub(crate) told: bool,
    pub(crate) pause: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Requests {
    /// What the writer is told. A pause that is over is no fault any more.
    fn strike(&mut self, fault: WriteFault, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match fault {
            WriteFault::Break => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            WriteFault::Stall | WriteFault::Vanish => Poll::Pending,
            WriteFault::Pause => {
                let world = self.world.clone();
                let pause = self.pause.get_or_insert_with(|| {
                    let moment = world.moment(PAUSE);
                    Box::pin(async move { world.at(moment).await })
                });
                if pause.as_mut().poll(cx).is_ready() {
                    self.fault = None;
                }
                Poll::Pending
            }
        }
    }
}

impl AsyncWrite for Requests {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let pipe = self.get_mut();
        let mut room = pipe.write.min(bytes.len());
        let mut vanishes = false;
        if let Some((at, fault)) = pipe.fault {
            if pipe.accepted >= at {
                if !std::mem::replace(&mut pipe.told, true) {
                    pipe.world.tell(Event::Hurt { life: pipe.life, by: Harm::Write(fault) });
                }
                vanishes = fault == WriteFault::Vanish;
                if !vanishes {
                    let struck = pipe.strike(fault, cx);
                    if pipe.fault.is_some() {
                        return struck;
                    }
                }
            } else {
                room = room.min(at - pipe.accepted);
            }
        }
        let written = match vanishes {
            true => Poll::Ready(Ok(room)),
            false => at_once(cx, |cx| Pin::new(&mut pipe.stream).poll_write(cx, &bytes[..room])),
        };
        if let Poll::Ready(Ok(written)) = written {
            pipe.accepted += written;
            pipe.world.accepted(pipe.life, &bytes[..written]);
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// From the server.
pub(crate) struct Answers {
    pub(crate) stream: DuplexStream,
    pub(crate) world: World,
    pub(crate) life: usize,
    pub(crate) left: usize,
    pub(crate) fault: Option<ReadFault>,
    pub(crate) told: bool,
}

impl AsyncRead for Answers {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let pipe = self.get_mut();
        let Some(fault) = pipe.fault else {
            return at_once(cx, |cx| Pin::new(&mut pipe.stream).poll_read(cx, buffer));
        };
        if pipe.left == 0 {
            if !std::mem::replace(&mut pipe.told, true) {
                pipe.world.tell(Event::Hurt { life: pipe.life, by: Harm::Read(fault) });
            }
            return match fault {
                ReadFault::End => Poll::Ready(Ok(())),
                ReadFault::Reset => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                ReadFault::Stall => Poll::Pending,
            };
        }
        let room = pipe.left.min(buffer.remaining());
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(room));
        let read = at_once(cx, |cx| Pin::new(&mut pipe.stream).poll_read(cx, &mut part));
        let filled = part.filled().len();
        pipe.left -= filled;
        buffer.advance(filled);
        read
    }
}
