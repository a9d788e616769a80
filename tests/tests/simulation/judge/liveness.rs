//! A call that may go on goes on: where the server is back in time, it is answered.

use mcp_tool::{Outcome, replay_policy::Trust};

use super::{Case, Complaint, Story};
use crate::{
    life::{CallFault, Connect, Noise, ReadFault, WriteFault},
    schedule::LONG,
    tool::Listed,
    world::{Event, Got, Harm},
};

pub(super) fn judge(case: &Case<'_>, story: &Story<'_>, complaints: &mut Vec<Complaint>) {
    if !goes_on(case, story) {
        return;
    }
    let Some(Got::Error { outcome, code, replays, unsent, .. }) = story.got else { return };
    let during = &case.events[..story.span.1];
    let is_right = match code {
        "replay_limit" => replays == 3,
        "resend_limit" => unsent == 4,
        "attempt_limit" => replays + unsent >= 4,
        // Nothing but a server that could not be reached, or would not list.
        "unavailable" => during.iter().any(|(_, event)| matches!(event, Event::Hurt { .. })),
        "deadline" | "idle_timeout" => during.iter().any(|(_, event)| is_a_standstill(event)),
        "invalid_reply" => during.iter().any(|(_, event)| is_nonsense(event)),
        _ => false,
    };
    if !is_right {
        let what =
            format!("call {}: ended as {outcome:?}, {code}, and nothing was in its way", story.call.key);
        complaints.push(Complaint::of("I15", what));
    }
}

/// Whether nothing but its server may end this call: it was declared safe throughout, or was never sent.
fn goes_on(case: &Case<'_>, story: &Story<'_>) -> bool {
    let (call, schedule) = (story.call, case.schedule);
    let definitions = schedule.lives.iter().map(|life| life.tools[call.tool]);
    let first = schedule.lives[0].tools[call.tool];
    let is_one_tool =
        first.listed == Listed::Once && definitions.clone().all(|definition| definition == first);
    let is_patient = call.deadline == LONG && call.idle == LONG / 2;
    let stays = call.cancelled.is_none() && call.dropped.is_none() && schedule.moves.is_empty();
    let is_trusted = schedule.trust == Trust::BOTH && schedule.flips.is_empty();
    let is_unsent = matches!(story.got, Some(Got::Error { outcome: Outcome::NotExecuted, .. }));
    is_one_tool && is_patient && stays && is_trusted && (first.is_declared_safe() || is_unsent)
}

/// An answer that may have been meant for any call that was out.
fn is_nonsense(event: &Event) -> bool {
    match event {
        Event::Struck { fault, .. } => {
            matches!(fault, CallFault::AnswersNonsense | CallFault::AnswersNobody)
        }
        Event::Harmless { noise, .. } => *noise == Noise::UnknownId,
        _ => false,
    }
}

fn is_a_standstill(event: &Event) -> bool {
    match event {
        Event::Struck { fault, .. } => {
            matches!(fault, CallFault::HangsBefore | CallFault::HangsAfter | CallFault::StopsReading)
        }
        Event::Hurt { by, .. } => matches!(
            by,
            Harm::Write(WriteFault::Stall | WriteFault::Pause | WriteFault::Vanish | WriteFault::Break)
                | Harm::Read(ReadFault::Stall)
                | Harm::Listing(_)
                | Harm::Connect(Connect::Slow | Connect::HandshakeHangs)
        ),
        _ => false,
    }
}
