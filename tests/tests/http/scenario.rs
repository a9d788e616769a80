//! What the fault server is told to do in a row.

use std::path::Path as File;

use mcp_tool_cli::fault_server::{
    self as server, Http, HttpFault, Moment, Reply, Response, Resumed, Scenario, Stray, ToolSpec, When,
};
use serde_json::json;

use crate::row::{Fault, Row};

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
            Fault::ErrorWith400 => {
                respond(AfterCommit, Response::new(400).rpc_error(-32600, "no such session"))
            }
            Fault::ErrorLikeALoss => Some(server::Fault::lost_connection_error()),
            Fault::ResultLikeALoss => Some(server::Fault::lost_connection_result()),
            Fault::Garbage => {
                let lines = Stray::ALL.into_iter().filter(|stray| *stray != Stray::NotUtf8).collect();
                Some(server::Fault::Stray { lines })
            }
            Fault::NotText => Some(server::Fault::Stray { lines: vec![Stray::NotUtf8] }),
            Fault::Twice => Some(server::Fault::AnswerTwice),
            Fault::StringId => Some(server::Fault::AnswerStringId),
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
            Fault::BadRequestOfNobody => {
                respond(BeforeCommit, Response::new(400).rpc_error_without_id(-32000, "no valid session"))
            }
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
