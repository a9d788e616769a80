//! The rows of a listing of many tools, each side over a connection of its own in memory.

use std::time::Duration;

use tokio::runtime::Runtime;

use crate::{
    choice::Choice,
    listers::{Alone, Floor, Lister, Raw, Safe, SafeWithDefinitions},
    listing_server::Pages,
    rounds::{Effort, Outcome, Side, compare},
    target::Target,
};

const FEW: usize = 10_000;
const MANY: usize = 100_000;
/// Ten times the tools at n log n would be 1.25 of the time per tool.
const LINEAR: Target = Target(1.2);

pub(crate) fn table(choice: &Choice, runtime: &Runtime) {
    if !choice.takes("listing") {
        return;
    }
    println!(
        "\n{:<38} {:>8} {:>18} {:>18} {:>18} {:>18} {:>18} {:>14}",
        "listing, a hundred on a page",
        "raw, ms",
        "raw again",
        "floor",
        "transport alone",
        "discovery",
        "with definitions",
        "target"
    );
    let seconds = Duration::from_secs;
    let effort =
        choice.of(Effort { sittings: 4, budget: seconds(12) }, Effort { sittings: 1, budget: seconds(1) });
    let few = row("10,000 tools", FEW, runtime, effort);
    if choice.of(true, false) {
        let many = row("100,000 tools", MANY, runtime, Effort { sittings: 1, budget: seconds(15) });
        let growth =
            |side: fn(&Fastest) -> Duration| side(&many).div_duration_f64(side(&few)) / (MANY / FEW) as f64;
        let discovery = growth(|fastest| fastest.discovery);
        println!(
            "{:<38} {:>8.3} {:>37.3} {:>37.3} {:>33}",
            "  per tool, against 10,000 tools",
            growth(|fastest| fastest.raw),
            growth(|fastest| fastest.floor),
            discovery,
            LINEAR.verdict(discovery)
        );
    }
}

/// What sides took at the least.
struct Fastest {
    raw: Duration,
    floor: Duration,
    discovery: Duration,
}

fn row(name: &str, tools: usize, runtime: &Runtime, effort: Effort) -> Fastest {
    let pages = Pages::of(tools);
    let [raw, again, floor, alone, ours, definitions] = compare(effort, || {
        [
            side::<Raw>(runtime, &pages, tools),
            side::<Raw>(runtime, &pages, tools),
            side::<Floor>(runtime, &pages, tools),
            side::<Alone>(runtime, &pages, tools),
            side::<Safe>(runtime, &pages, tools),
            side::<SafeWithDefinitions>(runtime, &pages, tools),
        ]
    });
    let ratio = |outcome: &Outcome| outcome.ratio.to_string();
    println!(
        "{name:<38} {:>8.1} {:>18} {:>18} {:>18} {:>18} {:>18} {:>14}",
        raw.wall.as_secs_f64() * 1e3,
        ratio(&again),
        ratio(&floor),
        ratio(&alone),
        ratio(&ours),
        ratio(&definitions),
        Target(1.0).verdict(ours.ratio.median)
    );
    Fastest { raw: raw.fastest, floor: floor.fastest, discovery: ours.fastest }
}

fn side<'a, L: Lister + 'a>(runtime: &'a Runtime, pages: &Pages, tools: usize) -> Side<'a> {
    let mut lister = runtime.block_on(L::connect(pages));
    Box::new(move |times| {
        for _ in 0..times {
            let listed = runtime.block_on(lister.list());
            assert_eq!(L::count(&listed), tools);
        }
    })
}
