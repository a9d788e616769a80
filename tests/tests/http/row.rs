//! What goes wrong in a row, and which rows there are.

use crate::axes;

pub(crate) type Row = axes::Row<Fault>;

/// What goes wrong with the first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Nothing,
    /// The event stream ends after an event id; the rest comes when it is asked for.
    Resumed,
    /// 500 with a JSON-RPC error to the call for a body.
    ErrorWith500,
    /// The same with 400.
    ErrorWith400,
    /// An application error with the wording of a lost connection.
    ErrorLikeALoss,
    /// The same as a result with `isError`.
    ResultLikeALoss,
    /// Events that answer nothing, before the answer.
    Garbage,
    Twice,
    /// With its id as a string.
    StringId,
    /// Just within the limit.
    LargeReply,
    /// Just within the limit, as an event.
    LargeEvent,

    ResetBeforeCommit,
    ResetAfterCommit,
    DieBeforeCommit,
    DieAfterCommit,
    /// Half of the body.
    JsonCut,
    /// Half of the event.
    SseCut,
    /// Bytes that are no text, before the answer: what comes after them is not read.
    NotText,
    /// In order, without an event.
    SseEnds,
    /// After an event id; whoever asks for the rest gets an empty stream, every time.
    ResumedEmpty,
    /// After an event id; whoever asks for the rest gets 404.
    ResumedNowhere,

    /// 404, which in a session says that the session is lost.
    NotFound,
    NotFoundAfterCommit,
    /// The HTML page of a proxy.
    NotFoundByProxy,

    /// 401 with a challenge.
    Challenged,
    Unauthorised,
    UnauthorisedAfterCommit,
    Forbidden,
    BadRequest,
    /// 400 with a JSON-RPC error to nobody for a body.
    BadRequestOfNobody,
    TooManyRequests,
    Overloaded,
    OverloadedAfterCommit,
    /// 307.
    Redirect,
    /// 308.
    RedirectAfterCommit,
    /// 302.
    Found,

    /// 202.
    Accepted,
    /// 204.
    NoContent,
    /// The answer, as `text/html`.
    Html,
    /// JSON that is no JSON-RPC.
    NoRpc,
    WrongId,
    NoToolResult,
    ReplyOverTheLimit,
    EventOverTheLimit,

    /// Until a deadline.
    Hang,
    /// Until the caller cancels.
    HangUntilCancelled,

    /// After the first four commits. Only for calls that may be replayed: the next one is to work.
    DieFourTimes,
    /// Dies after the commit, and refuses connections until the next call.
    DieAndStayDown,
    /// The next ones die after the commit, and come back changed.
    AnnotationsLost,
    SchemaChanged,
    ToolVanished,
    /// The next ones reset the connection after the commit; then somebody is trusted no longer.
    ServerTrustWithdrawn,
    WorkspaceTrustWithdrawn,

    /// Nobody is there when the call comes; the server is back when it has failed.
    Down,
    /// The same, and trust is gone then.
    DownAndTrustWithdrawn,
    /// The same, and the tool's description is another then.
    DownAndToolChanged,
}

impl Fault {
    pub(crate) const ANSWERED: [Self; 11] = [
        Self::Nothing,
        Self::Resumed,
        Self::ErrorWith500,
        Self::ErrorWith400,
        Self::ErrorLikeALoss,
        Self::ResultLikeALoss,
        Self::Garbage,
        Self::Twice,
        Self::StringId,
        Self::LargeReply,
        Self::LargeEvent,
    ];
    pub(crate) const LOST: [Self; 9] = [
        Self::ResetBeforeCommit,
        Self::ResetAfterCommit,
        Self::DieBeforeCommit,
        Self::DieAfterCommit,
        Self::JsonCut,
        Self::SseCut,
        Self::SseEnds,
        Self::ResumedEmpty,
        Self::ResumedNowhere,
    ];
    pub(crate) const NOT_FOUND: [Self; 3] =
        [Self::NotFound, Self::NotFoundAfterCommit, Self::NotFoundByProxy];
    pub(crate) const STATUS: [Self; 12] = [
        Self::Challenged,
        Self::Unauthorised,
        Self::UnauthorisedAfterCommit,
        Self::Forbidden,
        Self::BadRequest,
        Self::BadRequestOfNobody,
        Self::TooManyRequests,
        Self::Overloaded,
        Self::OverloadedAfterCommit,
        Self::Redirect,
        Self::RedirectAfterCommit,
        Self::Found,
    ];
    pub(crate) const UNUSABLE: [Self; 9] = [
        Self::Accepted,
        Self::NoContent,
        Self::Html,
        Self::NoRpc,
        Self::NotText,
        Self::WrongId,
        Self::NoToolResult,
        Self::ReplyOverTheLimit,
        Self::EventOverTheLimit,
    ];
    pub(crate) const GIVEN_UP: [Self; 2] = [Self::Hang, Self::HangUntilCancelled];
    pub(crate) const CHANGED_MEANWHILE: [Self; 6] = [
        Self::DieAndStayDown,
        Self::AnnotationsLost,
        Self::SchemaChanged,
        Self::ToolVanished,
        Self::ServerTrustWithdrawn,
        Self::WorkspaceTrustWithdrawn,
    ];
    pub(crate) const NEVER_LEFT: [Self; 3] =
        [Self::Down, Self::DownAndTrustWithdrawn, Self::DownAndToolChanged];

    /// Whether the server is not there when the call comes.
    pub(crate) fn is_down(self) -> bool {
        Self::NEVER_LEFT.contains(&self)
    }
}
