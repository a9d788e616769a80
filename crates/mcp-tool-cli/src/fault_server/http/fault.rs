//! What can go wrong with one `tools/call` over Streamable HTTP.
use super::{super::When, Response};
use serde::{Deserialize, Serialize};

/// What a server does with one POST of a `tools/call`, besides the faults that every front knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HttpFault {
    /// Reads the request and resets the connection (RST), without a byte of a reply.
    Reset(Moment),
    /// Commits, and resets the connection at `when`, without a byte of a reply.
    ResetLate {
        /// When the connection ends.
        when: When,
    },
    /// Replies with this instead of the answer.
    Respond(Moment, Response),
    /// Commits, and closes the connection after half of the announced JSON body.
    JsonCut,
    /// Commits, and closes the connection in the middle of the event with the answer.
    SseCut,
    /// Commits, and ends the event stream in order, without an event.
    SseEnds,
    /// Commits, and ends the event stream in order after an event id. A GET with that id gets `resumed`.
    SseEndsAfterId {
        /// What each GET gets that asks for the rest.
        resumed: Resumed,
    },
}

/// When a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The request is read; the side effect does not happen.
    BeforeCommit,
    /// The side effect happened.
    AfterCommit,
}

/// What a GET with the `Last-Event-ID` of an ended stream gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resumed {
    /// The rest of the stream, with the answer.
    Answer,
    /// An event stream that ends without an event, every time.
    Empty,
    /// This status, every time.
    Status(u16),
    /// This status once, then the rest of the stream, with the answer.
    StatusThenAnswer(u16),
}

impl HttpFault {
    /// The name that the ledger uses, such as `reset_after_commit` or `http_503_before_commit`.
    pub fn name(&self) -> String {
        match self {
            Self::Reset(moment) => format!("reset_{}", moment.name()),
            Self::ResetLate { .. } => "reset_late".to_owned(),
            Self::Respond(moment, response) => format!("http_{}_{}", response.status(), moment.name()),
            Self::JsonCut => "json_cut".to_owned(),
            Self::SseCut => "sse_cut".to_owned(),
            Self::SseEnds => "sse_ends".to_owned(),
            Self::SseEndsAfterId { .. } => "sse_ends_after_id".to_owned(),
        }
    }

    pub(in super::super) fn moment(&self) -> Moment {
        match self {
            Self::Reset(moment) | Self::Respond(moment, _) => *moment,
            Self::ResetLate { .. }
            | Self::JsonCut
            | Self::SseCut
            | Self::SseEnds
            | Self::SseEndsAfterId { .. } => Moment::AfterCommit,
        }
    }
}

impl Moment {
    fn name(self) -> &'static str {
        match self {
            Self::BeforeCommit => "before_commit",
            Self::AfterCommit => "after_commit",
        }
    }
}
