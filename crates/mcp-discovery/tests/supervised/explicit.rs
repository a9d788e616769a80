//! Connecting, reconnecting, listing again and stopping on request, and the end of the last handle.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use mcp_discovery::{Discovery, DiscoveryErrorKind, DownReason, State, SupervisedDiscovery};
use mcp_transport::{Delivery, ErrorKind, Event, Fence, ToolCall};
use tokio::{
    task::yield_now,
    time::{Instant, sleep},
};

use crate::server::{AGES, Probe, Server, Start, history, replaced, state, tasks};

#[tokio::test(start_paused = true)]
async fn a_stopped_server_stays_stopped_whatever_is_asked_of_it() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let catalog = discovery.connect().await.unwrap();
    assert_eq!(discovery.stop().await, Fence::GroupGone);
    assert_eq!((discovery.status().state, server.open()), (State::Stopped, 0));
    assert_eq!(discovery.stop().await, Fence::GroupGone, "stopping again tells the same");

    let stopped = DiscoveryErrorKind::Stopped;
    assert_eq!(discovery.catalog().await.unwrap_err().kind(), stopped);
    assert_eq!(discovery.rebuild(catalog.generation()).await.unwrap_err().kind(), stopped);
    assert_eq!(discovery.refresh().await.unwrap_err().kind(), stopped);
    discovery.suspect(catalog.generation());
    discovery.doubt(catalog.generation());
    sleep(24 * AGES).await;
    assert_eq!((server.starts(), server.probes(), server.lists()), (1, 0, 1));
    assert_eq!(discovery.status().state, State::Stopped);

    let again = discovery.connect().await.unwrap();
    assert_eq!(again.predecessor_fence(), Some(Fence::GroupGone));
    assert_eq!((server.starts(), discovery.status().state), (2, State::Ready));
    let _ = discovery.stop().await;
    assert!(discovery.reconnect().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn stopping_during_a_connect_closes_what_is_half_made_and_revives_nothing() {
    for start in [Start::Hangs, Start::Mute, Start::Slow(Duration::from_secs(5))] {
        let server = Server::new();
        server.usually(start);
        let discovery = SupervisedDiscovery::new(server.clone());
        let connecting = discovery.clone();
        let connecting = tokio::spawn(async move { connecting.connect().await });
        let calling = discovery.clone();
        let calling = tokio::spawn(async move { calling.catalog().await });
        server.until(|server| server.starts() == 1).await;
        assert_eq!(discovery.status().state, State::Connecting);
        sleep(Duration::from_secs(1)).await;
        let _ = discovery.stop().await;
        assert_eq!(connecting.await.unwrap().unwrap_err().kind(), DiscoveryErrorKind::Stopped);
        assert_eq!(calling.await.unwrap().unwrap_err().kind(), DiscoveryErrorKind::Stopped);
        assert_eq!((server.open(), server.starting()), (0, 0), "{start:?}");
        sleep(24 * AGES).await;
        assert_eq!((server.starts(), discovery.status().state), (1, State::Stopped));
    }
}

#[tokio::test(start_paused = true)]
async fn stopping_while_the_server_is_being_brought_back_ends_that() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    sleep(AGES).await;
    server.usually(Start::Refused);
    server.link().end();
    state(&discovery, |state| matches!(state, State::Down { next_try: Some(_), .. })).await;
    let _ = discovery.stop().await;
    let starts = server.starts();
    sleep(24 * AGES).await;
    assert_eq!((server.starts(), discovery.status().state), (starts, State::Stopped));
}

