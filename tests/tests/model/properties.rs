//! The invariants that are checked in every state, and the states that have to be reached.

use mcp_tool::{machine::Verdict, mcp_discovery::generations::Present};
use stateright::Property;

use crate::{
    breach::Breach,
    call::{At, Call, Ending},
    system::System,
    world::{Catalog, World},
};

/// I1: executions at the server are at most one, and one more for each replay with proof of safety.
pub(crate) const I1: &str = "I1 without proof of safety at most one execution";
/// I2: a replay goes out only on a generation whose listing left after the loss, under both trusts.
pub(crate) const I2: &str = "I2 a replay goes out only on a generation that was listed after the loss";
/// I3: once an attempt may have run, the call is never reported as not executed.
pub(crate) const I3: &str = "I3 doubt is sticky";
/// I6, with the guard: trust that is withdrawn before the first byte keeps it back.
pub(crate) const I6_BYTE: &str = "I6 no first byte of a further attempt without the trust that it needs";
/// I6, without: no await lies between the last reading of trust and the hand-over.
pub(crate) const I6_HAND: &str = "I6 no further attempt is handed over without the trust that it needs";
/// I7: after an answer nothing is sent.
pub(crate) const I7: &str = "I7 an answer is final";
/// I8: after the caller has left nothing is sent.
pub(crate) const I8: &str = "I8 a cancellation is final";
/// I11: one connect at a time.
pub(crate) const I11_ONE: &str = "I11 at most one connect at a time";
/// I11: all who wait share it.
pub(crate) const I11_SHARED: &str = "I11 those who wait share a flight";
/// I11: a straggler of an old generation never tears down the new one.
pub(crate) const I11_STRAGGLER: &str = "I11 nobody tears down a connection that nobody found lost";
/// I12: a late answer completes no other call.
pub(crate) const I12_ANSWER: &str = "I12 a late answer completes no other call";
/// I12: a late answer marks no healthy server.
pub(crate) const I12_SUSPECT: &str = "I12 a generation is suspect only after something went wrong on it";
/// I16: a result: executed at least once; not executed: never, now or later; else at most the attempts.
pub(crate) const I16: &str = "I16 what is told is true";
/// I15, as far as it is no matter of time: nobody waits for what does not come.
pub(crate) const I15: &str = "I15 who waits waits for a flight that there is";
/// What the discovery decides by is about the catalog that it gives.
pub(crate) const AGREE: &str = "the numbers are those of the present catalog";
/// Section 6: the invocation is bound to the identity that it began with.
pub(crate) const SERVER: &str = "no attempt goes to another server";
/// Section 6: the definition is compared before every send.
pub(crate) const TOOL: &str = "no attempt goes to another tool";
/// Where the operator asks for a fence, it is there.
pub(crate) const FENCE: &str = "no write is replayed while the old server can act, where a fence is required";

pub(crate) fn all() -> Vec<Property<System>> {
    let mut all = invariants();
    all.extend(reached());
    all
}

fn invariants() -> Vec<Property<System>> {
    vec![
        Property::always(I1, |_, world: &World| {
            world.calls.iter().all(|call| call.executions <= 1 + call.licensed)
        }),
        Property::always(I2, |_, world: &World| !world.breaches.has(Breach::ReplayOnOldGeneration)),
        Property::always(I3, |_, world: &World| {
            ended(world).all(|(call, ending)| !(call.doubtful && is_not_executed(ending)))
        }),
        Property::always(I6_BYTE, |_, world: &World| !world.breaches.has(Breach::FirstByteUntrusted)),
        Property::always(I6_HAND, |_, world: &World| !world.breaches.has(Breach::HandedOverUntrusted)),
        Property::always(I7, |_, world: &World| !world.breaches.has(Breach::SentAfterAnswer)),
        Property::always(I8, |_, world: &World| !world.breaches.has(Breach::SentAfterLeave)),
        Property::always(I11_ONE, |_, world: &World| world.connects_and_listings() <= 1),
        Property::always(I11_SHARED, |_, world: &World| !world.breaches.has(Breach::NotShared)),
        Property::always(I11_STRAGGLER, |_, world: &World| !world.breaches.has(Breach::HealthyTornDown)),
        Property::always(I12_ANSWER, |_, world: &World| !world.breaches.has(Breach::ForeignAnswer)),
        Property::always(I12_SUSPECT, |_, world: &World| {
            world.catalog.is_none_or(|present| {
                world.generations.is_unsuspected() || world.tainted >= Some(present.generation)
            })
        }),
        Property::always(I15, |_, world: &World| {
            let known = |flight| world.flights.iter().any(|known| known.id == flight);
            world.calls.iter().filter_map(Call::run).all(|run| match run.at {
                At::Flight(flight) => known(flight),
                At::Nowhere | At::Attempt(_) => true,
            })
        }),
        Property::always(I16, |_, world: &World| ended(world).all(|(call, ending)| is_true(call, ending))),
        Property::always(AGREE, |_, world: &World| {
            let Catalog { generation, connection, .. } = match world.catalog {
                Some(catalog) => catalog,
                None => return world.generations.present().is_none(),
            };
            world.generations.present() == Some(Present { generation, connection })
        }),
        Property::always(SERVER, |_, world: &World| !world.breaches.has(Breach::OtherServer)),
        Property::always(TOOL, |_, world: &World| !world.breaches.has(Breach::OtherTool)),
        Property::always(FENCE, |_, world: &World| !world.breaches.has(Breach::ReplayUnfenced)),
    ]
}

