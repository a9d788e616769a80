//! Who shares a flight with whom, and what a caller's leaving ends.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::join_all};
use mcp_discovery::{Catalog, Discovery, DiscoveryErrorKind, Generation};
use mcp_transport::{Fence, TransportError};
use tokio::{runtime::Handle, task::yield_now};

use crate::server::{Server, Step};

/// Lets every task run until it waits. Only for asserting that nothing more happens.
async fn settle() {
    for _ in 0..100 {
        yield_now().await;
    }
}

fn all_the_same(catalogs: &[Arc<Catalog>]) -> bool {
    catalogs.iter().all(|catalog| Arc::ptr_eq(catalog, &catalogs[0]))
}

#[tokio::test]
async fn a_hundred_concurrent_callers_share_one_connect() {
    let server = Server::new();
    let discovery = server.discovery();
    let catalogs: Vec<_> =
        join_all((0..100).map(|_| discovery.catalog())).await.into_iter().map(Result::unwrap).collect();
    assert!(all_the_same(&catalogs));
    assert_eq!(server.log(), ["connect 1", "list 1"]);
    // And afterwards it is only handed out.
    assert!(Arc::ptr_eq(&discovery.catalog().await.unwrap(), &catalogs[0]));
    assert_eq!(server.log(), ["connect 1", "list 1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_callers_on_many_threads_share_one_connect() {
    let server = Server::new();
    let discovery = server.discovery();
    let calls = (0..100).map(|_| {
        let discovery = discovery.clone();
        tokio::spawn(async move { discovery.catalog().await.unwrap() })
    });
    let catalogs: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert!(all_the_same(&catalogs));
    assert_eq!(server.log(), ["connect 1", "list 1"]);
}

#[tokio::test]
async fn all_who_share_a_failure_get_it_and_the_next_caller_tries_anew() {
    let server = Server::new();
    server.on_connect([Step::Fail(TransportError::handshake("no"))]);
    let discovery = server.discovery();
    for outcome in join_all((0..10).map(|_| discovery.catalog())).await {
        assert_eq!(outcome.unwrap_err().kind(), DiscoveryErrorKind::Connect);
    }
    assert_eq!(server.count("connect"), 1);
    assert!(discovery.catalog().await.is_ok());
}

#[tokio::test]
async fn a_caller_who_comes_after_a_failure_does_not_get_it_though_others_have_not_looked_yet() {
    let server = Server::new();
    server.on_connect([Step::Fail(TransportError::handshake("no"))]);
    let discovery = server.discovery();
    let mut early = discovery.catalog();
    assert!((&mut early).now_or_never().is_none());
    settle().await;
    assert!(discovery.catalog().await.is_ok());
    assert!(early.await.is_err());
}

#[tokio::test]
async fn a_hundred_concurrent_rebuilds_share_one_reconnect() {
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap().generation();
    server.link(1).disconnect();
    let rebuilt: Vec<_> =
        join_all((0..100).map(|_| discovery.rebuild(stale))).await.into_iter().map(Result::unwrap).collect();
    assert!(all_the_same(&rebuilt));
    assert_eq!(server.log(), ["connect 1", "list 1", "close 1", "closed 1", "connect 2", "list 2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_rebuilds_on_many_threads_share_one_reconnect() {
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap().generation();
    server.link(1).disconnect();
    let calls = (0..100).map(|_| {
        let discovery = discovery.clone();
        tokio::spawn(async move { discovery.rebuild(stale).await.unwrap() })
    });
    let rebuilt: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert!(rebuilt.iter().all(|catalog| catalog.generation() > stale));
    // Who came late has a listing of its own, over the same connection.
    assert_eq!((server.count("connect"), server.count("close ")), (2, 1));
}

#[tokio::test]
async fn a_rebuild_that_comes_too_late_joins_the_next_listing_with_all_the_other_late_ones() {
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap().generation();
    server.on_list([Step::Hold]);
    let mut early = discovery.rebuild(stale);
    assert!((&mut early).now_or_never().is_none());
    server.until("list 1", 2).await;

    // The early listing has left: nobody can know what it will have seen.
    let mut late: Vec<_> = (0..10).map(|_| discovery.rebuild(stale)).collect();
    late.push(Box::pin(discovery.refresh()));
    for late in &mut late {
        assert!(late.now_or_never().is_none());
    }
    settle().await;
    assert_eq!(server.count("list"), 2, "one flight at a time");
    server.release();
    let early = early.await.unwrap();
    let late: Vec<_> = join_all(late).await.into_iter().map(Result::unwrap).collect();
    assert!(all_the_same(&late));
    assert!(late[0].generation() > early.generation());
    assert_eq!(server.log(), ["connect 1", "list 1", "list 1", "list 1"]);
}

#[tokio::test]
async fn a_rebuild_that_comes_before_the_listing_left_shares_it() {
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap().generation();
    server.link(1).disconnect();
    server.on_connect([Step::Hold]);
    let mut early = discovery.rebuild(stale);
    assert!((&mut early).now_or_never().is_none());
    server.until("connect", 2).await;
    let mut late = discovery.rebuild(stale);
    assert!((&mut late).now_or_never().is_none());
    server.release();
    assert!(Arc::ptr_eq(&early.await.unwrap(), &late.await.unwrap()));
    assert_eq!(server.count("list"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_rebuild_that_comes_between_two_tries_shares_the_next_one() {
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap().generation();
    // The listing over the old connection has left, then the one over the next; both are lost.
    server.on_list([Step::Die, Step::Die]);
    let mut early = discovery.rebuild(stale);
    assert!((&mut early).now_or_never().is_none());
    server.until("closed 2", 1).await;
    let late = discovery.rebuild(stale).await.unwrap();
    assert!(Arc::ptr_eq(&early.await.unwrap(), &late));
    assert_eq!((server.count("connect"), server.count("list 3")), (3, 1));
}

#[tokio::test]
async fn a_rebuild_that_comes_while_the_old_connection_is_closed_shares_the_reconnect() {
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap().generation();
    server.on_list([Step::Die]);
    server.on_close([Step::Hold]);
    let mut early = discovery.rebuild(stale);
    assert!((&mut early).now_or_never().is_none());
    server.until("close 1", 1).await;
    let mut late = discovery.rebuild(stale);
    assert!((&mut late).now_or_never().is_none());
    server.release();
    assert!(Arc::ptr_eq(&early.await.unwrap(), &late.await.unwrap()));
    assert_eq!(server.count("list 2"), 1);
}

#[tokio::test]
async fn a_catalog_call_shares_whatever_is_under_way() {
    let server = Server::new();
    let discovery = server.discovery();
    server.on_list([Step::Hold]);
    let mut first = discovery.catalog();
    assert!((&mut first).now_or_never().is_none());
    server.until("list 1", 1).await;
    let mut second = discovery.catalog();
    assert!((&mut second).now_or_never().is_none());
    server.release();
    assert!(Arc::ptr_eq(&first.await.unwrap(), &second.await.unwrap()));
    assert_eq!(server.log(), ["connect 1", "list 1"]);
}

#[tokio::test]
async fn stragglers_of_an_old_generation_reconnect_nothing_and_close_nothing() {
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap().generation();
    server.link(1).disconnect();
    let fresh = discovery.rebuild(stale).await.unwrap();
    let before = server.log();

    for outcome in join_all((0..100).map(|_| discovery.rebuild(stale))).await {
        let catalog = outcome.unwrap();
        assert!(catalog.generation() > fresh.generation());
        assert_eq!(catalog.connection(), fresh.connection());
        // It would speak of another connection than the straggler's.
        assert_eq!(catalog.predecessor_fence(), None);
    }
    assert_eq!(server.log()[before.len()..], ["list 2"]);
    assert!(!fresh.transport().is_closed());
}

#[tokio::test]
async fn a_suspicion_of_an_old_generation_costs_nothing() {
    let server = Server::new();
    let discovery = server.discovery();
    let first = discovery.catalog().await.unwrap();
    let second = discovery.refresh().await.unwrap();
    let log = server.log();
    discovery.suspect(first.generation());
    discovery.suspect(second.generation().next());
    assert!(Arc::ptr_eq(&discovery.catalog().await.unwrap(), &second));
    // Nor does one that came too early weigh on a later listing.
    discovery.refresh().await.unwrap();
    let third = discovery.catalog().await.unwrap();
    assert_eq!(third.generation(), second.generation().next());
    assert_eq!(server.log().len(), log.len() + 1);
}

#[tokio::test]
async fn dropping_one_waiter_ends_only_its_wait() {
    let server = Server::new();
    server.on_connect([Step::Hold]);
    let discovery = server.discovery();
    let (mut leaves, mut stays) = (discovery.catalog(), discovery.catalog());
    assert!((&mut leaves).now_or_never().is_none() && (&mut stays).now_or_never().is_none());
    server.until("connect", 1).await;
    drop(leaves);
    settle().await;
    server.release();
    assert!(stays.await.is_ok());
    assert_eq!(server.log(), ["connect 1", "list 1"]);
}

#[tokio::test]
async fn dropping_the_last_waiter_stops_the_flight_and_closes_the_connection_that_it_made() {
    let server = Server::new();
    server.on_list([Step::Hang]);
    let discovery = server.discovery();
    let (mut one, mut other) = (discovery.catalog(), discovery.catalog());
    assert!((&mut one).now_or_never().is_none() && (&mut other).now_or_never().is_none());
    server.until("list 1", 1).await;
    drop(one);
    settle().await;
    assert_eq!(server.open(), 1);
    drop(other);
    server.until("closed 1", 1).await;
    settle().await;
    assert_eq!((server.open(), Handle::current().metrics().num_alive_tasks()), (0, 0));

    assert_eq!(discovery.catalog().await.unwrap().generation(), Generation::FIRST.next());
    assert_eq!(server.log()[2..], ["close 1", "closed 1", "connect 2", "list 2"]);
}

#[tokio::test]
async fn the_next_flight_waits_until_the_stopped_one_has_closed_what_it_made() {
    let server = Server::new();
    server.on_list([Step::Hang]);
    server.on_close([Step::Hold]);
    let discovery = server.discovery();
    let mut leaves = discovery.catalog();
    assert!((&mut leaves).now_or_never().is_none());
    server.until("list 1", 1).await;
    drop(leaves);
    let mut next = discovery.catalog();
    assert!((&mut next).now_or_never().is_none());
    settle().await;
    assert_eq!(server.log(), ["connect 1", "list 1", "close 1"]);
    server.release();
    assert!(next.await.is_ok());
    assert_eq!(server.open(), 1);
}

#[tokio::test]
async fn dropping_the_last_waiter_while_a_lost_try_is_closed_closes_it_again() {
    let server = Server::new();
    server.on_list([Step::Fail(TransportError::lost()), Step::Fail(TransportError::lost())]);
    server.on_close([Step::Hang]);
    let discovery = server.discovery();
    let mut leaves = discovery.catalog();
    assert!((&mut leaves).now_or_never().is_none());
    server.until("close 1", 1).await;
    drop(leaves);
    server.until("closed 1", 1).await;
    settle().await;
    assert_eq!((server.open(), Handle::current().metrics().num_alive_tasks()), (0, 0));
}

#[tokio::test]
async fn dropping_the_last_waiter_during_a_connect_ends_the_connect() {
    let server = Server::new();
    server.on_connect([Step::Hang]);
    let discovery = server.discovery();
    let mut leaves = discovery.catalog();
    assert!((&mut leaves).now_or_never().is_none());
    server.until("connect", 1).await;
    drop(leaves);
    settle().await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    assert!(discovery.catalog().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_waiter_between_two_tries_ends_the_tries() {
    let server = Server::new();
    server.on_connect((0..6).map(|_| Step::Fail(TransportError::connect("no"))));
    let discovery = server.discovery();
    let mut leaves = discovery.catalog();
    assert!((&mut leaves).now_or_never().is_none());
    server.until("connect", 3).await;
    drop(leaves);
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(server.count("connect"), 3);
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
}

#[tokio::test]
async fn a_rebuild_stopped_between_closing_and_connecting_still_tells_the_fence_to_the_next() {
    let server = Server::new();
    server.fence_with(Fence::GroupGone);
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap();
    server.link(1).disconnect();
    server.on_connect([Step::Hang]);
    let mut leaves = discovery.rebuild(stale.generation());
    assert!((&mut leaves).now_or_never().is_none());
    server.until("connect", 2).await;
    drop(leaves);

    let next = discovery.catalog().await.unwrap();
    assert_eq!(next.predecessor_fence(), Some(Fence::GroupGone));
    assert_eq!(next.connection(), stale.connection().next());
    assert_eq!((server.count("close "), server.open()), (1, 1));
}

#[tokio::test]
async fn a_rebuild_stopped_while_closing_leaves_the_closing_to_the_next() {
    let server = Server::new();
    server.fence_with(Fence::GroupGone);
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap().generation();
    server.link(1).disconnect();
    server.on_close([Step::Hang]);
    let mut leaves = discovery.rebuild(stale);
    assert!((&mut leaves).now_or_never().is_none());
    server.until("close 1", 1).await;
    drop(leaves);
    let next = discovery.catalog().await.unwrap();
    assert_eq!(next.predecessor_fence(), Some(Fence::GroupGone));
    assert_eq!(server.log()[2..], ["close 1", "close 1", "closed 1", "connect 2", "list 2"]);
}
