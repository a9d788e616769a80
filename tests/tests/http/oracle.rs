//! What must come of a row. Written from the rules, and knows nothing of the crates under test.
//!
//! Three steps: how does the first attempt end, may the call go out again, and what does it find then?
//! Every row ends with a second call, which must find the server again.

use crate::{
    axes::{Era, Path, Trust},
    gate::{End, RAN, denial},
    row::{Fault, Row},
    scenario::LARGE,
};

/// All that is seen of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Of the first call, as are all that follow up to `resumes`.
    pub(crate) end: End,
    pub(crate) attempts: u32,
    pub(crate) replays: u32,
    pub(crate) unsent: u32,
    /// By the ledger: POSTs, and side effects.
    pub(crate) posts: u32,
    pub(crate) executions: u32,
    /// GETs for the rest of an event stream.
    pub(crate) resumes: u32,
    /// Over both calls.
    pub(crate) starts: u32,
    /// Handshakes; before 2026-07-28 each makes a session.
    pub(crate) connections: u32,
    /// Of the second call.
    pub(crate) next: End,
}

/// How the first attempt ends.
#[derive(Clone, Copy)]
enum First {
    /// With something that is handed on as it is. The tool ran.
    Answer(End),
    /// With the loss of its answer. `ran` says whether the tool did.
    Lost { ran: u32, leaves: Leaves },
    /// With something that is no answer and no loss: out of time, a status, a reply of no use.
    Over { ran: u32, code: &'static str },
    /// Nobody was there to take it.
    Unsent,
}

/// What a loss leaves behind.
#[derive(Clone, Copy, PartialEq)]
enum Leaves {
    /// The session: only the answer is lost.
    Session,
    /// The process, which knows the session no longer.
    Process,
    /// Nothing.
    Nothing,
}

/// How often an event stream is asked for that never brings anything.
const RESUMES: u32 = 5;

/// The outcomes that are right: one, or several where the server's return is a race.
pub(crate) fn right(row: Row) -> Vec<Outcome> {
    let outcome = match first(row) {
        First::Answer(end) => once(end, 1),
        First::Over { ran, code } => once(End::Unknown(code), ran),
        First::Lost { ran, leaves } => in_doubt(row, ran, leaves),
        First::Unsent => unsent(row),
    };
    let resumes = match row.fault {
        Fault::Resumed | Fault::ResumedNowhere => 1,
        Fault::ResumedEmpty => RESUMES,
        _ => 0,
    };
    let next = if row.fault == Fault::ToolVanished { End::NotExecuted("unknown_tool") } else { RAN };
    // A process that knows no sessions is met again as if nothing had happened, if it is back already.
    let few = match (row.path, row.era) {
        (Path::Direct, Era::Modern) if outcome.starts > 1 => 1,
        _ => outcome.connections,
    };
    (few..=outcome.connections).map(|connections| Outcome { connections, resumes, next, ..outcome }).collect()
}

fn first(row: Row) -> First {
    let lost = |ran, leaves| First::Lost { ran, leaves };
    let over = |ran, code| First::Over { ran, code };
    // There are no sessions to lose from 2026-07-28 on: then 404 is a status like others.
    let not_found = |ran| match row.era {
        Era::Legacy => lost(ran, Leaves::Process),
        Era::Modern => over(ran, "http_status"),
    };
    match row.fault {
        Fault::Nothing | Fault::Resumed | Fault::Garbage | Fault::Twice | Fault::StringId => {
            First::Answer(RAN)
        }
        Fault::ErrorWith500 | Fault::ErrorWith400 | Fault::ErrorLikeALoss => First::Answer(End::JsonRpcError),
        Fault::ResultLikeALoss => First::Answer(End::ErrorResult),
        Fault::LargeReply | Fault::LargeEvent => First::Answer(End::Result(LARGE)),

        Fault::ResetBeforeCommit => lost(0, Leaves::Session),
        Fault::ResetAfterCommit
        | Fault::JsonCut
        | Fault::SseCut
        | Fault::SseEnds
        | Fault::ResumedEmpty
        | Fault::ResumedNowhere
        | Fault::ServerTrustWithdrawn
        | Fault::WorkspaceTrustWithdrawn => lost(1, Leaves::Session),
        Fault::DieBeforeCommit => lost(0, Leaves::Nothing),
        Fault::DieAfterCommit
        | Fault::DieFourTimes
        | Fault::DieAndStayDown
        | Fault::AnnotationsLost
        | Fault::SchemaChanged
        | Fault::ToolVanished => lost(1, Leaves::Nothing),

        Fault::NotFound | Fault::NotFoundByProxy => not_found(0),
        Fault::NotFoundAfterCommit => not_found(1),

        Fault::Challenged | Fault::Unauthorised | Fault::Forbidden => over(0, "authorisation_required"),
        Fault::UnauthorisedAfterCommit => over(1, "authorisation_required"),
        Fault::BadRequest
        | Fault::BadRequestOfNobody
        | Fault::TooManyRequests
        | Fault::Overloaded
        | Fault::Redirect
        | Fault::Found => over(0, "http_status"),
        Fault::OverloadedAfterCommit | Fault::RedirectAfterCommit => over(1, "http_status"),

        Fault::Accepted
        | Fault::NoContent
        | Fault::Html
        | Fault::NoRpc
        | Fault::NotText
        | Fault::WrongId
        | Fault::NoToolResult => over(1, "invalid_reply"),
        Fault::ReplyOverTheLimit | Fault::EventOverTheLimit => over(1, "reply_too_large"),

        Fault::Hang => over(1, "deadline"),
        Fault::HangUntilCancelled => over(1, "cancelled"),

        Fault::Down | Fault::DownAndTrustWithdrawn | Fault::DownAndToolChanged => First::Unsent,
    }
}

/// It may have run: the gate decides, here and again after the new listing.
fn in_doubt(row: Row, ran: u32, leaves: Leaves) -> Outcome {
    let starts = if leaves == Leaves::Nothing { 2 } else { 1 };
    // A lost answer costs a connection of this project nothing. Closures cannot tell, so they are given up.
    let connections = if leaves == Leaves::Session && row.path == Path::Direct { 1 } else { 2 };
    let once = |end, ran| Outcome { starts, connections, ..once(end, ran) };
    if let Some(code) = denial(row.hints, row.trust) {
        return once(End::Unknown(code), ran);
    }
    match row.fault {
        Fault::AnnotationsLost => once(End::Unknown("unannotated"), ran),
        Fault::SchemaChanged => once(End::Unknown("tool_changed"), ran),
        Fault::ToolVanished => once(End::Unknown("tool_vanished"), ran),
        Fault::ServerTrustWithdrawn => once(End::Unknown("server_untrusted"), ran),
        Fault::WorkspaceTrustWithdrawn => once(End::Unknown("workspace_untrusted"), ran),
        Fault::DieAndStayDown => once(End::Unknown("unavailable"), ran),
        // Three replays, and no more.
        Fault::DieFourTimes => Outcome {
            attempts: 4,
            replays: 3,
            posts: 4,
            starts: 5,
            connections: 5,
            ..once(End::Unknown("replay_limit"), 4)
        },
        _ => Outcome { attempts: 2, replays: 1, posts: 2, ..once(RAN, ran + 1) },
    }
}

/// It did not leave: this is still the first delivery, on the terms that it began under.
fn unsent(row: Row) -> Outcome {
    let end = match (row.fault, row.trust) {
        (Fault::DownAndToolChanged, _) => End::NotExecuted("tool_changed"),
        (Fault::DownAndTrustWithdrawn, Trust::Both) => End::NotExecuted("trust_withdrawn"),
        _ => RAN,
    };
    let sent = u32::from(end == RAN);
    Outcome { attempts: sent, posts: sent, unsent: 1, starts: 2, connections: 2, ..once(end, sent) }
}

/// One POST, one connection.
fn once(end: End, executions: u32) -> Outcome {
    Outcome {
        end,
        attempts: 1,
        replays: 0,
        unsent: 0,
        posts: 1,
        executions,
        resumes: 0,
        starts: 1,
        connections: 1,
        next: RAN,
    }
}
