//! The scenarios that are run to the end.

use std::borrow::Cow;

use mcp_tool::{Trust, mcp_transport::Fence};

use crate::{
    properties::{
        BOTH, CONTINUATION, LATE, NOT_EXECUTED, OVER_BUDGET, REPLAYED, RESENT, SERVER_CHANGED, STRAGGLED,
        THIRD, TOOL_CHANGED, TRUST_WITHDRAWN, TWICE, UNKNOWN,
    },
    scenario::{Bounds, Caller, GuardIs, Holds, Pipe, Scenario, Sends, Tool, Wire, Writes},
};

/// One scenario, what it has to reach, and how large it is at least. A model that can do less than it should
/// is smaller.
pub(crate) struct Exhaustive {
    pub(crate) name: Cow<'static, str>,
    pub(crate) scenario: Scenario,
    pub(crate) states: usize,
    pub(crate) reaches: &'static [&'static str],
}

const FENCED: Wire = Wire::Stdio { fence: Fence::GroupGone, pipe: Pipe::Tells };
const UNFENCED: Wire = Wire::Stdio { fence: Fence::None, pipe: Pipe::IsSilent };

const SAFE: Caller = Caller { tool: Tool::Idempotent, holds: Holds::Name, sends: Sends::Call };
const PLAIN: Caller = Caller { tool: Tool::Plain, ..SAFE };

const THREE: Bounds = Bounds {
    listings: 3,
    trust: 0,
    contents: 0,
    identities: 0,
    leaves: 0,
    events: 0,
    recoveries: 0,
    retries: 2,
};
const TWO: Bounds = Bounds { listings: 2, ..THREE };

/// A safe call and one without proof of safety, under double trust, in a world that stands still.
pub(crate) const LOSSES: Scenario = Scenario {
    wire: FENCED,
    guard: GuardIs::Obeyed,
    callers: [SAFE, PLAIN],
    trust: Trust::BOTH,
    writes: Writes::NeedNone,
    bounds: THREE,
};
pub(crate) const HTTP: Scenario = Scenario { wire: Wire::Http, ..LOSSES };
const TWO_SAFE: Scenario = Scenario { callers: [SAFE, SAFE], bounds: TWO, ..LOSSES };
const OLD_PROCESSES: Scenario = Scenario { wire: UNFENCED, bounds: TWO, ..LOSSES };
pub(crate) const TRUST: Scenario = Scenario { bounds: Bounds { trust: 1, ..TWO }, ..LOSSES };
pub(crate) const TRUST_TO_COME: Scenario = Scenario { trust: Trust::NONE.with_trusted_server(), ..TRUST };
pub(crate) const NO_GUARD: Scenario = Scenario { guard: GuardIs::Ignored, ..TRUST };
pub(crate) const DEFINITIONS: Scenario = Scenario {
    callers: [Caller { holds: Holds::Handle, ..SAFE }, PLAIN],
    bounds: Bounds { contents: 1, ..TWO },
    ..LOSSES
};
pub(crate) const IDENTITIES: Scenario = Scenario { bounds: Bounds { identities: 1, ..TWO }, ..LOSSES };
pub(crate) const LEAVES: Scenario = Scenario { bounds: Bounds { leaves: 1, ..TWO }, ..LOSSES };
const EVENTS: Scenario = Scenario { bounds: Bounds { events: 1, ..TWO }, ..HTTP };
pub(crate) const SUPERVISED: Scenario = Scenario { bounds: Bounds { recoveries: 1, ..TWO }, ..LOSSES };
pub(crate) const CONTINUES: Scenario =
    Scenario { callers: [Caller { sends: Sends::Continuation, ..SAFE }, SAFE], bounds: TWO, ..LOSSES };
const RATIONED: Scenario = Scenario { bounds: Bounds { retries: 0, ..THREE }, ..LOSSES };
pub(crate) const NEEDS_FENCE: Scenario = Scenario { writes: Writes::NeedFence, ..TWO_SAFE };
const NO_FENCE_THERE: Scenario = Scenario { wire: UNFENCED, ..NEEDS_FENCE };

/// Run with every `cargo test`.
#[rustfmt::skip]
pub(crate) const DAILY: [Exhaustive; 16] = [
    run("stdio, three generations", LOSSES, 110_000, &[REPLAYED, RESENT, TWICE, UNKNOWN, NOT_EXECUTED, STRAGGLED, THIRD]),
    run("HTTP, three generations", HTTP, 120_000, &[REPLAYED, RESENT, TWICE, UNKNOWN, LATE, STRAGGLED, THIRD]),
    run("two safe calls", TWO_SAFE, 12_000, &[REPLAYED, RESENT, TWICE, BOTH]),
    run("processes that live on", OLD_PROCESSES, 15_000, &[REPLAYED, TWICE, UNKNOWN, LATE]),
    run("trust that goes", TRUST, 58_000, &[REPLAYED, RESENT, TRUST_WITHDRAWN]),
    run("trust that comes", TRUST_TO_COME, 50_000, &[REPLAYED, RESENT]),
    run("a transport that ignores the guard", NO_GUARD, 56_000, &[REPLAYED, TRUST_WITHDRAWN]),
    run("other definitions, a handle and a name", DEFINITIONS, 42_000, &[REPLAYED, TOOL_CHANGED]),
    run("another configuration", IDENTITIES, 27_000, &[REPLAYED, SERVER_CHANGED]),
    run("cancelled, dropped, out of time", LEAVES, 80_000, &[REPLAYED, UNKNOWN, NOT_EXECUTED, LATE]),
    run("tools that change under a call", EVENTS, 57_000, &[REPLAYED, STRAGGLED]),
    run("a supervisor beside the calls", SUPERVISED, 90_000, &[REPLAYED, RESENT, STRAGGLED]),
    run("retries are rationed", RATIONED, 70_000, &[REPLAYED, OVER_BUDGET]),
    run("a continuation beside a call", CONTINUES, 11_000, &[REPLAYED, RESENT, CONTINUATION]),
    run("writes that need a fence", NEEDS_FENCE, 12_000, &[REPLAYED, RESENT, BOTH]),
    run("a fence is needed, and there is none", NO_FENCE_THERE, 9_000, &[RESENT, UNKNOWN]),
];

const fn run(
    name: &'static str,
    scenario: Scenario,
    states: usize,
    reaches: &'static [&'static str],
) -> Exhaustive {
    Exhaustive { name: Cow::Borrowed(name), scenario, states, reaches }
}

/// Three generations on every wire, with one change of each kind, two of trust, and some of two kinds.
pub(crate) fn thorough() -> impl Iterator<Item = Exhaustive> {
    let changes = [
        Bounds { trust: 2, ..THREE },
        Bounds { contents: 1, ..THREE },
        Bounds { identities: 1, ..THREE },
        Bounds { leaves: 1, ..THREE },
        Bounds { events: 1, ..THREE },
        Bounds { recoveries: 1, ..THREE },
        Bounds { trust: 1, leaves: 1, ..TWO },
        Bounds { trust: 1, contents: 1, identities: 1, ..TWO },
        Bounds { leaves: 1, events: 1, recoveries: 1, ..TWO },
    ];
    let wires = [FENCED, UNFENCED, Wire::Http];
    wires.into_iter().flat_map(move |wire| {
        changes.into_iter().map(move |bounds| Exhaustive {
            name: format!("{wire:?}, {bounds:?}").into(),
            scenario: Scenario { wire, bounds, ..LOSSES },
            states: 100_000,
            reaches: &[REPLAYED, UNKNOWN],
        })
    })
}
