//! Sessions that are lost, and servers that have none.

use std::time::{Duration, Instant};

use mcp_tool::{
    Client, Discovery, ToolCall,
    mcp_discovery::{DiscoveryErrorKind, DownReason, PagingDiscovery, Reconnect, State},
};
use mcp_tool_cli::fault_server::{Http, HttpFault, Moment, Response, Sessions};
use rustix::process::Signal;
use tokio::time::sleep;

use crate::{bench::process::signal, is_down, put, reaches, replaced, rules, server::Server, supervised};

#[tokio::test]
async fn a_session_is_probed_and_a_server_without_sessions_is_not() {
    for (sessions, is_probed) in [(Sessions::NotFound, true), (Sessions::Stateless, false)] {
        let http = Server::start(&put().http(Http::new().sessions(sessions))).await;
        let server = supervised(http.connector(), rules());
        let catalog = server.connect().await.unwrap();
        assert_eq!(catalog.transport().is_probed(), is_probed, "{sessions:?}");
        match is_probed {
            true => drop(http.wait_for(|record| record.lists().len() >= 4).await),
            false => {
                server.doubt(catalog.generation());
                sleep(Duration::from_secs(1)).await;
                assert_eq!(http.record().lists().len(), 1);
            }
        }
        assert_eq!((server.status().state, server.status().restarts), (State::Ready, 0));
        drop((server, catalog));
        http.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_has_forgotten_the_session_is_connected_anew_without_a_call() {
    for sessions in [Sessions::NotFound, Sessions::BadRequest, Sessions::BadRequestAnswered] {
        let http = Server::start(&put().http(Http::new().sessions(sessions))).await;
        let server = supervised(http.connector(), rules().with_probe_failures(1_000));
        let first = server.connect().await.unwrap();
        http.stay_down().await;
        http.come_back();
        replaced(&server, first.connection()).await;
        assert_eq!(http.record().starts().len(), 2, "{sessions:?}");
        drop((server, first));
        http.stop().await;
    }
}

#[tokio::test]
async fn a_peer_that_stops_answering_without_closing_is_found_out_and_comes_back() {
    let http = Server::start(&put()).await;
    let rules = rules().with_start_timeout(Duration::from_secs(1)).with_cap(Duration::from_millis(100));
    let server = supervised(http.connector(), rules);
    let first = server.connect().await.unwrap();
    // The kernel goes on accepting for it.
    let pid = http.record().pids()[0];
    signal(pid, Signal::STOP);
    reaches(&server, |status| is_down(status, DownReason::NotReached)).await;
    assert!(first.transport().is_closed());
    signal(pid, Signal::CONT);
    replaced(&server, first.connection()).await;
    assert_eq!(http.record().starts().len(), 1);
    drop((server, first));
    http.stop().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_down_and_comes_back() {
    let http = Server::start(&put()).await;
    let server = supervised(http.connector(), rules());
    let first = server.connect().await.unwrap();
    http.stay_down().await;
    reaches(&server, |status| is_down(status, DownReason::NotReached)).await;
    assert!(first.transport().is_closed());
    http.come_back();
    replaced(&server, first.connection()).await;
    drop((server, first));
    http.stop().await;
}

#[tokio::test]
async fn a_server_that_says_when_to_come_again_is_left_alone_until_then() {
    let later = Response::new(503).header("Retry-After", "2");
    let http = Server::start(&put().http(Http::new().handshake(later))).await;
    let reconnect = Reconnect::default().with_retries(1).with_base(Duration::from_millis(1));
    let discovery = PagingDiscovery::new(http.connector()).with_reconnect(reconnect);
    let begun = Instant::now();
    let error = discovery.catalog().await.unwrap_err();
    assert!(begun.elapsed() >= Duration::from_secs(2), "it was tried again at once");
    assert_eq!(error.kind(), DiscoveryErrorKind::Connect);
    let told = error.transport_error().unwrap().retry_after();
    assert_eq!(told, Some(Duration::from_secs(2)));
    drop(discovery);
    http.stop().await;

    let busy = HttpFault::Respond(Moment::BeforeCommit, Response::too_many_requests(2));
    let http = Server::start(&put().on_call(1, busy)).await;
    let server = supervised(http.connector(), rules());
    let client = Client::with_discovery("bench", server.clone()).build();
    server.connect().await.unwrap();
    let begun = Instant::now();
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!(error.transport_error().unwrap().retry_after(), Some(Duration::from_secs(2)));
    let lists = http.record().lists().len();
    server.refresh().await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(2), "it was listed at once");
    assert!(http.record().lists().len() > lists);
    assert_eq!((server.status().state, http.record().received().len()), (State::Ready, 1));
    drop((client, server));
    http.stop().await;
}
