//! Crowds of callers, faults and departures at random, and what must hold for each of them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_discovery::{Discovery, Generation, PagingDiscovery};
use mcp_transport::{Event, TransportError};
use tokio::{
    runtime::Handle,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::server::{Server, Step, page, tool};

/// A small generator of pseudo-random numbers (an xorshift), so that a failing crowd can be met again.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    fn millis(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.roll(most + 1))
    }

    /// One in so many is a fault; half of the rest take a while.
    fn step(&mut self, faults: u64, fault: impl Fn(&mut Self) -> Step) -> Step {
        match self.roll(faults) {
            0 => fault(self),
            _ if self.roll(2) == 0 => Step::Slow(self.millis(20)),
            _ => Step::Well,
        }
    }
}

/// Faults at every turn. Each listing names the request that its first page came from.
fn faulty(dice: &mut Dice, arrived: &Arc<AtomicUsize>) -> Server {
    let server = Server::new();
    let arrived = Arc::clone(arrived);
    server.serve(move |_| page(&[tool(&format!("t{}", arrived.fetch_add(1, Ordering::SeqCst)))]));
    server.on_connect((0..1_000).map(|_| dice.step(4, |_| Step::Fail(TransportError::connect("refused")))));
    server.on_list((0..1_000).map(|_| {
        dice.step(4, |dice| match dice.roll(3) {
            0 => Step::Die,
            1 => Step::Fail(TransportError::lost()),
            _ => Step::Fail(TransportError::rejected(-32603)),
        })
    }));
    server.on_close((0..1_000).map(|_| dice.step(1_000, |_| Step::Well)));
    server
}

/// Which request brought this catalog.
fn request(catalog: &mcp_discovery::Catalog) -> usize {
    catalog.tools()[0].name()[1..].parse().unwrap()
}

async fn caller(
    discovery: PagingDiscovery<Server>,
    server: Server,
    arrived: Arc<AtomicUsize>,
    mut dice: Dice,
) -> bool {
    sleep(dice.millis(300)).await;
    let patience = if dice.roll(3) == 0 { dice.millis(30) } else { Duration::from_secs(600) };
    let call = async {
        match dice.roll(10) {
            0..4 => discovery.catalog().await.is_ok(),
            4..8 => {
                let stale = timeout(Duration::ZERO, discovery.catalog()).await;
                let stale = stale.ok().and_then(Result::ok).map(|catalog| catalog.generation());
                let before = arrived.load(Ordering::SeqCst);
                let fresh = discovery.rebuild(stale.unwrap_or(Generation::FIRST)).await;
                if let Ok(fresh) = &fresh {
                    assert!(Some(fresh.generation()) > stale, "{fresh:?} after {stale:?}");
                    assert!(request(fresh) >= before, "{fresh:?} had left before it was asked for");
                }
                fresh.is_ok()
            }
            8 if server.newest() > 0 => {
                let link = server.link(server.newest());
                if dice.roll(2) == 0 {
                    link.disconnect();
                } else {
                    link.tell(Event::ToolsChanged);
                }
                true
            }
            _ => {
                discovery.close().await;
                true
            }
        }
    };
    timeout(patience, call).await.unwrap_or(false)
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_connections_never_overlap_listings_are_fresh_and_nothing_is_left() {
    let mut served = 0;
    for seed in 1..=200 {
        let mut dice = Dice(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let arrived = Arc::default();
        let server = faulty(&mut dice, &arrived);
        let discovery = server.discovery();
        let mut callers = JoinSet::new();
        for _ in 0..50 {
            let dice = Dice(dice.roll(u64::MAX) | 1);
            callers.spawn(caller(discovery.clone(), server.clone(), Arc::clone(&arrived), dice));
        }
        while let Some(outcome) = callers.join_next().await {
            served += usize::from(outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}")));
        }
        assert_eq!(server.count("overlap"), 0, "seed {seed}: {:?}", server.log());

        discovery.close().await;
        drop(discovery);
        sleep(Duration::from_secs(3_600)).await;
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0, "seed {seed}");
        assert_eq!(server.open(), 0, "seed {seed}: {:?}", server.log());
    }
    // Most are served in spite of it all: the test tests something.
    assert!(served > 5_000, "{served} of 10,000");
}
