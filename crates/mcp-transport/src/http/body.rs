use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::request::Tap;

/// The body of one POST, which leaves in one piece or not at all.
///
/// hyper asks for it when the connection stands and the head is on its way. Not before: so a body that
/// was never asked for is proof that the request was never complete, whatever the error says. That
/// moment is also where the guard is asked, under the lock that seals.
pub(super) struct SealedBody {
    json: Bytes,
    given: bool,
    tap: Arc<Tap>,
}

impl SealedBody {
    pub(super) fn new(json: Vec<u8>, tap: Arc<Tap>) -> Self {
        Self { json: json.into(), given: false, tap }
    }
}

/// The body was withheld: the request was given up, or its guard said no.
#[derive(Debug, thiserror::Error)]
#[error("the request was withdrawn before its first byte")]
pub(super) struct Withheld;

impl Body for SealedBody {
    type Data = Bytes;
    type Error = Withheld;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Withheld>>> {
        if self.given {
            return Poll::Ready(None);
        }
        let tap = Arc::clone(&self.tap);
        let mut sending = tap.sending();
        if sending.sealed {
            return Poll::Ready(Some(Err(Withheld)));
        }
        if let Some(Err(refusal)) = tap.call.as_ref().map(crate::ToolCall::may_send) {
            sending.sealed = true;
            tap.arrive(Err(refusal));
            return Poll::Ready(Some(Err(Withheld)));
        }
        sending.accepted = sending.json_len;
        drop(sending);
        self.given = true;
        Poll::Ready(Some(Ok(Frame::data(self.json.clone()))))
    }

    fn is_end_stream(&self) -> bool {
        self.given
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(if self.given { 0 } else { self.json.len() as u64 })
    }
}
