//! Anything in any order: what must never happen does not, and everything that was begun ends.

use std::time::Duration;

use mcp_discovery::{Discovery, DiscoveryErrorKind, Generation, State, SupervisedDiscovery};
use mcp_transport::{Event, ToolCall};
use tokio::{
    task::{JoinSet, yield_now},
    time::{sleep, timeout},
};

use crate::server::{AGES, Probe, Server, Start, tasks};

/// Numbers that look random and are the same with every run (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

const STARTS: [Start; 9] = [
    Start::Well,
    Start::Well,
    Start::Well,
    Start::Refused,
    Start::Hangs,
    Start::Slow(Duration::from_millis(700)),
    Start::Crashes,
    Start::Lives(Duration::from_secs(3)),
    Start::Mute,
];
const PROBES: [Probe; 5] = [Probe::Answered, Probe::Answered, Probe::Hangs, Probe::Fails, Probe::SessionLost];

/// One call as a client makes it: a catalog, an attempt, and a rebuild if the connection was lost.
async fn call(discovery: SupervisedDiscovery) {
    let Ok(catalog) = discovery.catalog().await else { return };
    let call = ToolCall::new("put").with_deadline(Duration::from_secs(20)).started();
    if let Err(error) = catalog.transport().call_tool(call).await {
        match error.class() {
            mcp_transport::ErrorClass::Connection => {
                discovery.suspect(catalog.generation());
                let _ = discovery.rebuild(catalog.generation()).await;
            }
            _ => discovery.doubt(catalog.generation()),
        }
    }
}

/// The connector itself asserts that no two starts, and no two connections, are there at once.
async fn schedule(seed: u64) {
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let mut running = JoinSet::new();
    // Between a stop and the next explicit connect, nothing starts.
    let mut starts_when_stopped = None;
    for _ in 0..60 {
        let clone = discovery.clone();
        match chance.below(16) {
            0 | 1 => drop(running.spawn(call(clone))),
            2 => drop(running.spawn(async move {
                let _ = clone.refresh().await;
            })),
            3 => drop(running.spawn(async move {
                // A caller who leaves early.
                let _ = timeout(Duration::from_millis(300), clone.catalog()).await;
            })),
            4 => {
                let _ = discovery.stop().await;
                assert_eq!((server.open(), server.starting()), (0, 0), "seed {seed}");
                starts_when_stopped = Some(server.starts());
                let error = discovery.catalog().await.unwrap_err();
                assert_eq!(error.kind(), DiscoveryErrorKind::Stopped);
            }
            5 | 6 => {
                starts_when_stopped = None;
                let explicit = chance.below(2);
                running.spawn(async move {
                    let _ = match explicit {
                        0 => clone.connect().await,
                        _ => clone.reconnect().await,
                    };
                });
                // It has been asked for when the next thing happens.
                yield_now().await;
            }
            7 if server.starts() > 0 && server.open() > 0 => server.link().end(),
            8 if server.open() > 0 => server.link().tell(Event::ToolsChanged),
            9 => server.usually(chance.of(&STARTS)),
            10 => server.probe(chance.of(&PROBES)),
            11 => discovery.doubt(Generation::FIRST),
            12 => server.become_another(chance.of(&["one", "two"])),
            13 => sleep(Duration::from_secs(chance.below(600))).await,
            14 => sleep(Duration::from_millis(chance.below(3_000))).await,
            _ => yield_now().await,
        }
        if let Some(starts) = starts_when_stopped {
            assert_eq!(server.starts(), starts, "seed {seed}: started while stopped");
            assert_eq!(discovery.status().state, State::Stopped, "seed {seed}");
        }
    }
    // With a healthy server again, everything ends, and the server is there.
    server.usually(Start::Well);
    server.probe(Probe::Answered);
    server.release();
    let all = async { while running.join_next().await.is_some_and(|ended| ended.is_ok()) {} };
    timeout(24 * AGES, all).await.unwrap_or_else(|_| panic!("seed {seed}: something never ends"));
    assert!(running.is_empty(), "seed {seed}: something panicked");
    // The first may share a start from before.
    let _ = discovery.connect().await;
    discovery.connect().await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    sleep(AGES).await;
    assert_eq!((discovery.status().state, server.open()), (State::Ready, 1), "seed {seed}");
    drop(discovery);
    sleep(AGES).await;
    assert_eq!((tasks(), server.open(), server.starting()), (0, 0, 0), "seed {seed}");
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_there_is_one_start_at_most_and_none_after_a_stop() {
    for seed in 1..=200 {
        schedule(seed).await;
    }
}