#[tokio::test(start_paused = true)]
async fn a_stop_whose_wait_is_dropped_stops_all_the_same() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    drop(discovery.stop());
    assert_eq!(discovery.status().state, State::Stopped);
    sleep(AGES).await;
    assert_eq!((server.open(), server.starts()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_lands_while_the_server_is_being_stopped_is_closed_too() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let clone = discovery.clone();
    server.within_list(move || drop(clone.stop()));
    let landed = discovery.connect().await.unwrap();
    sleep(AGES).await;
    assert!(landed.transport().is_closed());
    assert_eq!((server.starts(), server.open(), discovery.status().state), (1, 0, State::Stopped));
}

#[tokio::test(start_paused = true)]
async fn whoever_connects_meanwhile_may_have_the_connection_that_lands() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let clone = discovery.clone();
    server.within_list(move || {
        let connecting = clone.clone();
        let _ = sender.send(tokio::spawn(async move { connecting.connect().await }));
        drop(clone.stop());
    });
    let landed = discovery.connect().await.unwrap();
    let connected = receiver.await.unwrap().await.unwrap().unwrap();
    assert!(Arc::ptr_eq(&landed, &connected));
    sleep(Duration::from_secs(31)).await;
    assert_eq!((server.starts(), server.open(), discovery.status().state), (1, 1, State::Ready));
    assert_eq!(server.probes(), 1, "it is watched over");
}

#[tokio::test(start_paused = true)]
async fn a_connect_right_behind_a_stop_gets_a_connection_that_lives() {
    let server = Server::new();
    server.usually(Start::Slow(Duration::from_secs(1)));
    let discovery = SupervisedDiscovery::new(server.clone());
    let first = discovery.connect().await.unwrap();
    let stopping = discovery.stop();
    let second = discovery.connect().await.unwrap();
    stopping.await;
    sleep(AGES).await;
    assert!(first.transport().is_closed() && !second.transport().is_closed());
    assert_eq!((server.starts(), server.open(), discovery.status().state), (2, 1, State::Ready));
}

#[tokio::test(start_paused = true)]
async fn reconnecting_a_healthy_server_ends_its_calls_with_what_is_known_of_each() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let before = discovery.connect().await.unwrap();
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let transport = Arc::clone(before.transport());
            tokio::spawn(async move { transport.call_tool(ToolCall::new("put").started()).await })
        })
        .collect();
    server.link().has_calls(3).await;
    let after = discovery.reconnect().await.unwrap();
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Lost, Delivery::Unknown));
    }
    assert_eq!(after.connection(), before.connection().next());
    assert_eq!(after.predecessor_fence(), Some(Fence::GroupGone));
    let late = before.transport().call_tool(ToolCall::new("put").started()).await.unwrap_err();
    assert_eq!(late.delivery(), Delivery::Unsent);
    sleep(AGES).await;
    assert_eq!((server.starts(), server.open(), discovery.status().state), (2, 1, State::Ready));
}

