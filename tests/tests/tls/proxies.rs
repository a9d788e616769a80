use mcp_tool::{Client, HttpConnector, Outcome, Trust};
use mcp_tool_cli::fault_server::{Fault, Http};

use crate::{
    assert_clear,
    backend::{BACKENDS, Backend},
    call, client, kind,
    proxy::{Cut, Proxy},
    put,
    secure::Secure,
    server::Server,
};

fn over_plain(server: &Server, proxy: &Proxy) -> HttpConnector {
    let through = Backend::Rustls.client().proxy(proxy.proxy());
    server.connector().with_client(through).unwrap()
}

fn over_tls(server: &Secure, proxy: &Proxy, backend: Backend) -> HttpConnector {
    let through = server.client(backend).proxy(proxy.proxy());
    HttpConnector::new(&server.url()).unwrap().with_client(through).unwrap()
}

#[tokio::test]
async fn a_tunnel_that_never_came_about_is_proof_and_the_call_is_delivered() {
    for &backend in BACKENDS {
        for cut in [Cut::BeforeForwarding, Cut::Refusing(502), Cut::Refusing(407)] {
            let row = format!("{backend:?} {cut:?}");
            let server = Secure::start(put(false), Http::new()).await;
            let proxy = Proxy::before(server.port()).await;
            let client = client(over_tls(&server, &proxy, backend));
            client.call(call("before")).await.unwrap();
            proxy.cut_next([cut]);
            let answer = client.call(call("delivered")).await.unwrap();
            assert_eq!((answer.attempts, answer.replays), (1, 0), "{row}");
            let record = server.record();
            assert_eq!((record.received().len(), record.executions().len()), (2, 2), "{row}");
            assert!(proxy.methods().iter().all(|method| method == "CONNECT"), "{row}");
            server.stop().await;
        }
    }
}

#[tokio::test]
async fn a_proxy_that_refuses_every_tunnel_is_told_in_one_line() {
    let server = Secure::start(put(false), Http::new()).await;
    let proxy = Proxy::before(server.port()).await;
    proxy.cut_next(vec![Cut::Refusing(407); 100]);
    let error = client(over_tls(&server, &proxy, Backend::Rustls)).call(call("never")).await.unwrap_err();
    assert_clear(&error, "refused");
    assert_eq!((error.reason().code(), kind(&error)), ("unavailable", "connect_failed"));
    assert_eq!(server.record().executions().len(), 0);
    server.stop().await;
}

/// What comes of a call that a proxy cuts in doubt, after it has run.
async fn ends_in_doubt(server: &Server, connector: HttpConnector, proxy: &Proxy, cut: Cut, row: &str) {
    let client = Client::builder("tls", connector).trust(Trust::BOTH).build();
    client.call(call("before")).await.unwrap();
    let is_told = matches!(cut, Cut::AfterForwarding);
    proxy.cut_next([cut]);
    let calling = tokio::spawn(async move { client.call(call("cut")).await });
    if is_told {
        server.wait_for(|record| record.executions().len() == 2).await;
        proxy.cut();
    }
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unannotated"), "{row}");
    assert_eq!((error.attempts(), kind(&error)), (1, "connection_lost"), "{row}");
    let record = server.record();
    assert_eq!((record.received().len(), record.executions().len()), (2, 2), "{row}");
}

/// The server's part in each cut after the request was forwarded.
fn cuts_in_doubt() -> [(Cut, Fault); 2] {
    [(Cut::AfterForwarding, Fault::Hang), (Cut::InTheAnswer(200_000), Fault::AnswerHuge { bytes: 1 << 20 })]
}

#[tokio::test]
async fn a_tunnel_that_is_cut_after_the_request_leaves_doubt() {
    for &backend in BACKENDS {
        for (cut, fault) in cuts_in_doubt() {
            let row = format!("{backend:?} {cut:?}");
            let server = Secure::start(put(false).on_call(2, fault), Http::new()).await;
            let proxy = Proxy::before(server.port()).await;
            ends_in_doubt(&server, over_tls(&server, &proxy, backend), &proxy, cut, &row).await;
            server.stop().await;
        }
    }
}

#[tokio::test]
async fn a_plain_request_that_a_proxy_cuts_after_forwarding_leaves_doubt() {
    for (cut, fault) in cuts_in_doubt() {
        let row = format!("{cut:?}");
        let server = Server::start(&put(false).on_call(2, fault)).await;
        let proxy = Proxy::before(server.port()).await;
        ends_in_doubt(&server, over_plain(&server, &proxy), &proxy, cut, &row).await;
        server.stop().await;
    }
}

/// The proxy was given the whole request, and nothing on this machine tells what it did with it.
#[tokio::test]
async fn a_plain_request_that_a_proxy_kept_to_itself_leaves_doubt_too() {
    for safe in [true, false] {
        let server = Server::start(&put(safe)).await;
        let proxy = Proxy::before(server.port()).await;
        let client = Client::builder("tls", over_plain(&server, &proxy)).trust(Trust::BOTH).build();
        client.call(call("before")).await.unwrap();
        proxy.cut_next([Cut::BeforeForwarding]);
        match client.call(call("kept")).await {
            Ok(answer) if safe => assert_eq!((answer.attempts, answer.replays), (2, 1)),
            Err(error) if !safe => {
                assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unannotated"));
            }
            other => panic!("safe={safe}: {other:?}"),
        }
        assert!(proxy.methods().iter().all(|method| method != "CONNECT"));
        let executed = server.record().executions_of("put").len();
        assert_eq!(executed, if safe { 2 } else { 1 });
        server.stop().await;
    }
}

#[tokio::test]
async fn a_proxy_that_is_away_is_proof_for_a_plain_request_too() {
    let server = Server::start(&put(false)).await;
    let away = Proxy::before(server.port()).await;
    let connector = over_plain(&server, &away);
    away.close().await;
    let error = client(connector).call(call("never")).await.unwrap_err();
    assert_clear(&error, "away");
    assert_eq!((error.reason().code(), kind(&error)), ("unavailable", "connect_failed"));
    assert_eq!(server.record().received().len(), 0);
    server.stop().await;
}
