//! Whether a server is there is found out without a call, and no call is ended to find out.

use std::{sync::Arc, time::Duration};

use mcp_discovery::{Catalog, Discovery, DownReason, State, SupervisedDiscovery, Supervision};
use mcp_transport::{CallReply, Delivery, Event, ToolCall, TransportError};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::server::{AGES, Probe, Server, Start, code, history, replaced, state};

const INTERVAL: Duration = Duration::from_secs(30);
const BOUND: Duration = Duration::from_secs(10);

async fn connected(server: &Server) -> (SupervisedDiscovery, Arc<Catalog>) {
    let discovery = SupervisedDiscovery::new(server.clone());
    let catalog = discovery.connect().await.unwrap();
    (discovery, catalog)
}

/// A call that is in flight when this returns.
async fn in_flight(
    server: &Server,
    catalog: &Catalog,
    call: ToolCall,
) -> JoinHandle<Result<CallReply, TransportError>> {
    let transport = Arc::clone(catalog.transport());
    let call = tokio::spawn(async move { transport.call_tool(call.started()).await });
    server.link().has_calls(1).await;
    call
}

fn long() -> ToolCall {
    ToolCall::new("put").with_deadline(10 * AGES).without_idle_timeout()
}

#[tokio::test(start_paused = true)]
async fn a_quiet_connection_is_probed_at_the_interval_and_left_alone_while_it_answers() {
    for probe in [Probe::Answered, Probe::Rejected] {
        let server = Server::new();
        server.probe(probe);
        let (discovery, catalog) = connected(&server).await;
        sleep(INTERVAL - Duration::from_millis(5)).await;
        assert_eq!(server.probes(), 0);
        sleep(Duration::from_millis(10)).await;
        assert_eq!(server.probes(), 1);
        sleep(AGES).await;
        assert!((118..=121).contains(&server.probes()), "{}", server.probes());
        assert_eq!((server.starts(), server.lists()), (1, 1));
        assert_eq!(discovery.status().state, State::Ready);
        assert!(Arc::ptr_eq(&discovery.catalog().await.unwrap(), &catalog));
    }
}

