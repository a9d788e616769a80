//! Many servers in one runtime.

use std::time::Duration;

use mcp_discovery::{State, SupervisedDiscovery};
use tokio::{runtime::Handle, time::sleep};

use crate::server::{AGES, Server, Start, tasks};

#[tokio::test(start_paused = true)]
async fn a_thousand_idle_servers_cost_a_probe_each_per_interval_and_nothing_else() {
    let servers: Vec<_> = (0..1_000).map(|_| Server::new()).collect();
    let discoveries: Vec<_> = servers.iter().cloned().map(SupervisedDiscovery::new).collect();
    for discovery in &discoveries {
        discovery.connect().await.unwrap();
    }
    // One that watches and one that listens, each.
    assert_eq!(tasks(), 2_000);
    // A task that spun would never let the paused clock go on.
    let parks = || Handle::current().metrics().worker_park_count(0);
    sleep(Duration::from_secs(1)).await;
    let before = parks();
    sleep(Duration::from_secs(300)).await;
    let probes: usize = servers.iter().map(Server::probes).sum();
    assert_eq!(probes, 10_000);
    let parks = parks() - before;
    assert!(parks <= 10_000, "{parks}");
    assert!(servers.iter().all(|server| server.starts() == 1 && server.lists() == 1));
    drop(discoveries);
    sleep(AGES).await;
    assert_eq!((tasks(), servers.iter().map(Server::open).sum::<usize>()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_servers_that_are_down_for_good_are_looked_at_seldom() {
    let servers: Vec<_> = (0..100).map(|_| Server::new()).collect();
    let discoveries: Vec<_> = servers.iter().cloned().map(SupervisedDiscovery::new).collect();
    for (server, discovery) in servers.iter().zip(&discoveries) {
        server.usually(Start::Missing);
        assert!(discovery.connect().await.is_err());
    }
    sleep(AGES).await;
    for server in &servers {
        // Every five seconds, and some for each try, every five minutes.
        assert!((720..=720 + 13 * 10).contains(&server.looks()), "{}", server.looks());
    }
    assert!(servers.iter().all(|server| (12..=13).contains(&server.starts())));
    assert!(discoveries.iter().all(|discovery| matches!(discovery.status().state, State::Down { .. })));
}
