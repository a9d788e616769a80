//! What the safe layer costs over raw rmcp, and over a client without an SDK: `cargo bench -p
//! mcp-tool-tests` prints tables of ratios, all taken side by side. docs/performance.md says how to read
//! them.

mod callers;
mod calls;
#[path = "../table/choice.rs"]
mod choice;
mod decisions;
mod floor;
mod http_server;
mod line_server;
mod listers;
mod listing_server;
mod listings;
mod rounds;
#[path = "../table/target.rs"]
mod target;

use std::{
    env,
    error::Error,
    hint::black_box,
    slice,
    time::{Duration, Instant},
};

use mcp_tool::{ConservativePolicy, replay_policy::FailedAttempt};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::runtime::Builder;

use choice::Choice;
use rounds::{Effort, Side, compare};
use target::Target;

fn main() -> Result<(), Box<dyn Error>> {
    match env::args().nth(1).as_deref() {
        Some(line_server::SERVE) => return Ok(line_server::serve_stdio()?),
        Some(http_server::SERVE_HTTP) => return Ok(http_server::serve()?),
        _ => {}
    }
    let Some(choice) = Choice::of_benchmark() else { return Ok(()) };
    allow_descriptors()?;
    let one_thread = Builder::new_current_thread().enable_all().build()?;
    let two_workers = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    calls::table(&choice, &one_thread, &two_workers);
    listings::table(&choice, &one_thread);
    decisions(&choice);
    Ok(())
}

/// A thousand calls in flight over HTTP are as many connections, on each side.
fn allow_descriptors() -> Result<(), Box<dyn Error>> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit })?;
    Ok(())
}

fn decisions(choice: &Choice) {
    if !choice.takes("decide") {
        return;
    }
    let effort = choice.of(
        Effort { sittings: 10, budget: Duration::from_secs(2) },
        Effort { sittings: 1, budget: Duration::from_millis(50) },
    );
    let rows = decisions::rows();
    println!("\n{:<38} {:>8} {:>14}", "decide", "ns", "target");
    let line = |name, nanos| println!("{name:<38} {nanos:>8.1} {:>14}", Target(25.0).verdict(nanos));
    line("the 108 rows of the rule, mean", mean(effort, &rows));
    line("the 108 rows, the slowest", slowest(&rows));
    line("1,320 questions, mean", mean(effort, &decisions::questions()));
}

/// The nanoseconds of one decision.
fn mean(effort: Effort, questions: &[FailedAttempt]) -> f64 {
    let policy = &ConservativePolicy::default();
    let [outcome] = compare(effort, || {
        let deciding = |times: u32| {
            for _ in 0..times {
                black_box(decisions::decide(policy, questions));
            }
        };
        [Box::new(deciding) as Side<'_>]
    });
    nanos(outcome.wall, questions.len())
}

/// The nanoseconds of the decision that takes the longest, each at its fastest: a turn is short enough that
/// nothing interrupts all of them.
fn slowest(questions: &[FailedAttempt]) -> f64 {
    const TURNS: usize = 50;
    const TIMES: usize = 10_000;
    let policy = &ConservativePolicy::default();
    let mut fastest = vec![Duration::MAX; questions.len()];
    for _ in 0..TURNS {
        for (question, fastest) in questions.iter().zip(&mut fastest) {
            let begun = Instant::now();
            for _ in 0..TIMES {
                black_box(decisions::decide(policy, slice::from_ref(question)));
            }
            *fastest = begun.elapsed().min(*fastest);
        }
    }
    nanos(fastest.into_iter().max().expect("there are rows"), TIMES)
}

fn nanos(time: Duration, times: usize) -> f64 {
    time.as_secs_f64() * 1e9 / times as f64
}