#[tokio::test(start_paused = true)]
async fn three_probes_in_a_row_that_fail_mean_down_and_the_server_is_brought_back() {
    for (probe, down_after) in [(Probe::Fails, 3 * INTERVAL), (Probe::Hangs, 3 * INTERVAL + BOUND)] {
        let server = Server::new();
        server.usually(Start::Slow(Duration::from_secs(1)));
        let (discovery, first) = connected(&server).await;
        let history = history(&discovery);
        server.probe(probe);
        let begun = Instant::now();
        server.until(|server| server.open() == 0).await;
        let took = begun.elapsed();
        assert!(took >= down_after && took < down_after + Duration::from_secs(1), "{probe:?}: {took:?}");
        assert_eq!(server.probes(), 3);
        server.probe(Probe::Answered);
        let status = replaced(&discovery, first.connection()).await;
        assert_eq!((server.starts(), status.restarts), (2, 1));
        assert!(first.transport().is_closed());
        tokio::task::yield_now().await;
        assert_eq!(*history.lock().unwrap(), ["ready", "degraded", "connecting", "ready"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_succeeds_forgets_those_that_failed() {
    let server = Server::new();
    let (discovery, _) = connected(&server).await;
    for _ in 0..5 {
        server.probe(Probe::Fails);
        let status = state(&discovery, |state| state == State::Degraded).await;
        assert_eq!(status.since, Instant::now());
        sleep(INTERVAL + Duration::from_secs(1)).await;
        assert_eq!(discovery.status().state, State::Degraded, "two have failed");
        server.probe(Probe::Answered);
        state(&discovery, |state| state == State::Ready).await;
    }
    assert_eq!((server.starts(), server.open()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_a_call_in_flight_is_degraded_and_never_closed() {
    let server = Server::new();
    let (discovery, catalog) = connected(&server).await;
    let call = in_flight(&server, &catalog, long()).await;
    server.probe(Probe::Hangs);
    sleep(AGES).await;
    assert!(server.probes() > 50);
    assert_eq!((discovery.status().state, server.open(), server.starts()), (State::Degraded, 1, 1));

    // It was busy, and not dead: its answer counts as well as one to a probe.
    server.release();
    assert!(call.await.unwrap().is_ok());
    state(&discovery, |state| state == State::Ready).await;
    server.probe(Probe::Answered);
    sleep(AGES).await;
    assert_eq!((discovery.status().state, server.starts()), (State::Ready, 1));
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_last_call_has_timed_out_is_given_up_at_once_if_its_probes_fail() {
    let server = Server::new();
    let (discovery, catalog) = connected(&server).await;
    // Between two probes.
    let call = ToolCall::new("put").with_deadline(AGES + Duration::from_secs(17)).without_idle_timeout();
    let call = in_flight(&server, &catalog, call).await;
    server.probe(Probe::Hangs);
    sleep(AGES / 2).await;
    assert_eq!((discovery.status().state, server.open()), (State::Degraded, 1));
    server.usually(Start::Hangs);
    assert!(call.await.unwrap().is_err());
    let ended = Instant::now();
    state(&discovery, |state| state == State::Connecting).await;
    server.until(|server| server.starts() == 2).await;
    assert!(ended.elapsed() < Duration::from_millis(10), "{:?}", ended.elapsed());
    assert!(catalog.transport().is_closed());
    let late = catalog.transport().call_tool(long().started()).await.unwrap_err();
    assert_eq!(late.delivery(), Delivery::Unsent);
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_answered_make_probes_needless() {
    let server = Server::new();
    server.release();
    let (_discovery, catalog) = connected(&server).await;
    for _ in 0..100 {
        sleep(INTERVAL - Duration::from_secs(1)).await;
        assert!(catalog.transport().call_tool(long().started()).await.is_ok());
    }
    assert_eq!(server.probes(), 0);
    sleep(INTERVAL).await;
    sleep(Duration::from_millis(5)).await;
    assert_eq!(server.probes(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_while_a_probe_hangs_outweighs_it() {
    let server = Server::new();
    let (discovery, catalog) = connected(&server).await;
    let call = in_flight(&server, &catalog, long()).await;
    server.probe(Probe::Hangs);
    server.until(|server| server.probes() == 1).await;
    sleep(Duration::from_secs(1)).await;
    server.release();
    assert!(call.await.unwrap().is_ok());
    sleep(BOUND).await;
    assert_eq!(discovery.status().state, State::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_session_is_never_probed() {
    let server = Server::new();
    server.without_session();
    server.probe(Probe::Fails);
    let (discovery, catalog) = connected(&server).await;
    discovery.doubt(catalog.generation());
    sleep(24 * AGES).await;
    assert_eq!((server.probes(), server.starts()), (0, 1));
    assert_eq!(discovery.status().state, State::Ready);
}

#[tokio::test(start_paused = true)]
async fn regular_probes_can_be_switched_off_and_doubt_is_looked_into_all_the_same() {
    let server = Server::new();
    let rules = Supervision::default().without_regular_probes();
    let discovery = SupervisedDiscovery::builder(server.clone()).with_supervision(rules).build();
    let catalog = discovery.connect().await.unwrap();
    sleep(AGES).await;
    assert_eq!(server.probes(), 0);
    discovery.doubt(catalog.generation());
    sleep(AGES).await;
    assert_eq!((server.probes(), server.starts()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_doubt_is_looked_into_at_once_and_a_healthy_server_is_left_alone() {
    let server = Server::new();
    let (discovery, catalog) = connected(&server).await;
    for _ in 0..10 {
        discovery.doubt(catalog.generation());
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!((server.probes(), server.starts(), server.lists()), (1, 1, 1));
    assert_eq!(discovery.status().state, State::Ready);
    assert!(Arc::ptr_eq(&discovery.catalog().await.unwrap(), &catalog), "it is not suspect");
}

#[tokio::test(start_paused = true)]
async fn a_suspicion_is_looked_into_at_once_and_one_failure_is_not_enough_to_act_on_it() {
    let server = Server::new();
    let (discovery, catalog) = connected(&server).await;
    server.probe(Probe::Fails);
    discovery.suspect(catalog.generation());
    state(&discovery, |state| state == State::Degraded).await;
    assert_eq!((server.probes(), server.open()), (1, 1));
    server.probe(Probe::Answered);
    let fresh = discovery.catalog().await.unwrap();
    assert_eq!(fresh.connection(), catalog.connection(), "it is listed again over the same session");
    assert_eq!((discovery.status().state, server.starts()), (State::Ready, 1));
}

#[tokio::test(start_paused = true)]
async fn one_probe_that_fails_after_a_doubt_is_enough() {
    for probe in [Probe::Fails, Probe::Hangs] {
        let server = Server::new();
        let (discovery, catalog) = connected(&server).await;
        server.probe(probe);
        discovery.doubt(catalog.generation());
        server.until(|server| server.open() == 0 || server.starts() == 2).await;
        assert_eq!(server.probes(), 1);
        server.probe(Probe::Answered);
        replaced(&discovery, catalog.connection()).await;
        assert_eq!(server.starts(), 2, "{probe:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_doubt_never_ends_a_call_in_flight() {
    let server = Server::new();
    let (discovery, catalog) = connected(&server).await;
    let call = in_flight(&server, &catalog, long()).await;
    server.probe(Probe::Fails);
    discovery.doubt(catalog.generation());
    state(&discovery, |state| state == State::Degraded).await;
    sleep(AGES).await;
    assert_eq!((server.open(), server.starts()), (1, 1));
    server.release();
    assert!(call.await.unwrap().is_ok());
    server.probe(Probe::Answered);
    sleep(AGES).await;
    assert_eq!((discovery.status().state, server.starts()), (State::Ready, 1));
}

#[tokio::test(start_paused = true)]
async fn a_doubt_about_a_connection_that_was_replaced_probes_nothing() {
    let server = Server::new();
    let (discovery, old) = connected(&server).await;
    sleep(Duration::from_secs(20)).await;
    server.link().end();
    replaced(&discovery, old.connection()).await;
    discovery.doubt(old.generation());
    discovery.suspect(old.generation());
    sleep(Duration::from_secs(1)).await;
    assert_eq!(server.probes(), 0);
    // A later listing over the same connection is doubted with the earlier one's number, too.
    let earlier = discovery.catalog().await.unwrap().generation();
    discovery.refresh().await.unwrap();
    discovery.doubt(earlier);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(server.probes(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_the_server_says_is_lost_is_replaced_at_once() {
    let server = Server::new();
    let (discovery, catalog) = connected(&server).await;
    server.probe(Probe::SessionLost);
    server.until(|server| server.probes() == 1).await;
    server.probe(Probe::Answered);
    let status = replaced(&discovery, catalog.connection()).await;
    assert_eq!((server.probes(), server.starts(), status.restarts), (1, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_and_tells_nothing_is_found_closed_when_it_would_be_probed() {
    let server = Server::new();
    server.without_events();
    let (discovery, catalog) = connected(&server).await;
    server.link().end();
    let begun = Instant::now();
    replaced(&discovery, catalog.connection()).await;
    assert_eq!((begun.elapsed().as_secs(), server.probes(), server.starts()), (30, 0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_and_never_lists_its_tools_is_given_up_and_tried_again() {
    let server = Server::new();
    server.next([Start::Mute]);
    let discovery = SupervisedDiscovery::new(server.clone());
    assert!(discovery.catalog().await.is_err());
    assert_eq!(code(&discovery.status()), DownReason::NotListed.code());
    state(&discovery, |state| state == State::Ready).await;
    assert_eq!((server.starts(), server.open()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn events_of_the_server_count_for_the_connection_that_they_came_over() {
    let server = Server::new();
    let (discovery, catalog) = connected(&server).await;
    let old = server.link();
    sleep(Duration::from_secs(20)).await;
    old.end();
    let status = replaced(&discovery, catalog.connection()).await;
    old.tell(Event::Closed);
    old.tell(Event::ToolsChanged);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(discovery.status(), status);
    assert_eq!(server.lists(), 2);
}
