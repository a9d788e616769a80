//! What a caller is told is true, and in time.

use mcp_tool::{Happening, Outcome};

use super::{Case, Complaint, Story};
use crate::world::{Event, Got};

/// What a call may take beyond its deadline, in milliseconds.
const GRACE: u64 = 1_000;
const REPLAYS: u32 = 3;
const RESENDS: u32 = 3;

pub(super) fn judge(case: &Case<'_>, story: &Story<'_>, complaints: &mut Vec<Complaint>) {
    let key = story.call.key;
    let mut must = |is_so: bool, invariant, what: &str| {
        if !is_so {
            let what = format!("call {key}: {what} ({:?})", story.got);
            complaints.push(Complaint::of(invariant, what));
        }
    };
    let (requests, executions) = (story.requests.len() as u32, story.executions as u32);
    let took = case.time(story.span.1) - case.time(story.span.0);
    must(took <= story.call.deadline + GRACE, "I15", "took longer than its deadline allows");
    must(executions <= requests, "I16", "ran more often than it was sent");

    let ended: Vec<_> =
        story.told.iter().filter(|(_, told)| matches!(told, Happening::Ended { .. })).collect();
    let is_last = matches!(story.told.last(), Some((_, Happening::Ended { .. })));
    must(ended.len() == 1 && is_last, "I7", "the observer is told of one ending, last");

    match story.got {
        Some(Got::Panicked) => must(false, "I15", "panicked"),
        Some(Got::NoTool) => unreachable!("it began"),
        Some(Got::Answer { attempts, replays, unsent, earlier_unknown, is_result, is_own }) => {
            must(requests == attempts, "I14", "requests on the wire are not the attempts");
            must(!is_result || executions >= 1, "I16", "a result of nothing");
            must(is_own, "I12", "the answer is another call's");
            must(earlier_unknown == (attempts > 1), "I3", "the answer does not tell of earlier attempts");
            must(
                attempts <= 1 + replays && replays <= REPLAYS && unsent <= REPLAYS + RESENDS,
                "I9",
                "too many attempts",
            );
        }
        Some(Got::Error { outcome, attempts, replays, unsent, .. }) => {
            must(requests == attempts, "I14", "requests on the wire are not the attempts");
            let is_unsent = outcome == Outcome::NotExecuted;
            must(!is_unsent || executions == 0, "I16", "ran, and is told not to have");
            must(is_unsent == (attempts == 0), "I3", "the outcome is not what the attempts make it");
            must(replays <= REPLAYS && attempts <= 1 + replays, "I9", "too many attempts");
            must(attempts + unsent <= 1 + REPLAYS + RESENDS, "I9", "too many tries");
        }
        None => {
            let told = story.told.last().map(|(_, happening)| *happening);
            let Some(Happening::Ended { outcome, attempts, .. }) = told else { return };
            must(requests <= attempts, "I14", "more requests on the wire than attempts");
            must(
                outcome != Some(Outcome::NotExecuted) || requests == 0,
                "I16",
                "left, and told to be unsent",
            );
        }
    }
    let cancelled = case.events.iter().position(|(_, event)| *event == Event::Cancelled { key });
    if let Some(cancelled) = cancelled {
        must(story.requests.iter().all(|request| request.first < cancelled), "I8", "sent after its cancel");
        must(took <= case.time(cancelled) - case.time(story.span.0) + GRACE, "I8", "outlived its cancel");
    }
}
