//! 64 servers with 10,000 calls in flight, of which one is killed: what the callers of the others notice, and
//! whether the memory comes back. `cargo bench -p mcp-tool-tests --bench one_killed` prints it, all of it
//! measured in one run: a round times calls to servers that are left alone, then the same calls while one
//! server that was killed is brought back and gets its calls again.

#[expect(dead_code, reason = "this takes no longer than it must")]
#[path = "../table/choice.rs"]
mod choice;
mod server;

use std::{
    alloc::System,
    error::Error,
    time::{Duration, Instant},
};

use mcp_tool::{Server as Reached, ServerEntry, Servers, ToolCall, Trust};
use stats_alloc::{Region, StatsAlloc};
use tokio::{runtime::Builder, task::JoinSet, time::sleep};

use choice::Choice;
use server::Server;

#[global_allocator]
static ALLOCATOR: StatsAlloc<System> = StatsAlloc::system();

const SERVERS: usize = 64;
const CALLS: usize = 10_000;
/// Each kills another server.
const ROUNDS: usize = 32;
const TIMED: usize = 500;
/// Storms before anything is measured.
const WARM_UP: usize = 6;

fn main() -> Result<(), Box<dyn Error>> {
    match Choice::of_benchmark() {
        Some(choice) if choice.takes("one killed") => {}
        _ => return Ok(()),
    }
    Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(run());
    Ok(())
}

async fn run() {
    let fleet = Fleet::start().await;
    // Tables and buffers have their size after some of them.
    for _ in 0..WARM_UP {
        fleet.storm(0).await;
    }
    let region = Region::new(&ALLOCATOR);
    let storm = fleet.storm(TIMED).await;
    println!("\n{SERVERS} servers, {CALLS} calls in flight, one killed in each of {ROUNDS} rounds");
    println!("{} replays, {} reconnects, every call answered", storm.replays, storm.reconnects);
    let recovery = storm.recovery / ROUNDS as u32;
    println!("a killed server had all its calls again after {:.1} ms, the mean", millis(recovery));
    println!(
        "{:<34} {:>10} {:>10} {:>8}",
        "a call to another server, µs", "left alone", "one killed", "ratio"
    );
    for (name, percent) in [("median", 50), ("90 %", 90), ("99 %", 99)] {
        let (before, after) = (percentile(&storm.alone, percent), percentile(&storm.killed, percent));
        println!("{name:<34} {:>10.1} {:>10.1} {:>8.2}", micros(before), micros(after), ratio(before, after));
    }
    drop(storm);
    let grown = settled(&region).await;
    println!("memory after it: {grown:+} bytes, {:+.1} for each call", grown as f64 / CALLS as f64);
    let late = fleet.servers.shut_down(Duration::from_secs(60)).await;
    assert!(late.is_empty(), "{late:?} had not ended in time");
}

struct Fleet {
    servers: Servers,
    members: Vec<(Server, Reached)>,
}

#[derive(Default)]
struct Storm {
    alone: Vec<Duration>,
    killed: Vec<Duration>,
    recovery: Duration,
    replays: usize,
    reconnects: usize,
}

impl Fleet {
    async fn start() -> Self {
        let servers = Servers::builder().trust(Trust::BOTH).build();
        let name = |number: usize| format!("{number:02}");
        let lives: Vec<_> = (0..SERVERS).map(|_| Server::new()).collect();
        servers
            .apply(lives.iter().enumerate().map(|(n, lives)| ServerEntry::new(name(n), lives.clone())))
            .await;
        for (name, connected) in servers.connect_all().await {
            connected.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let reached = |number| servers.get(&name(number)).expect("it was put there");
        let members = lives.into_iter().enumerate().map(|(number, lives)| (lives, reached(number))).collect();
        Self { servers, members }
    }

    /// `timed` calls, one after the other, before each kill and after it.
    async fn storm(&self, timed: usize) -> Storm {
        let mut storm = Storm::default();
        let before = self.lives();
        let mut calls = JoinSet::new();
        self.members.iter().for_each(|(server, _)| server.release(false));
        for number in 0..CALLS {
            let client = self.members[number % SERVERS].1.client().clone();
            calls.spawn(async move { client.call(ToolCall::new("wait")).await });
        }
        for (number, (server, _)) in self.members.iter().enumerate() {
            server.has_waiting(on(number)).await;
        }
        for victim in 0..ROUNDS {
            self.time(timed, victim, &mut storm.alone).await;
            let (server, _) = &self.members[victim];
            let begun = Instant::now();
            server.kill();
            let back = async {
                server.has_waiting(on(victim)).await;
                begun.elapsed()
            };
            let ((), recovery) = tokio::join!(self.time(timed, victim, &mut storm.killed), back);
            storm.recovery += recovery;
        }
        self.members.iter().for_each(|(server, _)| server.release(true));
        while let Some(call) = calls.join_next().await {
            storm.replays += call.expect("no panic").expect("an answer").replays as usize;
        }
        storm.reconnects = self.lives() - before;
        assert_eq!((storm.reconnects, storm.replays), (ROUNDS, (0..ROUNDS).map(on).sum()));
        storm
    }

    /// Calls the others in turn.
    async fn time(&self, timed: usize, victim: usize, times: &mut Vec<Duration>) {
        let others = self.members.iter().enumerate().filter(|(number, _)| *number != victim);
        for (_, (_, other)) in others.cycle().take(timed) {
            let begun = Instant::now();
            other.client().call(ToolCall::new("put")).await.expect("an answer");
            times.push(begun.elapsed());
        }
    }

    fn lives(&self) -> usize {
        self.members.iter().map(|(server, _)| server.lives()).sum()
    }
}

/// How many of the calls in flight are this server's.
fn on(number: usize) -> usize {
    CALLS / SERVERS + usize::from(number < CALLS % SERVERS)
}

/// How much more memory is in use than at the beginning, once that falls no more.
async fn settled(region: &Region<'_, System>) -> isize {
    let in_use = || {
        let change = region.change();
        change.bytes_allocated as isize - change.bytes_deallocated as isize
    };
    let mut least = in_use();
    loop {
        sleep(Duration::from_secs(1)).await;
        let now = in_use();
        if now >= least {
            return now;
        }
        least = now;
    }
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() * percent / 100]
}

fn ratio(before: Duration, after: Duration) -> f64 {
    after.as_secs_f64() / before.as_secs_f64()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
