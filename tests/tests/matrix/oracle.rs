//! What must come of a row. Written from the rules, and knows nothing of the crates under test.
//!
//! Three steps: how does the first attempt end, may the call go out again, and what does it find then?

use crate::{
    axes::{Era, Path, Trust},
    gate::{End, RAN, denial},
    row::{Fault, Row},
};

/// All that is seen of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Of the first call.
    pub(crate) end: End,
    pub(crate) attempts: u32,
    pub(crate) replays: u32,
    pub(crate) unsent: u32,
    /// Of the second call, where there is one.
    pub(crate) second: Option<End>,
    /// By the ledger, over all calls.
    pub(crate) received: u32,
    pub(crate) executions: u32,
    pub(crate) starts: u32,
}

/// How the first attempt ends.
#[derive(Clone, Copy)]
enum First {
    /// With something that is handed on as it is. The tool ran.
    Answer(End),
    /// With the connection. `read` and `ran` say how far the server came.
    Lost { read: u32, ran: u32, proof: Proof },
    /// Out of time, or with a reply that cannot be used.
    Over { read: u32, ran: u32, end: End },
    /// It is never made: the loss was noticed before.
    Never,
    /// The loss is noticed before or by it: a request of the client's own may have met it already.
    NeverOrUnsent,
}

/// Whether it is proven that the call did not leave.
#[derive(Clone, Copy)]
enum Proof {
    None,
    Unsent,
    /// The pipe took the call or did not: that is a race which the kernel decides.
    Kernel,
}

/// The reconnects that the stage allows after the first try.
pub(crate) const RETRIES: u32 = 2;

/// The outcomes that are right: one, or two where the kernel decides.
pub(crate) fn right(row: Row) -> Vec<Outcome> {
    match first(row) {
        First::Answer(end) => vec![once(end, 1, 1)],
        First::Over { read, ran, end } => vec![Outcome { second: second(row), ..over(row, read, ran, end) }],
        First::Never => vec![never()],
        First::NeverOrUnsent => vec![never(), unsent(row)],
        First::Lost { read, ran, proof: Proof::None } => vec![in_doubt(row, read, ran)],
        First::Lost { proof: Proof::Unsent, .. } => vec![unsent(row)],
        First::Lost { read, ran, proof: Proof::Kernel } => vec![in_doubt(row, read, ran), unsent(row)],
    }
}

fn first(row: Row) -> First {
    let lost = |read, ran| First::Lost { read, ran, proof: Proof::None };
    let over = |read, ran, end| First::Over { read, ran, end };
    match row.fault {
        Fault::Nothing | Fault::NoNewline | Fault::FloodedStderr | Fault::Garbage => First::Answer(RAN),
        Fault::LargeReply => First::Answer(End::Result(11 << 20)),
        Fault::ErrorLikeALoss => First::Answer(End::JsonRpcError),
        Fault::ResultLikeALoss => First::Answer(End::ErrorResult),

        Fault::DieBeforeReading | Fault::DieWhileReading => {
            First::Lost { read: 0, ran: 0, proof: Proof::Kernel }
        }
        Fault::DieBeforeCommit => lost(1, 0),
        Fault::DieAfterCommit
        | Fault::CloseStdout
        | Fault::HalfALine
        | Fault::DieEveryTime
        | Fault::NeverStartsAgain
        | Fault::AnnotationsLost
        | Fault::SchemaChanged
        | Fault::ToolVanished
        | Fault::ServerTrustWithdrawn
        | Fault::WorkspaceTrustWithdrawn => lost(1, 1),

        // Closures are not asked whether their connection lives: the call finds out, and proves it.
        Fault::DiedIdle if row.path == Path::Direct => First::Never,
        // In the newer protocol the client subscribes to changes, at a moment of its own.
        Fault::CloseStdin if row.path == Path::Direct && row.era == Era::Modern => First::NeverOrUnsent,
        Fault::DiedIdle
        | Fault::CloseStdin
        | Fault::UnsentAndTrustWithdrawn
        | Fault::UnsentAndToolChanged => First::Lost { read: 0, ran: 0, proof: Proof::Unsent },

        Fault::Hang | Fault::LateAnswer => over(1, 1, End::Unknown("deadline")),
        Fault::WrongId => over(1, 1, End::Unknown("invalid_reply")),
        Fault::StopReading => over(0, 0, End::Unknown("deadline")),
        Fault::StopReadingLongCall => over(0, 0, End::NotExecuted("deadline")),
        Fault::ReplyOverTheLimit => over(1, 1, End::Unknown("reply_too_large")),
        Fault::NoToolResult => over(1, 1, End::Unknown("invalid_reply")),
    }
}

/// It may have run: the gate decides, here and again after the restart.
fn in_doubt(row: Row, read: u32, ran: u32) -> Outcome {
    let lost = |code, starts| Outcome { starts, ..once(End::Unknown(code), read, ran) };
    if let Some(code) = denial(row.hints, row.trust) {
        return lost(code, 1);
    }
    match row.fault {
        Fault::AnnotationsLost => lost("unannotated", 2),
        Fault::SchemaChanged => lost("tool_changed", 2),
        Fault::ToolVanished => lost("tool_vanished", 2),
        Fault::ServerTrustWithdrawn => lost("server_untrusted", 2),
        Fault::WorkspaceTrustWithdrawn => lost("workspace_untrusted", 2),
        Fault::NeverStartsAgain => lost("unavailable", 1 + 1 + RETRIES),
        // Three replays, and no more.
        Fault::DieEveryTime => {
            Outcome { attempts: 4, replays: 3, starts: 4, ..once(End::Unknown("replay_limit"), 4, 4) }
        }
        _ => Outcome { attempts: 2, replays: 1, starts: 2, ..once(RAN, read + 1, ran + 1) },
    }
}

/// It did not leave: this is still the first delivery, on the terms that it began under.
fn unsent(row: Row) -> Outcome {
    let end = match (row.fault, row.trust) {
        (Fault::UnsentAndToolChanged, _) => End::NotExecuted("tool_changed"),
        (Fault::UnsentAndTrustWithdrawn, Trust::Both) => End::NotExecuted("trust_withdrawn"),
        _ => RAN,
    };
    let sent = u32::from(end == RAN);
    Outcome { attempts: sent, unsent: 1, starts: 2, ..once(end, sent, sent) }
}

/// Delivered by the next process, in one attempt.
fn never() -> Outcome {
    Outcome { starts: 2, ..once(RAN, 1, 1) }
}

/// No second attempt, whoever is trusted and whatever is declared.
fn over(row: Row, read: u32, ran: u32, end: End) -> Outcome {
    let second = u32::from(second(row).is_some());
    match end {
        End::NotExecuted(_) => Outcome { attempts: 0, unsent: 1, ..once(end, read, ran) },
        _ => once(end, read + second, ran + second),
    }
}

fn second(row: Row) -> Option<End> {
    (row.fault == Fault::LateAnswer).then_some(End::JsonRpcError)
}

/// One request, one start.
fn once(end: End, received: u32, executions: u32) -> Outcome {
    Outcome { end, attempts: 1, replays: 0, unsent: 0, second: None, received, executions, starts: 1 }
}
