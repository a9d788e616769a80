//! What the safe call costs over raw rmcp: `cargo bench -p mcp-tool-tests` prints one table of ratios,
//! all taken side by side. docs/performance.md says how to read it.

mod callers;
mod decisions;
mod line_server;
mod rounds;

use std::{env, error::Error, fmt::Display, hint::black_box, sync::Arc};

use mcp_tool::{ConservativePolicy, rmcp::model::JsonObject};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use callers::{Alone, Caller, Load, Raw, SERVE, Safe};
use rounds::{Outcome, Side, compare};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.first().is_some_and(|role| role == SERVE) {
        return Ok(line_server::serve_stdio()?);
    }
    // Only `cargo bench` says so: no run of tests times anything.
    if arguments.iter().any(|argument| argument == "--bench") {
        table()?;
    }
    Ok(())
}

fn table() -> Result<(), Box<dyn Error>> {
    let one_thread = Builder::new_current_thread().enable_all().build()?;
    let two_workers = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (small, large) = (arguments("hello"), arguments(&"x".repeat(1024 * 1024)));
    println!(
        "{:<38} {:>8}  {:>18}  {:>18}  {:>18}  {:>18}",
        "", "raw, µs", "raw again", "transport alone", "client", "client, CPU"
    );
    for (runtime, name) in [(&one_thread, "one thread"), (&two_workers, "two workers")] {
        in_memory(&format!("in memory, {name}, 1 in flight"), runtime, &small, 1);
        in_memory(&format!("in memory, {name}, 64 in flight"), runtime, &small, 64);
        in_memory(&format!("in memory, {name}, 1 MiB"), runtime, &large, 1);
    }
    child("child process, 1 in flight", &two_workers, &small, 1);
    child("child process, 64 in flight", &two_workers, &small, 64);
    decisions();
    Ok(())
}

fn in_memory(name: &str, runtime: &Runtime, arguments: &Arc<JsonObject>, in_flight: u32) {
    let load = |each| Load { arguments: arguments.clone(), in_flight, each };
    let [raw, again, alone, safe] = compare(|| {
        [
            side(runtime, runtime.block_on(Raw::in_memory()), load),
            side(runtime, runtime.block_on(Raw::in_memory()), load),
            side(runtime, runtime.block_on(Alone::in_memory()), load),
            side(runtime, runtime.block_on(Safe::in_memory()), load),
        ]
    });
    row(name, in_flight, &raw, &again, &alone.ratio, &safe);
}

/// A real child over real pipes. It leaves when its input ends, with the last handle on its connection.
fn child(name: &str, runtime: &Runtime, arguments: &Arc<JsonObject>, in_flight: u32) {
    let load = |each| Load { arguments: arguments.clone(), in_flight, each };
    let [raw, again, safe] = compare(|| {
        [
            side(runtime, runtime.block_on(Raw::child()), load),
            side(runtime, runtime.block_on(Raw::child()), load),
            side(runtime, runtime.block_on(Safe::child()), load),
        ]
    });
    row(name, in_flight, &raw, &again, &"", &safe);
}

fn side<'a>(runtime: &'a Runtime, caller: impl Caller, load: impl Fn(u32) -> Load + 'a) -> Side<'a> {
    Box::new(move |each| runtime.block_on(load(each).run(&caller)))
}

fn row(name: &str, in_flight: u32, raw: &Outcome, again: &Outcome, alone: &dyn Display, safe: &Outcome) {
    let micros = raw.wall.as_secs_f64() * 1e6 / f64::from(in_flight);
    println!(
        "{name:<38} {micros:>8.1}  {:>18}  {alone:>18}  {:>18}  {:>18}",
        again.ratio, safe.ratio, safe.cpu_ratio
    );
}

fn decisions() {
    let (policy, questions) = (&ConservativePolicy::default(), &decisions::questions());
    let [outcome] = compare(|| {
        let deciding = |times: u32| {
            for _ in 0..times {
                black_box(decisions::decide(policy, questions));
            }
        };
        [Box::new(deciding) as Side<'_>]
    });
    let nanos = outcome.wall.as_secs_f64() * 1e9 / questions.len() as f64;
    println!("\none decision of the policy: {nanos:.1} ns, the mean over {} questions", questions.len());
}

fn arguments(value: &str) -> Arc<JsonObject> {
    let members = [("key", "greeting"), ("value", value)];
    Arc::new(members.map(|(name, value)| (name.to_owned(), Value::from(value))).into_iter().collect())
}