fn is_true(call: &Call, ending: &Ending) -> bool {
    let executions = u32::from(call.executions);
    match ending.verdict {
        Verdict::Answered => (1..=ending.attempts).contains(&executions),
        Verdict::NotExecuted(_) => executions == 0,
        Verdict::Unknown(_) => executions <= ending.attempts,
    }
}

/// That the model is not empty: each of these has to be found in the scenario that names it.
pub(crate) const REPLAYED: &str = "a replay was answered";
pub(crate) const RESENT: &str = "a resend was answered";
pub(crate) const TWICE: &str = "a safe call ran twice and was answered";
pub(crate) const UNKNOWN: &str = "a call ended as unknown";
pub(crate) const NOT_EXECUTED: &str = "a call ended as not executed";
pub(crate) const LATE: &str = "an effect was still to come when its call had ended as unknown";
pub(crate) const TOOL_CHANGED: &str = "a call ended with tool_changed";
pub(crate) const SERVER_CHANGED: &str = "a call ended with server_changed";
pub(crate) const TRUST_WITHDRAWN: &str = "a call ended with trust_withdrawn";
pub(crate) const OVER_BUDGET: &str = "a call ended because the budget for retries was used up";
pub(crate) const CONTINUATION: &str = "a call ended because it continues another";
pub(crate) const STRAGGLED: &str = "a call was lost on a generation that had a successor";
pub(crate) const THIRD: &str = "there was a third generation";
pub(crate) const BOTH: &str = "both calls were replayed at once";

fn reached() -> Vec<Property<System>> {
    vec![
        Property::sometimes(REPLAYED, |_, world: &World| {
            answered(world).any(|(_, ending)| ending.replays > 0)
        }),
        Property::sometimes(RESENT, |_, world: &World| answered(world).any(|(_, ending)| ending.resends > 0)),
        Property::sometimes(TWICE, |_, world: &World| answered(world).any(|(call, _)| call.executions == 2)),
        Property::sometimes(UNKNOWN, |_, world: &World| {
            ended(world).any(|(_, ending)| matches!(ending.verdict, Verdict::Unknown(_)))
        }),
        Property::sometimes(NOT_EXECUTED, |_, world: &World| {
            ended(world).any(|(_, ending)| is_not_executed(ending))
        }),
        Property::sometimes(LATE, |_, world: &World| {
            ended(world).any(|(call, ending)| {
                matches!(ending.verdict, Verdict::Unknown(_))
                    && call.executions == 0
                    && call.orphans.iter().any(|orphan| world.links[orphan.link].alive)
            })
        }),
        Property::sometimes(TOOL_CHANGED, |_, world: &World| ends_with(world, "tool_changed")),
        Property::sometimes(SERVER_CHANGED, |_, world: &World| ends_with(world, "server_changed")),
        Property::sometimes(TRUST_WITHDRAWN, |_, world: &World| ends_with(world, "trust_withdrawn")),
        Property::sometimes(OVER_BUDGET, |_, world: &World| ends_with(world, "retry_budget")),
        Property::sometimes(CONTINUATION, |_, world: &World| ends_with(world, "continuation")),
        Property::sometimes(STRAGGLED, |_, world: &World| {
            world.calls.iter().any(|call| call.run().is_some_and(|run| run.straggled))
        }),
        Property::sometimes(THIRD, |_, world: &World| {
            world.catalog.is_some_and(|present| present.generation.get() == 3)
        }),
        Property::sometimes(BOTH, |_, world: &World| {
            let replays = |call: &Call| call.run().map_or(0, |run| run.machine.replays());
            world.calls.iter().all(|call| replays(call) > 0)
        }),
    ]
}

fn ended(world: &World) -> impl Iterator<Item = (&Call, &Ending)> {
    world.calls.iter().filter_map(|call| Some((call, call.ending()?)))
}

fn answered(world: &World) -> impl Iterator<Item = (&Call, &Ending)> {
    ended(world).filter(|(_, ending)| ending.verdict == Verdict::Answered)
}

fn is_not_executed(ending: &Ending) -> bool {
    matches!(ending.verdict, Verdict::NotExecuted(_))
}

fn ends_with(world: &World, code: &str) -> bool {
    ended(world).any(|(_, ending)| match ending.verdict {
        Verdict::NotExecuted(reason) | Verdict::Unknown(reason) => reason.code() == code,
        Verdict::Answered => false,
    })
}
