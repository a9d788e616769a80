//! A server that ends is brought back, and one that ends again and again is not started for ever.

use std::time::Duration;

use mcp_discovery::{Discovery, DiscoveryErrorKind, DownReason, State, SupervisedDiscovery, Supervision};
use tokio::time::{Instant, sleep, timeout};

use crate::server::{AGES, Server, Start, code, history, replaced, state, tasks};

const MINUTE: Duration = Duration::from_secs(60);

fn is_parked(state: State) -> bool {
    matches!(state, State::Down { reason: DownReason::Parked, .. })
}

#[tokio::test(start_paused = true)]
async fn nothing_is_started_before_somebody_asks() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    sleep(AGES).await;
    let status = discovery.status();
    assert_eq!(status.state, State::Down { reason: DownReason::NotStarted, next_try: None });
    assert_eq!((status.generation, status.tools, status.restarts), (None, 0, 0));
    assert_eq!((server.starts(), tasks()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_is_started_again_at_once_and_without_a_call() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let before = discovery.catalog().await.unwrap();
    sleep(MINUTE).await;
    let ended = Instant::now();
    server.link().end();
    let status = replaced(&discovery, before.connection()).await;
    assert!(ended.elapsed() < Duration::from_millis(10), "{:?}", ended.elapsed());
    assert_eq!(status.since, Instant::now());
    assert_eq!(status.restarts, 1);
    assert_eq!(status.connection, Some(before.connection().next()));
    assert!(status.generation > Some(before.generation()));
    assert_eq!((server.starts(), server.open(), server.lists()), (2, 1, 2));
    assert_eq!(discovery.catalog().await.unwrap().connection(), before.connection().next());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_shakes_hands_and_ends_is_started_as_often_as_the_budget_allows() {
    let server = Server::new();
    server.usually(Start::Crashes);
    let discovery = SupervisedDiscovery::new(server.clone());
    assert!(discovery.catalog().await.is_ok());
    let begun = Instant::now();
    let status = state(&discovery, is_parked).await;
    assert_eq!(server.starts(), 10);
    assert_eq!(status.restarts, 9);
    let State::Down { next_try: Some(next_try), .. } = status.state else { panic!("{status:?}") };
    assert!(next_try >= Instant::now() + 5 * MINUTE);

    // Never more than ten starts in any ten minutes, for ever.
    sleep(24 * AGES).await;
    let starts = server.start_times();
    assert!(starts.iter().filter(|at| **at < begun + 10 * MINUTE).count() <= 10);
    for window in starts.windows(11) {
        assert!(window[10] - window[0] >= 10 * MINUTE, "{window:?}");
    }
    // Parked for ever, it is tried every five minutes.
    assert!((200..=310).contains(&starts.len()), "{}", starts.len());
    assert!(is_parked(discovery.status().state));
}

#[tokio::test(start_paused = true)]
async fn the_pauses_between_the_tries_grow_up_to_the_cap() {
    let server = Server::new();
    server.next([Start::Well]);
    server.usually(Start::Refused);
    let rules = Supervision::default().with_start_budget(100, Duration::from_secs(1));
    let discovery = SupervisedDiscovery::builder(server.clone()).with_supervision(rules).build();
    discovery.connect().await.unwrap();
    sleep(MINUTE).await;
    let ended = Instant::now();
    server.link().end();
    server.until(|server| server.starts() == 12).await;
    let tries = server.start_times().split_off(1);
    assert!(tries[0] - ended < Duration::from_millis(10));
    for (pair, longest) in tries.windows(2).zip([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]) {
        let pause = (pair[1] - pair[0]).as_secs_f64();
        assert!((longest / 2.0..=longest + 0.002).contains(&pause), "{pause} of {longest} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_healthy_again_is_back_within_one_pause() {
    let server = Server::new();
    server.usually(Start::Crashes);
    let discovery = SupervisedDiscovery::new(server.clone());
    assert!(discovery.catalog().await.is_ok());
    server.until(|server| server.starts() == 6).await;
    server.usually(Start::Well);
    let healthy = Instant::now();
    state(&discovery, |state| state == State::Ready).await;
    // The sixth pause is 8 s at the longest.
    assert!(healthy.elapsed() <= Duration::from_secs(17), "{:?}", healthy.elapsed());
    sleep(AGES).await;
    assert_eq!((server.starts(), discovery.status().state), (7, State::Ready));
}

#[tokio::test(start_paused = true)]
async fn the_pauses_begin_anew_only_after_the_minimum_uptime() {
    for (lives, at_once) in [(9, false), (10, true)] {
        let server = Server::new();
        server.next([Start::Well, Start::Crashes, Start::Crashes, Start::Lives(Duration::from_secs(lives))]);
        let discovery = SupervisedDiscovery::new(server.clone());
        discovery.connect().await.unwrap();
        sleep(MINUTE).await;
        server.link().end();
        server.until(|server| server.starts() == 5).await;
        let starts = server.start_times();
        let pause = starts[4] - starts[3] - Duration::from_secs(lives);
        assert_eq!(pause < Duration::from_millis(10), at_once, "{pause:?} after {lives} s");
        if !at_once {
            assert!(pause >= Duration::from_secs(1), "{pause:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_parked_server_is_started_by_a_call_once_and_only_if_it_has_rested() {
    let server = Server::new();
    server.usually(Start::Refused);
    let discovery = SupervisedDiscovery::new(server.clone());
    assert!(discovery.catalog().await.is_err());
    assert_eq!(server.starts(), 6);
    state(&discovery, is_parked).await;
    assert_eq!(server.starts(), 10);

    // Directly after the last start, a call does not cause another.
    let error = discovery.catalog().await.unwrap_err();
    assert_eq!((error.kind(), server.starts()), (DiscoveryErrorKind::Parked, 10));
    sleep(Duration::from_secs(10)).await;
    let error = discovery.catalog().await.unwrap_err();
    assert_eq!((error.kind(), server.starts()), (DiscoveryErrorKind::Connect, 11));
    assert!(is_parked(discovery.status().state));
    let error = discovery.catalog().await.unwrap_err();
    assert_eq!((error.kind(), server.starts()), (DiscoveryErrorKind::Parked, 11));

    sleep(Duration::from_secs(10)).await;
    server.usually(Start::Well);
    assert!(discovery.catalog().await.is_ok());
    assert_eq!((server.starts(), discovery.status().state), (12, State::Ready));
}

#[tokio::test(start_paused = true)]
async fn a_parked_server_is_started_by_an_explicit_connect_at_once() {
    for explicit in ["connect", "reconnect"] {
        let server = Server::new();
        server.usually(Start::Refused);
        let discovery = SupervisedDiscovery::new(server.clone());
        assert!(discovery.catalog().await.is_err());
        state(&discovery, is_parked).await;
        let connect = async || match explicit {
            "connect" => discovery.connect().await,
            _ => discovery.reconnect().await,
        };
        // One start, and it is parked again: the budget is still used up.
        assert_eq!(connect().await.unwrap_err().kind(), DiscoveryErrorKind::Connect);
        assert_eq!(server.starts(), 11, "{explicit}");
        assert!(is_parked(discovery.status().state));
        server.usually(Start::Well);
        assert!(connect().await.is_ok());
        assert_eq!((server.starts(), discovery.status().state), (12, State::Ready), "{explicit}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_parked_server_that_has_become_another_is_started_unasked() {
    let server = Server::new();
    server.usually(Start::Refused);
    let discovery = SupervisedDiscovery::new(server.clone());
    assert!(discovery.catalog().await.is_err());
    state(&discovery, is_parked).await;
    sleep(MINUTE).await;
    server.usually(Start::Well);
    server.become_another("other");
    let edited = Instant::now();
    state(&discovery, |state| state == State::Ready).await;
    assert!(edited.elapsed() <= Duration::from_secs(6), "{:?}", edited.elapsed());
    assert_eq!(server.starts(), 11);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_is_not_there_is_tried_again_slowly() {
    let server = Server::new();
    server.usually(Start::Missing);
    let discovery = SupervisedDiscovery::new(server.clone());
    assert!(discovery.catalog().await.is_err());
    assert_eq!(server.starts(), 1);
    let State::Down { reason: DownReason::Misconfigured, next_try: Some(next) } = discovery.status().state
    else {
        panic!("{:?}", discovery.status())
    };
    assert_eq!(next, Instant::now() + 5 * MINUTE);
    sleep(AGES).await;
    assert_eq!(server.starts(), 12);
    // Somebody has installed it.
    server.usually(Start::Well);
    assert!(discovery.catalog().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_hangs_is_given_up_in_time_and_tried_again() {
    let server = Server::new();
    server.next([Start::Hangs]);
    let discovery = SupervisedDiscovery::new(server.clone());
    let history = history(&discovery);
    let mut connect = Box::pin(discovery.connect());
    assert!(timeout(Duration::from_secs(119), &mut connect).await.is_err());
    assert_eq!((server.starting(), discovery.status().state), (1, State::Connecting));
    assert!(connect.await.is_ok());
    assert_eq!((server.starts(), server.open(), server.starting()), (2, 1, 0));

    // The same without anybody who waits.
    server.usually(Start::Hangs);
    server.link().end();
    state(&discovery, |state| state == State::Connecting).await;
    server.usually(Start::Well);
    let hung = Instant::now();
    state(&discovery, |state| matches!(state, State::Down { reason: DownReason::NotReached, .. })).await;
    assert_eq!(hung.elapsed().as_secs(), 120);
    state(&discovery, |state| state == State::Ready).await;
    assert_eq!(server.starts(), 4);
    tokio::task::yield_now().await;
    let history = history.lock().unwrap().clone();
    let expected = [
        "not_started",
        "connecting",
        "ready",
        "connection_lost",
        "connecting",
        "not_reached",
        "connecting",
        "ready",
    ];
    assert_eq!(history, expected);
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_joins_the_recovery_gets_as_many_tries_as_any_other() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    sleep(MINUTE).await;
    server.next([Start::RefusedSlowly(Duration::from_secs(1)), Start::Refused, Start::Refused]);
    server.link().end();
    server.until(|server| server.starts() == 2).await;
    let joined = Instant::now();
    assert!(discovery.catalog().await.is_ok());
    assert_eq!(server.starts(), 5);
    // With the pauses of a call, not those of the recovery.
    assert!(joined.elapsed() < Duration::from_millis(1_710), "{:?}", joined.elapsed());
}

#[tokio::test(start_paused = true)]
async fn all_tries_of_a_call_are_one_connecting() {
    let server = Server::new();
    server.next([Start::Refused, Start::Refused, Start::Refused]);
    let discovery = SupervisedDiscovery::new(server.clone());
    let history = history(&discovery);
    assert!(discovery.catalog().await.is_ok());
    tokio::task::yield_now().await;
    assert_eq!(*history.lock().unwrap(), ["not_started", "connecting", "ready"]);
    assert_eq!((server.starts(), discovery.status().restarts), (4, 3));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_a_rebuild_replaces_shows_in_the_status() {
    let server = Server::new();
    server.without_events();
    server.usually(Start::Slow(Duration::from_secs(1)));
    let discovery = SupervisedDiscovery::new(server.clone());
    let before = discovery.connect().await.unwrap();
    let history = history(&discovery);
    sleep(Duration::from_secs(20)).await;
    // Lost twice, with the connection open, as over HTTP.
    server.lose_lists(2);
    let after = discovery.rebuild(before.generation()).await.unwrap();
    assert_eq!(after.connection(), before.connection().next());
    tokio::task::yield_now().await;
    assert_eq!(*history.lock().unwrap(), ["ready", "connecting", "ready"]);
    sleep(AGES).await;
    assert_eq!((server.starts(), server.open(), discovery.status().restarts), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_recovery_that_nobody_has_joined_is_one_start() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    sleep(MINUTE).await;
    server.usually(Start::Refused);
    server.link().end();
    server.until(|server| server.starts() == 2).await;
    sleep(Duration::from_millis(240)).await;
    assert_eq!(server.starts(), 2);
    assert_eq!(code(&discovery.status()), "not_reached");
}

#[tokio::test(start_paused = true)]
async fn a_straggler_of_an_old_generation_starts_nothing() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let old = discovery.connect().await.unwrap();
    sleep(MINUTE).await;
    server.link().end();
    replaced(&discovery, old.connection()).await;
    discovery.suspect(old.generation());
    discovery.doubt(old.generation());
    let fresh = discovery.rebuild(old.generation()).await.unwrap();
    assert_eq!(fresh.connection(), old.connection().next());
    sleep(AGES).await;
    assert_eq!((server.starts(), server.open()), (2, 1));
}
