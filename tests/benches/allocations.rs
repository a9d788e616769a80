//! How often one call, and one decision, allocates: exact where times are noisy. A target of its own,
//! since counting would slow down what `ratios` measures.

#[expect(dead_code, reason = "children are only timed, their allocations are out of sight")]
#[path = "ratios/callers.rs"]
mod callers;
#[path = "ratios/decisions.rs"]
mod decisions;
#[expect(dead_code, reason = "children are only timed, their allocations are out of sight")]
#[path = "ratios/line_server.rs"]
mod line_server;

use std::{alloc::System, env, error::Error, sync::Arc};

use mcp_tool::{ConservativePolicy, rmcp::model::JsonObject};
use stats_alloc::{Region, StatsAlloc};
use tokio::runtime::{Builder, Runtime};

use callers::{Alone, Caller, Load, Raw, Safe};

#[global_allocator]
static ALLOCATOR: StatsAlloc<System> = StatsAlloc::system();

const CALLS: u32 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    // Only `cargo bench` says so: no run of tests counts anything.
    if !env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    println!("{:<38} {:>12} {:>12}", "one call, the server's part included", "allocations", "bytes");
    row("raw rmcp", calling(&runtime, &runtime.block_on(Raw::in_memory())));
    row("transport alone", calling(&runtime, &runtime.block_on(Alone::in_memory())));
    row("client", calling(&runtime, &runtime.block_on(Safe::in_memory())));
    row("one decision of the policy", deciding());
    Ok(())
}

fn row(name: &str, (allocations, bytes): (f64, f64)) {
    println!("{name:<38} {allocations:>12.1} {bytes:>12.0}");
}

fn calling(runtime: &Runtime, caller: &impl Caller) -> (f64, f64) {
    let members = [("key", "greeting"), ("value", "hello")];
    let arguments: JsonObject =
        members.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
    let load = Load { arguments: Arc::new(arguments), in_flight: 1, each: CALLS };
    runtime.block_on(load.run(caller));
    each(CALLS, || runtime.block_on(load.run(caller)))
}

fn deciding() -> (f64, f64) {
    let (policy, questions) = (ConservativePolicy::default(), decisions::questions());
    each(1, || assert_ne!(decisions::decide(&policy, &questions), 0))
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
