//! How long a lost call takes to be back: over the pipes of a child that is killed, and for ten thousand
//! calls in flight on one connection. `cargo bench -p mcp-tool-tests --bench recovery` prints it.

#[path = "../table/choice.rs"]
mod choice;
mod killed;
#[expect(dead_code, reason = "only its handshake is needed here")]
#[path = "../ratios/line_server.rs"]
mod line_server;
#[path = "../one_killed/server.rs"]
mod server;
#[path = "../one_killed/storm.rs"]
mod storm;
#[path = "../table/target.rs"]
mod target;
mod watched_server;

use std::{env, error::Error, path::Path, time::Duration};

use mcp_tool::Client;
use tokio::runtime::{Builder, Runtime};

use choice::Choice;
use server::Server;
use storm::{Caller, Storm, storm};

const CALLS: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [role, socket] = &*arguments
        && role == watched_server::SERVE
    {
        return Ok(watched_server::serve(Path::new(socket))?);
    }
    let Some(choice) = Choice::of_benchmark() else { return Ok(()) };
    let two_workers = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if choice.takes("recovery") {
        killed::table(&choice, &two_workers)?;
    }
    if choice.takes("lost") {
        lost(choice.of(15, 3), &two_workers);
    }
    Ok(())
}

fn lost(rounds: usize, runtime: &Runtime) {
    println!(
        "\n{:<38} {:>12} {:>12} {:>12} {:>12}",
        "10,000 calls lost, until all had ended", "ms, median", "answered", "without", "reconnects"
    );
    let [mut raw, mut safe, mut unsafe_] = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        raw.push(losing::<storm::Raw>("wait", runtime));
        safe.push(losing::<Client>("wait", runtime));
        unsafe_.push(losing::<Client>("keep", runtime));
    }
    for (name, storms, reconnects, answered) in [
        ("raw rmcp", raw, 0, 0),
        ("client, a safe tool", safe, 1, CALLS),
        ("client, an unsafe tool", unsafe_, 0, 0),
    ] {
        for storm in &storms {
            assert_eq!((storm.reconnects, storm.ended.answered), (reconnects, answered));
            assert_eq!(storm.ended.answered + storm.ended.lost, CALLS);
        }
        let took = median(storms.iter().map(|storm| storm.took).collect());
        let ms = took.as_secs_f64() * 1e3;
        println!("{name:<38} {ms:>12.1} {answered:>12} {:>12} {reconnects:>12}", CALLS - answered);
    }
}

fn losing<C: Caller>(tool: &'static str, runtime: &Runtime) -> Storm {
    runtime.block_on(storm::<C>(&Server::new(), tool, CALLS, || {}))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
