//! What listings, many calls in flight and idle servers take of memory: `cargo bench -p mcp-tool-tests
//! --bench memory`. A target of its own, since counting would slow down what `ratios` measures.

#[path = "../table/choice.rs"]
mod choice;
#[expect(dead_code, reason = "only its handshake is needed here")]
#[path = "../ratios/floor.rs"]
mod floor;
mod idle;
#[path = "../ratios/line_server.rs"]
mod line_server;
#[path = "../ratios/listers.rs"]
mod listers;
#[path = "../ratios/listing_server.rs"]
mod listing_server;
#[path = "../one_killed/server.rs"]
mod server;
#[expect(dead_code, reason = "times are taken where nothing is counted")]
#[path = "../one_killed/storm.rs"]
mod storm;
#[path = "../table/target.rs"]
mod target;

use std::{env, error::Error};

use mcp_tool::Client;
use peak_alloc::PeakAlloc;
use tokio::runtime::{Builder, Runtime};

use choice::Choice;
use listers::{Alone, Floor, Lister, Raw, Safe, SafeWithDefinitions};
use listing_server::Pages;
use server::Server;
use storm::{Caller, Storm, storm};
use target::Target;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const TOOLS: usize = 10_000;
const CALLS: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).is_some_and(|role| role == line_server::SERVE) {
        return Ok(line_server::serve_stdio()?);
    }
    let Some(choice) = Choice::of_benchmark() else { return Ok(()) };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    if choice.takes("listing") {
        listings(&runtime);
    }
    if choice.takes("lost") {
        lost(&runtime);
    }
    if choice.takes("idle") {
        idle::table(&choice)?;
    }
    Ok(())
}

/// Bytes in use.
struct Taken {
    peak: usize,
    /// Still, at the end.
    kept: usize,
}

fn taken<T>(work: impl FnOnce() -> T) -> (Taken, T) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let made = work();
    let since = |now: usize| now.saturating_sub(before);
    (Taken { peak: since(ALLOCATOR.peak_usage()), kept: since(ALLOCATOR.current_usage()) }, made)
}

fn listings(runtime: &Runtime) {
    let pages = Pages::of(TOOLS);
    println!(
        "\n{:<38} {:>12} {:>12} {:>10} {:>14}",
        "listing 10,000 tools, memory", "peak, MiB", "kept, MiB", "of raw", "target, peak"
    );
    let raw = listing::<Raw>(runtime, &pages);
    let line = |name, taken: &Taken, target: Option<Target>| {
        let ratio = taken.peak as f64 / raw.peak as f64;
        let verdict = target.map(|target| target.verdict(ratio).to_string()).unwrap_or_default();
        println!(
            "{name:<38} {:>12.1} {:>12.1} {ratio:>10.2} {verdict:>14}",
            mebibytes(taken.peak),
            mebibytes(taken.kept)
        );
    };
    line("raw rmcp", &raw, None);
    line("floor", &listing::<Floor>(runtime, &pages), None);
    line("transport alone", &listing::<Alone>(runtime, &pages), None);
    line("discovery", &listing::<Safe>(runtime, &pages), Some(Target(1.0)));
    line("discovery, with definitions", &listing::<SafeWithDefinitions>(runtime, &pages), None);
}

fn listing<L: Lister>(runtime: &Runtime, pages: &Pages) -> Taken {
    let mut lister = runtime.block_on(L::connect(pages));
    let (taken, listed) = taken(|| runtime.block_on(lister.list()));
    assert_eq!(L::count(&listed), TOOLS);
    taken
}

fn lost(runtime: &Runtime) {
    println!(
        "\n{:<38} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "10,000 calls lost, bytes per call", "in flight", "peak", "answered", "without", "reconnects"
    );
    let in_flight = losing::<storm::Raw>("raw rmcp", "wait", runtime);
    let safe = losing::<Client>("client, a safe tool", "wait", runtime);
    losing::<Client>("client, an unsafe tool", "keep", runtime);
    println!("{:<38} {:>12.2}", "  in flight, of raw", safe as f64 / in_flight as f64);
}

/// Bytes in use while all were in flight.
fn losing<C: Caller>(name: &str, tool: &'static str, runtime: &Runtime) -> usize {
    let server = Server::new();
    let before = ALLOCATOR.current_usage();
    let mut in_flight = 0;
    let (taken, storm) = taken(|| {
        runtime.block_on(storm::<C>(&server, tool, CALLS, || in_flight = ALLOCATOR.current_usage() - before))
    });
    let Storm { ended, reconnects, .. } = storm;
    println!(
        "{name:<38} {:>12} {:>12} {:>12} {:>12} {reconnects:>12}",
        in_flight / CALLS,
        taken.peak / CALLS,
        ended.answered,
        ended.lost
    );
    in_flight
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}
