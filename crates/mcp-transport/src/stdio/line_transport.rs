use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use rmcp::{
    model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage},
    service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage},
};
use tokio::{
    sync::mpsc,
    task::coop::consume_budget,
    time::{Instant, sleep},
};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::{
    last_words::LastWords,
    lines::{Line, Lines},
    outbox::Sent,
    wire::Wire,
};
use crate::{
    TransportError,
    request::{Admission, Sorted, for_rmcp, nothing_for},
};

/// How long the calls in flight wait, at the end of the output, for the input's last reader to go.
const LAST_READER: Duration = Duration::from_millis(100);
/// How often it is looked for: nothing tells of it.
const LOOK: Duration = Duration::from_millis(1);

/// The JSON-RPC error of a request that has no room; from the range that is free to use.
const BUSY: ErrorCode = ErrorCode(-32000);

/// One newline-delimited connection, as rmcp's service loop sees it.
///
/// Answers to our own requests never reach rmcp: they go to their caller as raw JSON, and rmcp gets an
/// empty result in their place, so that it forgets the request.
pub(super) struct LineTransport {
    wire: Arc<Wire>,
    lines: Lines,
    released: mpsc::UnboundedReceiver<RequestId>,
    /// Of [`Wire::stop`]. Kept, since whoever waits anew has to put itself on the token's list each time.
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
    last_words: LastWords,
    ending: Option<Ending>,
}

/// The output has ended; what was sent is not judged yet.
struct Ending {
    since: Instant,
    /// An answer that only lacked its newline is an answer.
    last: Option<ServerJsonRpcMessage>,
}

impl LineTransport {
    pub(super) fn new(wire: Arc<Wire>, lines: Lines, released: mpsc::UnboundedReceiver<RequestId>) -> Self {
        let last_words = LastWords::of(wire.child_gone.clone());
        let stopped = Box::pin(wire.stop.clone().cancelled_owned());
        Self { wire, lines, released, stopped, last_words, ending: None }
    }
}

impl rmcp::transport::Transport<RoleClient> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answering = self.wire.requests.asked().answering(&message);
        let sent = self.wire.send(message);
        async move {
            let _answering = answering;
            match sent {
                Sent::Now(result) => result,
                Sent::Later(result) => result.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            // A buffer full of short lines would else be gone through without a chance for anybody else:
            // timers, signals and other connections on this thread.
            consume_budget().await;
            if self.ending.is_some() {
                return self.end().await;
            }
            let line = tokio::select! {
                biased;
                Some(id) = self.released.recv() => return Some(nothing_for(id)),
                () = self.stopped.as_mut() => {
                    self.wire.end();
                    return None;
                }
                line = self.lines.next(), if !self.last_words.are_overdue() => Some(line),
                () = self.last_words.spoken() => None,
            };
            self.last_words.heard();
            match line {
                Some(Line::Whole) => {
                    if let Some(message) = self.accept() {
                        return Some(message);
                    }
                }
                Some(Line::Oversized(id)) => {
                    tracing::debug!("dropped a line over the limit");
                    let too_large = || Err(TransportError::reply_too_large());
                    if let Some(id) = id.and_then(|id| self.wire.deliver(&id, too_large)) {
                        return Some(nothing_for(id));
                    }
                }
                None => self.ending = Some(Ending { since: Instant::now(), last: None }),
                Some(Line::End) => {
                    let last = self.accept();
                    self.ending = Some(Ending { since: Instant::now(), last });
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.wire.end();
        Ok(())
    }
}

impl Drop for LineTransport {
    fn drop(&mut self) {
        self.wire.end();
    }
}

impl LineTransport {
    /// Ends the connection. A request that the pipe took whole may not have been read, which shows as soon
    /// as nobody is left to read it: a process that dies closes its pipes one by one. Cancel-safe.
    async fn end(&mut self) -> Option<ServerJsonRpcMessage> {
        self.wire.outbox.stop();
        let until = self.ending.as_ref().map(|ending| ending.since + LAST_READER);
        while self.wire.may_prove_unread() && until.is_some_and(|until| Instant::now() < until) {
            tokio::select! {
                () = self.stopped.as_mut() => break,
                () = sleep(LOOK) => {}
            }
        }
        self.wire.end();
        self.ending.take().and_then(|ending| ending.last)
    }

    /// Takes the line that was read: for one of our requests, or else as a message for rmcp.
    fn accept(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = self.lines.line();
        match self.wire.sort(line) {
            Sorted::Delivered(id) => Some(nothing_for(id)),
            Sorted::Unasked | Sorted::Other => for_rmcp(line),
            Sorted::Stray => None,
            Sorted::Echo(_) if self.wire.is_shaking_hands.load(Ordering::Relaxed) => {
                self.wire.echoes.store(true, Ordering::Relaxed);
                self.wire.stop.cancel();
                None
            }
            Sorted::Request(id) | Sorted::Echo(id) => {
                let Some(message) = for_rmcp(line) else {
                    let error = ErrorData::invalid_request("the request could not be understood", None);
                    self.wire.refuse(id, error);
                    return None;
                };
                match self.wire.requests.asked().admit(&id, line.len()) {
                    Admission::Admitted => Some(message),
                    Admission::Repeated => None,
                    Admission::Full => {
                        let error = ErrorData::new(BUSY, "too many requests are without an answer", None);
                        self.wire.refuse(id, error);
                        None
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::transport::Transport;
    use tokio::io::duplex;

    use super::*;
    use crate::stdio::{connection::open, sink::Sink};

    #[tokio::test]
    async fn the_connection_ends_when_rmcp_closes_it_or_drops_it() {
        for closes in [true, false] {
            let (server, ours) = duplex(64);
            let (reader, writer) = tokio::io::split(ours);
            let (wire, mut lines) = open(reader, Sink::Stream(Box::pin(writer)), &Default::default());
            assert!(!wire.is_ended());
            if closes {
                lines.close().await.unwrap();
                assert!(wire.is_ended());
            }
            drop(lines);
            assert!(wire.is_ended());
            drop(server);
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(start_paused = true)]
    async fn at_the_end_of_the_output_calls_in_flight_wait_for_the_last_reader_and_no_longer() {
        for (in_flight, waited) in [(true, LAST_READER), (false, Duration::ZERO)] {
            let (reader, writer) = std::io::pipe().unwrap();
            let writer = std::process::ChildStdin::from(std::os::fd::OwnedFd::from(writer));
            let writer = Sink::Pipe(tokio::process::ChildStdin::from_std(writer).unwrap());
            let (output, ours) = duplex(64);
            let (wire, mut lines) = open(ours, writer, &Default::default());
            let mut arrival = in_flight.then(|| wire.requests.open(None).unwrap().1);
            drop(output);
            let began = Instant::now();
            assert!(lines.receive().await.is_none());
            assert_eq!(began.elapsed(), waited);
            assert!(arrival.as_mut().is_none_or(|arrival| arrival.try_recv().unwrap().is_err()));
            drop(reader);
        }
    }
}
