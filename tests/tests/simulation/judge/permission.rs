//! What was sent again, was sent again by the rules: written from the rules, not from the code.

use mcp_tool::{Happening, machine::AttemptKind, mcp_transport::ErrorKind, replay_policy::Trust};

use super::{Case, Complaint, Story};
use crate::{
    tool::{Definition, Listed},
    world::Event,
};

/// One attempt that was handed over.
struct Attempt {
    index: usize,
    kind: AttemptKind,
    /// Where in the record its first byte left, if any did.
    first_byte: Option<usize>,
    listing: usize,
    definition: Definition,
}

pub(super) fn judge(case: &Case<'_>, story: &Story<'_>, complaints: &mut Vec<Complaint>) {
    let key = story.call.key;
    let mut complain = |invariant, what: &str| {
        complaints.push(Complaint::of(invariant, format!("call {key}: {what}")));
    };
    let mut attempts: Vec<Attempt> = Vec::new();
    for (index, told) in &story.told {
        let Happening::Attempting { kind, generation, .. } = told else { continue };
        let listing = case.listing_of(story, *index, generation.get());
        let Some((listing, definition)) =
            listing.and_then(|listing| Some((listing, case.definition(story, listing)?)))
        else {
            return complain("I2", "an attempt by a listing that does not have its tool");
        };
        let until = attempts_end(story, *index);
        let bytes = case.wire.stretches.iter().filter(|stretch| stretch.key == key);
        let first_byte = bytes.map(|stretch| stretch.first).find(|first| (*index..until).contains(first));
        attempts.push(Attempt { index: *index, kind: *kind, first_byte, listing, definition });
    }
    for attempt in &attempts {
        let lost = story.told.iter().find(|(index, _)| *index > attempt.index);
        if let Some((lost, Happening::Failed { kind: ErrorKind::Lost | ErrorKind::Closed, .. })) = lost
            && !case.is_hurt(attempt.listing, *lost)
        {
            complain("I12", "lost on a good connection");
        }
    }
    // Two whole requests are two that may have been received.
    let again = story.requests.iter().skip(1).filter(|request| {
        !attempts
            .iter()
            .any(|attempt| attempt.kind == AttemptKind::Replay && attempt.first_byte == Some(request.first))
    });
    if again.count() > 0 {
        complain("I1", "sent twice, and the second time not as a replay");
    }
    let Some(first) = attempts.first() else { return };
    if let Some(looked_up) = case.events.iter().find_map(|(_, event)| match event {
        Event::LookedUp { key: of, listing } if *of == key => *listing,
        _ => None,
    }) && case.definition(story, looked_up) != Some(first.definition)
    {
        complain("I2", "sent to a tool that is not the one that was looked up");
    }
    for (before, attempt) in attempts.iter().zip(attempts.iter().skip(1)) {
        let lost = story
            .told
            .iter()
            .find(|(index, told)| *index > before.index && matches!(told, Happening::Failed { .. }));
        let listed = case.listing(attempt.listing);
        match (lost, listed) {
            (Some((lost, _)), Some((asked, _))) if asked > *lost => {}
            _ => complain("I2", "sent again by a listing that was asked for before the loss"),
        }
        if attempt.definition.schema != first.definition.schema {
            complain("I2", "sent again to a tool with another input schema");
        }
        if [before, attempt].iter().any(|attempt| attempt.definition.listed == Listed::Twice) {
            complain("I2", "sent again by a name that stands for two tools");
        }
        let trust_then = case.trust_at(first.index);
        let sent_under = attempt.first_byte.map_or(Trust::BOTH, |byte| case.trust_at(byte));
        match attempt.kind {
            AttemptKind::First => complain("I1", "two first deliveries"),
            AttemptKind::Resend => {
                if attempt.definition != first.definition {
                    complain("I2", "delivered to a tool that was changed");
                }
                if trust_then == Trust::BOTH && sent_under != Trust::BOTH {
                    complain("I6", "delivered on a trust that is gone");
                }
            }
            AttemptKind::Replay => {
                if !(before.definition.is_declared_safe() && attempt.definition.is_declared_safe()) {
                    complain("I1", "replayed, and not declared safe");
                }
                if sent_under != Trust::BOTH {
                    complain("I6", "replayed without trust");
                }
            }
        }
    }
    let identities: Vec<_> = story.requests.iter().map(|request| identity(case, request.life)).collect();
    if identities.windows(2).any(|pair| pair[0] != pair[1]) {
        complain("I2", "sent to two servers");
    }
}

/// Where the attempt that was handed over here failed, or ended with its call.
fn attempts_end(story: &Story<'_>, index: usize) -> usize {
    let end = story.told.iter().find(|(later, told)| {
        *later > index && matches!(told, Happening::Failed { .. } | Happening::Ended { .. })
    });
    end.map_or(story.span.1, |(end, _)| *end)
}

/// Which configuration a life was reached by.
fn identity(case: &Case<'_>, number: usize) -> Option<usize> {
    case.events.iter().find_map(|(_, event)| match event {
        Event::Connecting { life, identity } if *life == number => Some(*identity),
        _ => None,
    })
}
