//! What goes wrong in a row, and what the fault server is told for that.

use std::path::Path as File;

use mcp_tool_cli::fault_server::{
    self as server, Http, HttpFault, Moment, Reply, Response, Resumed, Scenario, ToolSpec, When,
};
use serde_json::json;

use crate::axes;

pub(crate) type Row = axes::Row<Fault>;

/// What goes wrong with the first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Nothing,
    /// The event stream ends after an event id; the rest comes when it is asked for.
    Resumed,
    /// 500 with a JSON-RPC error for a body.
    ErrorWith500,
    /// An application error with the wording of a lost connection.
    ErrorLikeALoss,
    /// The same as a result with `isError`.
    ResultLikeALoss,
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
    pub(crate) const ANSWERED: [Self; 7] = [
        Self::Nothing,
        Self::Resumed,
        Self::ErrorWith500,
        Self::ErrorLikeALoss,
        Self::ResultLikeALoss,
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
    pub(crate) const STATUS: [Self; 11] = [
        Self::Challenged,
        Self::Unauthorised,
        Self::UnauthorisedAfterCommit,
        Self::Forbidden,
        Self::BadRequest,
        Self::TooManyRequests,
        Self::Overloaded,
        Self::OverloadedAfterCommit,
        Self::Redirect,
        Self::RedirectAfterCommit,
        Self::Found,
    ];
    pub(crate) const UNUSABLE: [Self; 8] = [
        Self::Accepted,
        Self::NoContent,
        Self::Html,
        Self::NoRpc,
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

/// The largest reply that the client takes, in bytes. Far less than by default: large ones take time.
pub(crate) const LIMIT: usize = 64 << 10;

/// The text of a reply that is just within the limit.
pub(crate) const LARGE: usize = LIMIT - 1024;

impl Row {
    /// The server's life and its next one. `trigger` is the file that some faults wait for.
    pub(crate) fn scenario(&self, trigger: &File) -> Scenario {
        let first = match (self.fault, self.strikes()) {
            (Fault::DieFourTimes, Some(fault)) => {
                (1..=4).fold(self.healthy(), |scenario, call| scenario.on_call(call, fault.clone()))
            }
            (_, Some(fault)) => self.healthy().on_call(1, fault),
            (_, None) => self.healthy(),
        };
        match self.fault {
            Fault::DieFourTimes => first,
            _ => first.from_start(2, self.next_life(trigger)),
        }
    }

    fn next_life(&self, trigger: &File) -> Scenario {
        match self.fault {
            Fault::DieAndStayDown => {
                self.healthy().http(Http::new().listens(When::Trigger(trigger.to_owned())))
            }
            Fault::AnnotationsLost => self.serving(ToolSpec::new("put")),
            Fault::ToolVanished => self.serving(ToolSpec::new("get")),
            Fault::DownAndToolChanged => self.serving(self.hints.tool().description("another")),
            Fault::SchemaChanged => {
                let schema = json!({"type": "object", "properties": {"key": {"type": "number"}}});
                self.serving(self.hints.tool().input_schema(schema))
            }
            _ => self.healthy(),
        }
    }

    fn healthy(&self) -> Scenario {
        self.serving(self.hints.tool())
    }

    fn serving(&self, tool: ToolSpec) -> Scenario {
        let http = Http::new().reply(self.reply()).retry_ms(1);
        Scenario::new().era(self.era.of_server()).tool(tool).http(http)
    }

    fn reply(&self) -> Reply {
        match self.fault {
            Fault::SseCut | Fault::SseEnds | Fault::LargeEvent | Fault::EventOverTheLimit => Reply::Sse,
            Fault::Resumed | Fault::ResumedEmpty | Fault::ResumedNowhere => Reply::SseWithIds,
            _ => Reply::Json,
        }
    }

    /// What strikes the first call; none when nothing does.
    pub(crate) fn strikes(&self) -> Option<server::Fault> {
        use Moment::{AfterCommit, BeforeCommit};
        let respond = |moment, response| Some(server::Fault::Http(HttpFault::Respond(moment, response)));
        let plain = |status| respond(BeforeCommit, Response::new(status).text("text/plain", "no"));
        let resumed = |resumed| Some(server::Fault::Http(HttpFault::SseEndsAfterId { resumed }));
        match self.fault {
            Fault::Nothing | Fault::Down | Fault::DownAndTrustWithdrawn | Fault::DownAndToolChanged => None,
            Fault::Resumed => resumed(Resumed::Answer),
            Fault::ErrorWith500 => {
                respond(AfterCommit, Response::new(500).rpc_error(-32603, "session not found"))
            }
            Fault::ErrorLikeALoss => Some(server::Fault::lost_connection_error()),
            Fault::ResultLikeALoss => Some(server::Fault::lost_connection_result()),
            Fault::LargeReply | Fault::LargeEvent => Some(server::Fault::AnswerHuge { bytes: LARGE }),

            Fault::ResetBeforeCommit => Some(HttpFault::Reset(BeforeCommit).into()),
            Fault::ResetAfterCommit | Fault::ServerTrustWithdrawn | Fault::WorkspaceTrustWithdrawn => {
                Some(HttpFault::Reset(AfterCommit).into())
            }
            Fault::DieBeforeCommit => Some(server::Fault::DieBeforeCommit),
            Fault::DieAfterCommit
            | Fault::DieFourTimes
            | Fault::DieAndStayDown
            | Fault::AnnotationsLost
            | Fault::SchemaChanged
            | Fault::ToolVanished => Some(server::Fault::DieAfterCommit),
            Fault::JsonCut => Some(HttpFault::JsonCut.into()),
            Fault::SseCut => Some(HttpFault::SseCut.into()),
            Fault::SseEnds => Some(HttpFault::SseEnds.into()),
            Fault::ResumedEmpty => resumed(Resumed::Empty),
            Fault::ResumedNowhere => resumed(Resumed::Status(404)),

            Fault::NotFound => respond(BeforeCommit, Response::new(404)),
            Fault::NotFoundAfterCommit => respond(AfterCommit, Response::new(404)),
            Fault::NotFoundByProxy => respond(BeforeCommit, Response::not_found_by_proxy()),

            Fault::Challenged => respond(BeforeCommit, Response::unauthorised()),
            Fault::Unauthorised => plain(401),
            Fault::UnauthorisedAfterCommit => respond(AfterCommit, Response::unauthorised()),
            Fault::Forbidden => plain(403),
            Fault::BadRequest => plain(400),
            Fault::TooManyRequests => respond(BeforeCommit, Response::too_many_requests(1)),
            Fault::Overloaded => plain(503),
            Fault::OverloadedAfterCommit => respond(AfterCommit, Response::new(503)),
            Fault::Redirect => respond(BeforeCommit, Response::redirect(307)),
            Fault::RedirectAfterCommit => respond(AfterCommit, Response::redirect(308)),
            Fault::Found => respond(BeforeCommit, Response::redirect(302)),

            Fault::Accepted => respond(AfterCommit, Response::new(202)),
            Fault::NoContent => respond(AfterCommit, Response::new(204)),
            Fault::Html => respond(AfterCommit, Response::new(200).answer_as("text/html")),
            Fault::NoRpc => respond(AfterCommit, Response::new(200).text("application/json", "{}")),
            Fault::WrongId => Some(server::Fault::AnswerWrongId),
            Fault::NoToolResult => Some(server::Fault::AnswerNoToolResult),
            Fault::ReplyOverTheLimit | Fault::EventOverTheLimit => {
                Some(server::Fault::AnswerHuge { bytes: LIMIT })
            }

            Fault::Hang | Fault::HangUntilCancelled => Some(server::Fault::Hang),
        }
    }
}
