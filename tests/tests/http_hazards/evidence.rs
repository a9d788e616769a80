//! What an error says about whether the call can have run.

use std::{fs, time::Duration};

use mcp_tool::{
    HttpConnector, HttpTransport, Transport, TransportError,
    mcp_transport::{Delivery, ErrorClass},
};
use mcp_tool_cli::fault_server::{Http, HttpFault, Reply, Scenario};
use rmcp::{
    ServiceError, service::PeerRequestOptions, transport::streamable_http_client::StreamableHttpError,
};

use crate::{call, counts, keys, put, raw, relay::Relay, server::Server, shows, waiting::sixteen_busy};

/// Cut off after it ran.
fn cut() -> Scenario {
    put().on_call(1, HttpFault::JsonCut)
}

/// Its event stream ended after it ran.
fn ended() -> Scenario {
    put().http(Http::new().reply(Reply::Sse)).on_call(1, HttpFault::SseEnds)
}

async fn error_of(transport: &HttpTransport) -> TransportError {
    transport.call_tool(call("a")).await.unwrap_err()
}

#[tokio::test]
async fn r3_a_failed_send_says_the_same_of_a_call_that_ran_and_of_one_that_never_left() {
    let (server, raw) = raw::connect(&cut()).await;
    let error = raw.peer().call_tool(raw::put("ran")).await.unwrap_err();
    shows("R3", matches!(error, ServiceError::TransportSend(_)) && counts(&server.record()) == (1, 1));
    server.stay_down().await;
    let error = raw.peer().call_tool(raw::put("never left")).await.unwrap_err();
    shows("R3", matches!(error, ServiceError::TransportSend(_)) && counts(&server.record()) == (1, 1));
    server.stop().await;

    let server = Server::start(&cut()).await;
    let transport = server.connector().start().await.unwrap();
    let error = error_of(&transport).await;
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
    server.stay_down().await;
    let error = error_of(&transport).await;
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unsent));
    assert_eq!(counts(&server.record()), (1, 1));
    server.stop().await;
}

#[tokio::test]
async fn r4_a_closed_transport_says_the_same_of_a_call_that_ran_and_of_one_that_never_left() {
    let (server, raw) = raw::connect(&ended()).await;
    let peer = raw.peer().clone();
    let error = peer.call_tool(raw::put("ran")).await.unwrap_err();
    shows("R4", matches!(error, ServiceError::TransportClosed) && counts(&server.record()) == (1, 1));
    raw.cancel().await.unwrap();
    let error = peer.call_tool(raw::put("never left")).await.unwrap_err();
    shows("R4", matches!(error, ServiceError::TransportClosed) && counts(&server.record()) == (1, 1));
    server.stop().await;

    let server = Server::start(&ended()).await;
    let transport = server.connector().start().await.unwrap();
    let error = error_of(&transport).await;
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
    transport.close().await;
    let error = error_of(&transport).await;
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unsent));
    assert_eq!(counts(&server.record()), (1, 1));
    server.stop().await;
}

/// rmcp's own client keeps no idle connections, but one that a host hands to it does.
#[tokio::test]
async fn r16_no_call_goes_out_on_a_connection_that_was_idle() {
    let server = Server::start(&put()).await;
    let relay = Relay::to(server.port()).await;
    let raw = raw::connect_with(reqwest::Client::new(), relay.url()).await;
    relay.end_reused_connections();
    // Whether the first call finds an idle connection, or only the one after it, is a race.
    let mut sent = 0;
    let error = loop {
        match raw.peer().call_tool(raw::put("a")).await {
            Ok(_) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 100, "no connection is used twice");
    };
    // It never left, and the error does not prove it.
    shows("R16", !is_connect(&error) && counts(&server.record()) == (sent, sent));
    server.stop().await;

    let server = Server::start(&put()).await;
    let relay = Relay::to(server.port()).await;
    let pooled = reqwest::Client::builder().pool_max_idle_per_host(8);
    let connector = HttpConnector::new(&relay.url()).unwrap().with_client(pooled).unwrap();
    let transport = connector.start().await.unwrap();
    relay.end_reused_connections();
    for _ in 0..10 {
        transport.call_tool(call("a")).await.unwrap();
    }
    assert_eq!(counts(&server.record()), (10, 10));
    server.stop().await;
}

fn is_connect(error: &ServiceError) -> bool {
    let ServiceError::TransportSend(error) = error else { return false };
    match error.error.downcast_ref() {
        Some(StreamableHttpError::<reqwest::Error>::Client(error)) => error.is_connect(),
        _ => false,
    }
}

#[tokio::test]
async fn r21_a_lost_answer_does_not_end_the_connection_and_says_that_it_does() {
    let (server, raw) = raw::connect(&ended()).await;
    let error = raw.peer().call_tool(raw::put("lost")).await.unwrap_err();
    let says_closed = matches!(error, ServiceError::TransportClosed);
    shows("R21", says_closed && !raw.peer().is_transport_closed() && !raw.is_closed());
    raw.peer().call_tool(raw::put("next")).await.unwrap();
    server.stop().await;

    let server = Server::start(&ended()).await;
    let transport = server.connector().start().await.unwrap();
    let error = error_of(&transport).await;
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
    assert!(!transport.is_closed());
    transport.call_tool(call("next")).await.unwrap();
    assert_eq!(
        (keys(&server.record()), server.record().versions().len()),
        (vec!["a".into(), "next".into()], 1)
    );
    server.stop().await;
}

/// Why the evidence is taken below rmcp's worker and not around its transport.
#[tokio::test]
async fn r21_a_wrapper_is_told_that_a_call_was_sent_which_never_left() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = sixteen_busy(&folder);
    let server = Server::start_in(folder, &scenario).await;
    let (raw, sent) = raw::connect_witnessed(&server).await;
    for _ in 0..16 {
        raw::begin(&raw, "busy", PeerRequestOptions::no_options()).await;
    }
    server.wait_for(|record| record.executions().len() == 16).await;
    let options = PeerRequestOptions::with_timeout(Duration::from_millis(1));
    let queued = raw::begin(&raw, "queued", options).await;
    let id = queued.id.clone();
    let error = queued.await_response().await.unwrap_err();
    // Unlike that over a full pipe (R19), rmcp's own timeout fires.
    assert!(matches!(error, ServiceError::Timeout { .. }), "{error:?}");
    fs::write(server.file("now"), "").unwrap();
    raw.peer().call_tool(raw::put("after")).await.unwrap();
    let told = sent.lock().unwrap().contains(&id);
    shows("R21", told && !keys(&server.record()).contains(&"queued".to_owned()));
    server.stop().await;
}
