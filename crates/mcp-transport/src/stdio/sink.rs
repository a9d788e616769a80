use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{io::AsyncWrite, process::ChildStdin};

/// Where the bytes for a server go.
pub(super) enum Sink {
    /// The standard input of a child, which can tell what was never read.
    Pipe(ChildStdin),
    /// Any other stream: what it accepted may have been read.
    Stream(Pin<Box<dyn AsyncWrite + Send>>),
}

impl Sink {
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.writer().poll_write(cx, bytes)
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer().poll_flush(cx)
    }

    /// Whether [`unread`](Self::unread) may ever tell.
    pub(super) fn is_pipe(&self) -> bool {
        matches!(self, Self::Pipe(_)) && cfg!(target_os = "linux")
    }

    /// How many of the accepted bytes nobody has read and nobody can read any more. None while anybody
    /// has the other end, were it a grandchild.
    pub(super) fn unread(&self) -> Option<u64> {
        match self {
            Self::Pipe(pipe) => unread(pipe),
            Self::Stream(_) => None,
        }
    }

    fn writer(&mut self) -> Pin<&mut (dyn AsyncWrite + Send)> {
        match self {
            Self::Pipe(pipe) => Pin::<&mut ChildStdin>::new(pipe),
            Self::Stream(stream) => stream.as_mut(),
        }
    }
}

/// The reader is looked for first: once there is none, the number cannot fall any more. On systems other
/// than Linux nothing is known to tell.
fn unread(pipe: &ChildStdin) -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            event::{PollFd, PollFlags, Timespec, poll},
            io::ioctl_fionread,
        };
        let mut look = [PollFd::new(pipe, PollFlags::OUT)];
        poll(&mut look, Some(&Timespec::default())).ok()?;
        if look[0].revents().contains(PollFlags::ERR) { ioctl_fionread(pipe).ok() } else { None }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pipe;
        None
    }
}
