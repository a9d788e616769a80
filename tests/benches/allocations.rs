//! How often one call, and one decision, allocates: exact where times are noisy. A target of its own,
//! since counting would slow down what `ratios` measures.

#[expect(dead_code, reason = "children are only timed, their allocations are out of sight")]
#[path = "ratios/callers.rs"]
mod callers;
#[expect(dead_code, reason = "this takes no longer than it must")]
#[path = "table/choice.rs"]
mod choice;
#[path = "ratios/decisions.rs"]
mod decisions;
#[expect(dead_code, reason = "children are only timed, their allocations are out of sight")]
#[path = "ratios/line_server.rs"]
mod line_server;
#[path = "table/target.rs"]
mod target;

use std::{alloc::System, error::Error, sync::Arc};

use mcp_tool::{ConservativePolicy, rmcp::model::JsonObject};
use stats_alloc::{Region, StatsAlloc};
use tokio::runtime::Builder;

use callers::{Alone, Load, Raw, Safe};
use choice::Choice;
use target::Target;

#[global_allocator]
static ALLOCATOR: StatsAlloc<System> = StatsAlloc::system();

const CALLS: u32 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(choice) = Choice::of_benchmark() else { return Ok(()) };
    if !choice.takes("allocations") {
        return Ok(());
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    println!(
        "\n{:<38} {:>12} {:>12} {:>14}",
        "allocations, the server's included", "each", "bytes", "target"
    );
    for (name, value, calls) in [("", "hello", CALLS), (", 1 MiB", &*"x".repeat(1024 * 1024), CALLS / 50)] {
        let side = |caller: &dyn Fn(&Load)| {
            let members = [("key", "greeting"), ("value", value)];
            let arguments: JsonObject =
                members.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
            let load = Load { arguments: Arc::new(arguments), in_flight: 1, each: calls };
            caller(&load);
            each(calls, || caller(&load))
        };
        let raw = runtime.block_on(Raw::in_memory());
        row(&format!("raw rmcp{name}"), side(&|load| runtime.block_on(load.run(&raw))), "");
        let alone = runtime.block_on(Alone::in_memory());
        row(&format!("transport alone{name}"), side(&|load| runtime.block_on(load.run(&alone))), "");
        let safe = runtime.block_on(Safe::in_memory());
        row(&format!("client{name}"), side(&|load| runtime.block_on(load.run(&safe))), "");
    }
    for (name, questions) in
        [("the 108 rows of the rule", decisions::rows()), ("1,320 questions", decisions::questions())]
    {
        let policy = ConservativePolicy::default();
        let counted = each(1, || assert_ne!(decisions::decide(&policy, &questions), 0));
        row(&format!("decide, {name}"), counted, &Target(0.0).verdict(counted.0).to_string());
    }
    Ok(())
}

fn row(name: &str, (allocations, bytes): (f64, f64), verdict: &str) {
    println!("{name:<38} {allocations:>12.1} {bytes:>12.0} {verdict:>14}");
}

/// Allocations, growing ones included, and bytes, for each of so many.
fn each(times: u32, work: impl FnOnce()) -> (f64, f64) {
    let region = Region::new(&ALLOCATOR);
    work();
    let change = region.change();
    let allocations = change.allocations + change.reallocations;
    let each = |sum: usize| sum as f64 / f64::from(times);
    (each(allocations), each(change.bytes_allocated))
}
