//! What makes a catalog doubtful, and what is done about it unasked.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use mcp_discovery::{Discovery, Generation};
use mcp_transport::{Event, TransportError};
use tokio::{task::yield_now, time::sleep};

use crate::server::{Server, Step, page, tool};

/// Longer than anything waits.
const AGES: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn a_suspect_catalog_is_listed_again_first_over_the_same_connection() {
    let server = Server::new();
    let discovery = server.discovery();
    let doubtful = discovery.catalog().await.unwrap();
    discovery.suspect(doubtful.generation());
    discovery.suspect(doubtful.generation());
    sleep(AGES).await;
    assert_eq!(server.log(), ["connect 1", "list 1"], "suspecting starts nothing");

    let fresh = discovery.catalog().await.unwrap();
    assert!(fresh.generation() > doubtful.generation());
    assert_eq!(fresh.connection(), doubtful.connection());
    assert!(Arc::ptr_eq(&discovery.catalog().await.unwrap(), &fresh));
    assert_eq!(server.log(), ["connect 1", "list 1", "list 1"]);
}

#[tokio::test]
async fn a_suspect_catalog_whose_connection_is_lost_is_replaced() {
    let server = Server::new();
    let discovery = server.discovery();
    let doubtful = discovery.catalog().await.unwrap();
    discovery.suspect(doubtful.generation());
    server.on_list([Step::Die]);
    let fresh = discovery.catalog().await.unwrap();
    assert_eq!(fresh.connection(), doubtful.connection().next());
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_tools_is_listed_unasked() {
    let server = Server::new();
    let discovery = server.discovery();
    let before = discovery.catalog().await.unwrap();
    server.serve(|_| page(&[tool("new")]));
    server.link(1).tell(Event::ToolsChanged);
    sleep(AGES).await;
    assert_eq!(server.log(), ["connect 1", "list 1", "list 1"]);

    let after = discovery.catalog().await.unwrap();
    assert_eq!(after.generation(), before.generation().next());
    assert_eq!(after.connection(), before.connection());
    assert!(after.tool("new").is_some());
    assert_eq!(server.count("list"), 2);
}

#[tokio::test]
async fn while_a_change_is_being_listed_nobody_gets_the_old_catalog() {
    let server = Server::new();
    let discovery = server.discovery();
    let before = discovery.catalog().await.unwrap();
    server.on_list([Step::Hold]);
    server.link(1).tell(Event::ToolsChanged);
    server.until("list 1", 2).await;
    let mut call = discovery.catalog();
    assert!((&mut call).now_or_never().is_none());
    server.release();
    assert!(call.await.unwrap().generation() > before.generation());
    assert_eq!(server.count("list"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_changes_is_one_listing_and_a_burst_during_a_listing_is_one_more() {
    let server = Server::new();
    let discovery = server.discovery();
    discovery.catalog().await.unwrap();
    server.on_list([Step::Hold]);
    for _ in 0..100 {
        server.link(1).tell(Event::ToolsChanged);
    }
    server.until("list 1", 2).await;
    for _ in 0..100 {
        server.link(1).tell(Event::ToolsChanged);
        yield_now().await;
    }
    server.release();
    sleep(AGES).await;
    assert_eq!(server.count("list"), 3);
    assert_eq!(discovery.catalog().await.unwrap().generation().get(), 3);
    assert_eq!(server.count("list"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_changes_with_each_listing_is_listed_once_a_second() {
    let server = Server::new();
    let discovery = server.discovery();
    discovery.catalog().await.unwrap();
    server.link(1).tell(Event::ToolsChanged);
    let telling = server.clone();
    let storm = tokio::spawn(async move {
        for listings in 2.. {
            telling.until("list 1", listings).await;
            telling.link(1).tell(Event::ToolsChanged);
        }
    });
    sleep(Duration::from_millis(59_500)).await;
    assert_eq!(server.count("list"), 1 + 60);
    // Who asks does not wait for that.
    assert_eq!(discovery.catalog().await.unwrap().generation().get(), 1 + 60 + 1);
    storm.abort();
}

#[tokio::test(start_paused = true)]
async fn a_change_during_the_first_listing_is_not_missed() {
    let server = Server::new();
    server.on_list([Step::Hold]);
    let discovery = server.discovery();
    let mut first = discovery.catalog();
    assert!((&mut first).now_or_never().is_none());
    server.until("list 1", 1).await;
    server.link(1).tell(Event::ToolsChanged);
    server.serve(|_| page(&[tool("new")]));
    server.release();
    assert_eq!(first.await.unwrap().generation(), Generation::FIRST);
    sleep(AGES).await;
    assert_eq!(server.log(), ["connect 1", "list 1", "list 1"]);
    assert_eq!(discovery.catalog().await.unwrap().generation(), Generation::FIRST.next());
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_had_left_before_the_change_does_not_count_as_having_seen_it() {
    let server = Server::new();
    let discovery = server.discovery();
    discovery.catalog().await.unwrap();
    server.on_list([Step::Hold, Step::Slow(Duration::from_secs(1))]);
    let mut refresh = Box::pin(discovery.refresh());
    assert!((&mut refresh).now_or_never().is_none());
    server.until("list 1", 2).await;
    server.link(1).tell(Event::ToolsChanged);
    yield_now().await;
    server.release();
    let too_early = refresh.await.unwrap();
    // The listing that the change asked for is not there yet, and the one before it is suspect.
    let call = discovery.catalog().await.unwrap();
    assert!(call.generation() > too_early.generation());
    assert_eq!(server.count("list"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_cannot_be_listed_stays_for_the_next_caller() {
    let server = Server::new();
    let discovery = server.discovery();
    let before = discovery.catalog().await.unwrap();
    let rejected = || Step::Fail(TransportError::rejected(-32603));
    server.on_list([rejected(), rejected()]);
    server.link(1).tell(Event::ToolsChanged);
    sleep(AGES).await;
    assert_eq!(server.count("list"), 3);
    assert!(discovery.catalog().await.unwrap().generation() > before.generation());
    assert_eq!(server.log(), ["connect 1", "list 1", "list 1", "list 1", "list 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_is_not_replaced_unasked() {
    let server = Server::new();
    let discovery = server.discovery();
    discovery.catalog().await.unwrap();
    server.link(1).disconnect();
    sleep(AGES).await;
    assert_eq!(server.log(), ["connect 1", "list 1"]);
    assert!(discovery.catalog().await.is_ok());
    assert_eq!(server.count("connect"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_listing_is_lost_closes_nothing_and_connects_nothing_unasked() {
    let server = Server::new();
    let discovery = server.discovery();
    let before = discovery.catalog().await.unwrap();
    // Calls may be in flight on it, and nobody asked.
    server.on_list([Step::Fail(TransportError::lost()), Step::Fail(TransportError::lost())]);
    server.link(1).tell(Event::ToolsChanged);
    sleep(AGES).await;
    assert_eq!(server.log(), ["connect 1", "list 1", "list 1", "list 1"]);
    assert_eq!(discovery.catalog().await.unwrap().connection(), before.connection());

    server.on_list([Step::Die]);
    server.link(1).tell(Event::ToolsChanged);
    sleep(AGES).await;
    assert_eq!((server.count("connect"), server.count("close")), (1, 0));
    assert_eq!(discovery.catalog().await.unwrap().connection(), before.connection().next());
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_shares_the_listing_of_a_change_is_reconnected_when_it_is_lost() {
    let server = Server::new();
    let discovery = server.discovery();
    let before = discovery.catalog().await.unwrap();
    server.on_list([Step::Slow(Duration::from_secs(1)), Step::Die]);
    server.serve(|cursor| match cursor {
        None => page(&[tool("a")]).with_next("1"),
        Some(_) => page(&[tool("b")]),
    });
    server.link(1).tell(Event::ToolsChanged);
    server.until("list 1", 2).await;
    let after = discovery.catalog().await.unwrap();
    assert_eq!(after.connection(), before.connection().next());
    assert_eq!(server.count("list 1"), 3, "it shared that listing");
}

#[tokio::test(start_paused = true)]
async fn changes_on_a_connection_that_was_replaced_are_ignored() {
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap().generation();
    server.link(1).disconnect();
    let fresh = discovery.rebuild(stale).await.unwrap();
    server.link(1).tell(Event::ToolsChanged);
    sleep(AGES).await;
    assert!(Arc::ptr_eq(&discovery.catalog().await.unwrap(), &fresh));
    assert_eq!(server.count("list"), 2);
    // The new one is listened to.
    server.link(2).tell(Event::ToolsChanged);
    sleep(AGES).await;
    assert_eq!(server.count("list 2"), 2);
}
