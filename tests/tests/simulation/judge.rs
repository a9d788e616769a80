//! What must be true of every play, whatever happened in it.

mod calls;
mod connections;
mod liveness;
mod permission;
mod sending;

use mcp_tool::{Happening, replay_policy::Trust};

use crate::{
    schedule::{Call, Schedule},
    tool::Definition,
    wire::{Request, Wire},
    world::{Asked, Event, Got, Record},
};

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// The invariant that it breaks.
    pub(crate) invariant: &'static str,
    pub(crate) what: String,
}

/// A play and what is read from it.
pub(crate) struct Case<'a> {
    pub(crate) schedule: &'a Schedule,
    pub(crate) events: &'a [(u64, Event)],
    pub(crate) wire: Wire,
    pub(crate) record: &'a Record,
}

/// What happened to one call.
pub(crate) struct Story<'a> {
    pub(crate) call: &'a Call,
    /// None for a caller that left.
    pub(crate) got: Option<Got>,
    /// Where in the record the call began and the caller had what it got, or left.
    pub(crate) span: (usize, usize),
    pub(crate) told: Vec<(usize, Happening)>,
    pub(crate) requests: Vec<&'a Request>,
    pub(crate) executions: usize,
}

pub(crate) fn judge(schedule: &Schedule, record: &Record) -> Vec<Complaint> {
    let case = Case { schedule, events: &record.events, wire: Wire::of(record), record };
    let mut complaints = Vec::new();
    connections::judge(&case, &mut complaints);
    for call in &schedule.calls {
        let Some(story) = case.story(call) else { continue };
        calls::judge(&case, &story, &mut complaints);
        sending::judge(&case, &story, &mut complaints);
        permission::judge(&case, &story, &mut complaints);
        liveness::judge(&case, &story, &mut complaints);
    }
    complaints
}

impl Case<'_> {
    /// None for a call that was never made.
    fn story<'a>(&'a self, call: &'a Call) -> Option<Story<'a>> {
        let (mut got, mut span, mut told, mut executions) = (None, (None, self.events.len()), Vec::new(), 0);
        for (index, (_, event)) in self.events.iter().enumerate() {
            match event {
                Event::Began { key } if *key == call.key => span.0 = Some(index),
                Event::Got { key, got: what } if *key == call.key => (got, span.1) = (Some(*what), index),
                Event::Dropped { key } if *key == call.key => span.1 = index,
                Event::Told { key, happening } if *key == call.key => told.push((index, *happening)),
                Event::Executed { key, .. } if *key == call.key => executions += 1,
                _ => {}
            }
        }
        let requests = self.wire.of_key(call.key);
        Some(Story { call, got, span: (span.0?, span.1), told, requests, executions })
    }

    /// The trust at this place of the record.
    fn trust_at(&self, index: usize) -> Trust {
        let before = self.events[..index].iter().rev();
        let mut set = before.filter_map(|(_, event)| match event {
            Event::Trust(trust) => Some(*trust),
            _ => None,
        });
        set.next().unwrap_or(self.schedule.trust)
    }

    /// Where in the record the first byte of a listing left, and in which life.
    fn listing(&self, number: usize) -> Option<(usize, usize)> {
        self.events.iter().find_map(|(_, event)| match event {
            Event::Asked { life, id, what: Asked::Page { listing, second: false } } if *listing == number => {
                self.wire.request(*life, *id).map(|request| (request.first, *life))
            }
            _ => None,
        })
    }

    /// The listing by which an attempt of this call was made, if its tool stood in it.
    fn listing_of(&self, story: &Story<'_>, attempt: usize, generation: u64) -> Option<usize> {
        self.events[..attempt].iter().rev().find_map(|(_, event)| match event {
            Event::Catalog { key, generation: of, listing }
                if (*key, *of) == (story.call.key, generation) =>
            {
                Some(listing[story.call.tool])
            }
            _ => None,
        })?
    }

    fn definition(&self, story: &Story<'_>, listing: usize) -> Option<Definition> {
        let (_, life) = self.listing(listing)?;
        Some(self.schedule.life(life).tools[story.call.tool])
    }

    /// Whether something had happened by then to the connection of this listing.
    fn is_hurt(&self, listing: usize, by: usize) -> bool {
        let Some((_, of)) = self.listing(listing) else { return false };
        self.events[..by].iter().any(|(_, event)| matches!(event, Event::Hurt { life, .. } if *life == of))
    }

    fn time(&self, index: usize) -> u64 {
        self.events[index].0
    }
}

impl Complaint {
    fn of(invariant: &'static str, what: impl Into<String>) -> Self {
        Self { invariant, what: what.into() }
    }
}
