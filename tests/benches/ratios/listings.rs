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
        let growth = many.div_duration_f64(few) / (MANY / FEW) as f64;
        println!(
            "{:<38} {:>103} {:>33}",
            "  per tool, against 10,000 tools",
            format!("{growth:.3}"),
            Target(1.15).verdict(growth)
        );
    }
}

/// How long the discovery took at the least.
fn row(name: &str, tools: usize, runtime: &Runtime, effort: Effort) -> Duration {
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
    ours.fastest
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