#[tokio::test(start_paused = true)]
async fn reconnecting_does_not_wait_for_a_listing_that_hangs() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let before = discovery.connect().await.unwrap();
    server.probe(Probe::Hangs);
    let listing = discovery.clone();
    let listing = tokio::spawn(async move { listing.refresh().await });
    server.until(|server| server.lists() == 2).await;
    server.probe(Probe::Answered);
    let begun = Instant::now();
    let after = discovery.reconnect().await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(10), "{:?}", begun.elapsed());
    assert_eq!(after.connection(), before.connection().next());
    assert_eq!(listing.await.unwrap().unwrap().connection(), after.connection());
    assert_eq!(server.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_reconnect_that_is_dropped_leaves_a_server_that_comes_back() {
    let server = Server::new();
    server.usually(Start::Slow(Duration::from_secs(1)));
    let discovery = SupervisedDiscovery::new(server.clone());
    let before = discovery.connect().await.unwrap();
    let mut reconnect = Box::pin(discovery.reconnect());
    assert!((&mut reconnect).now_or_never().is_none());
    drop(reconnect);
    replaced(&discovery, before.connection()).await;
    assert_eq!((server.starts(), server.open()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn connecting_twice_is_connecting_once() {
    let server = Server::new();
    server.usually(Start::Slow(Duration::from_secs(1)));
    let discovery = SupervisedDiscovery::new(server.clone());
    let (one, two, three) = tokio::join!(discovery.connect(), discovery.reconnect(), discovery.catalog());
    let generation = one.unwrap().generation();
    assert_eq!((two.unwrap().generation(), three.unwrap().generation()), (generation, generation));
    assert_eq!(discovery.connect().await.unwrap().generation(), generation);
    assert_eq!((server.starts(), server.lists()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_connect_that_is_dropped_starts_nothing_later() {
    let server = Server::new();
    server.usually(Start::Hangs);
    let discovery = SupervisedDiscovery::new(server.clone());
    let mut connect = Box::pin(discovery.connect());
    assert!((&mut connect).now_or_never().is_none());
    server.until(|server| server.starts() == 1).await;
    drop(connect);
    server.until(|server| server.starting() == 0).await;
    sleep(AGES).await;
    assert_eq!(server.starts(), 1);
    assert_eq!(discovery.status().state, State::Down { reason: DownReason::NotStarted, next_try: None });
}

#[tokio::test(start_paused = true)]
async fn a_refresh_lists_again_over_the_same_connection() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let before = discovery.connect().await.unwrap();
    let after = discovery.refresh().await.unwrap();
    assert!(after.generation() > before.generation());
    assert_eq!(after.connection(), before.connection());
    assert_eq!(discovery.status().generation, Some(after.generation()));
    assert_eq!(server.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_states_are_told_in_their_order() {
    let server = Server::new();
    server.usually(Start::Slow(Duration::from_secs(1)));
    let discovery = SupervisedDiscovery::new(server.clone());
    let history = history(&discovery);
    let first = discovery.catalog().await.unwrap();
    sleep(AGES).await;
    server.next([Start::Refused, Start::Refused]);
    server.link().end();
    replaced(&discovery, first.connection()).await;
    sleep(AGES).await;
    let _ = discovery.stop().await;
    yield_now().await;
    discovery.connect().await.unwrap();
    yield_now().await;
    let history = history.lock().unwrap().clone();
    let expected = [
        "not_started",
        "connecting",
        "ready",
        "connecting",
        "not_reached",
        "connecting",
        "not_reached",
        "connecting",
        "ready",
        "stopped",
        "connecting",
        "ready",
    ];
    assert_eq!(history, expected);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_last_handle_ends_the_task_and_the_connection() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let held = discovery.connect().await.unwrap();
    let mut watch = discovery.watch();
    let clone = discovery.clone();
    drop(discovery);
    sleep(AGES).await;
    assert_eq!((server.open(), tasks()), (1, 2), "the clone watches, and listens");
    drop(clone);
    sleep(AGES).await;
    assert_eq!((server.open(), tasks(), server.starts()), (0, 0, 1));
    assert!(held.transport().is_closed());
    assert_eq!(watch.borrow_and_update().state, State::Stopped);
    assert!(watch.changed().await.is_err());
    server.link().tell(Event::ToolsChanged);
    sleep(AGES).await;
    assert_eq!((server.lists(), tasks()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_last_handle_ends_a_start_under_way_and_one_that_is_to_come() {
    for start in [Start::Hangs, Start::Mute, Start::Refused] {
        let server = Server::new();
        let discovery = SupervisedDiscovery::new(server.clone());
        discovery.connect().await.unwrap();
        sleep(AGES).await;
        server.usually(start);
        server.link().end();
        server.until(|server| server.starts() == 2).await;
        drop(discovery);
        sleep(24 * AGES).await;
        assert_eq!((server.starts(), server.starting(), server.open(), tasks()), (2, 0, 0, 0), "{start:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn debug_tells_the_state_and_no_content() {
    let server = Server::new();
    server.become_another("hunter2");
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    let text = format!("{discovery:?} {:?}", SupervisedDiscovery::builder(server));
    assert!(text.contains("Ready") && text.contains("Supervision"), "{text}");
    assert!(!text.contains("put") && !text.contains("hunter2"), "{text}");
}
