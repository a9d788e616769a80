use std::fs;

use http::{HeaderName, HeaderValue};
use mcp_tool::{HttpConnector, TokenSource};
use mcp_tool_cli::fault_server::{Certificate, Http};
use tokio::{io::AsyncReadExt, net::TcpListener};

use crate::{
    assert_clear,
    backend::{BACKENDS, Backend},
    call, client, kind,
    proxy::Proxy,
    put,
    secure::{Authorities, Secure},
    server::Server,
};

struct Canary;

#[async_trait::async_trait]
impl TokenSource for Canary {
    async fn token(&self) -> Result<Option<String>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Some("canary".to_owned()))
    }
}

/// How to reach a port, with a secret in every place that has room for one.
fn with_secrets(scheme: &str, port: u16) -> HttpConnector {
    HttpConnector::new(&format!("{scheme}://canary:canary@127.0.0.1:{port}/canary?canary"))
        .unwrap()
        .with_header(HeaderName::from_static("x-key"), HeaderValue::from_static("canary"))
        .with_tokens(Canary)
}

#[tokio::test]
async fn a_certificate_that_is_not_accepted_is_told_in_one_line_after_one_try() {
    for &backend in BACKENDS {
        for (certificate, trusted) in [
            (Certificate::Good, "another"),
            (Certificate::OfAnotherHost, "ours"),
            (Certificate::Expired, "ours"),
        ] {
            let row = format!("{backend:?} {certificate:?} trusting {trusted}");
            let authorities = Authorities::new();
            let another = authorities.tls("another");
            let shown = authorities.tls("ours").certificate(certificate).subject("canary");
            // Only there so that the authority is.
            Server::start(&put(false).http(Http::new().tls(another))).await.stop().await;
            let scenario = put(false).http(Http::new().tls(shown));
            let server = authorities.start(&scenario, trusted).await;
            let proxy = Proxy::before(server.port()).await;
            let connector = with_secrets("https", server.port());
            let client = client(connector.with_client(server.client(backend).proxy(proxy.proxy())).unwrap());
            let error = client.call(call("never")).await.unwrap_err();
            assert_clear(&error, &row);
            assert_eq!((error.reason().code(), kind(&error)), ("unavailable", "tls_failed"), "{row}");
            let told = error.transport_error().unwrap().to_string();
            assert_eq!(told, "the server's certificate is not accepted, or it does not speak TLS");
            // Both handshakes of the one try; a server that is away would be tried six times.
            assert!(proxy.methods().len() <= 2, "{row}: {:?}", proxy.methods());
            let record = server.record();
            assert_eq!((record.received().len(), record.versions().len()), (0, 0), "{row}");
            server.stop().await;
        }
    }
}

#[tokio::test]
async fn a_call_to_a_server_that_came_back_with_another_authority_is_proven_unsent() {
    for &backend in BACKENDS {
        let authorities = Authorities::new();
        let ours = put(false).http(Http::new().tls(authorities.tls("ours")));
        let another = put(false).http(Http::new().tls(authorities.tls("another")));
        let scenario = ours.clone().from_start(2, another).from_start(3, ours);
        let server = authorities.start(&scenario, "ours").await;
        let client = client(server.over(backend));
        client.call(call("before")).await.unwrap();
        server.stay_down().await;
        server.come_back();
        server.wait_for(|record| record.ports().len() == 2).await;
        let error = client.call(call("never")).await.unwrap_err();
        assert_clear(&error, &format!("{backend:?}"));
        assert_eq!((error.reason().code(), kind(&error)), ("unavailable", "tls_failed"), "{backend:?}");
        let record = server.record();
        assert_eq!((record.received().len(), record.executions().len()), (1, 1), "{backend:?}");
        server.stay_down().await;
        server.come_back();
        server.wait_for(|record| record.ports().len() == 3).await;
        client.call(call("after")).await.unwrap();
        server.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_asks_for_a_client_certificate_is_reached_with_it_and_told_in_one_line_without() {
    for &backend in BACKENDS {
        let authorities = Authorities::new();
        let file = authorities.file("client");
        let tls = authorities.tls("ours").for_clients_with(&file);
        let server = authorities.start(&put(false).http(Http::new().tls(tls)), "ours").await;
        let connector = with_secrets("https", server.port());
        let without = connector.clone().with_client(server.client(backend)).unwrap();
        let error = client(without).call(call("never")).await.unwrap_err();
        assert_clear(&error, &format!("{backend:?}"));
        assert_eq!(error.reason().code(), "unavailable", "{backend:?}");
        if backend == Backend::Rustls {
            assert_eq!(kind(&error), "tls_failed");
        }
        assert_eq!(server.record().versions().len(), 0, "{backend:?}");
        let identity = backend.identity(&fs::read_to_string(file).unwrap());
        let with = connector.with_client(server.client(backend).identity(identity)).unwrap();
        let answer = client(with).call(call("once")).await;
        let answer =
            answer.unwrap_or_else(|error| panic!("{backend:?}: {error:?}, {:?}", error.transport_error()));
        assert_eq!((answer.attempts, server.record().executions().len()), (1, 1), "{backend:?}");
        server.stop().await;
    }
}

#[tokio::test]
async fn https_to_a_plain_port_is_told_in_one_line() {
    for &backend in BACKENDS {
        let server = Server::start(&put(false)).await;
        let connector = with_secrets("https", server.port()).with_client(backend.client()).unwrap();
        let error = client(connector).call(call("never")).await.unwrap_err();
        assert_clear(&error, &format!("{backend:?}"));
        assert_eq!((error.reason().code(), kind(&error)), ("unavailable", "tls_failed"), "{backend:?}");
        assert_eq!(server.record().executions().len(), 0, "{backend:?}");
        server.stop().await;
    }
}

#[tokio::test]
async fn http_to_a_port_that_speaks_tls_is_told_in_one_line() {
    let server = Secure::start(put(false), Http::new()).await;
    let connector = with_secrets("http", server.port());
    let error = client(connector.with_client(Backend::Rustls.client()).unwrap())
        .call(call("never"))
        .await
        .unwrap_err();
    assert_clear(&error, "http");
    assert_eq!((error.reason().code(), kind(&error)), ("unavailable", "handshake_failed"));
    assert_eq!(server.record().executions().len(), 0);
    server.stop().await;
}

/// A handshake that is cut says nothing of a certificate: the server may be on its way.
#[tokio::test]
async fn a_handshake_that_is_cut_is_tried_again() {
    for &backend in BACKENDS {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connector = with_secrets("https", port).with_client(backend.client()).unwrap();
        let calling = tokio::spawn(async move { client(connector).call(call("never")).await });
        let mut connections = 0;
        let accepting = async {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                // Dropped with unread bytes, it is reset.
                let _ = socket.read(&mut [0; 64]).await;
                connections += 1;
            }
        };
        let error = tokio::select! {
            error = calling => error.unwrap().unwrap_err(),
            () = accepting => unreachable!("it accepts for ever"),
        };
        let row = format!("{backend:?}");
        assert_clear(&error, &row);
        assert_eq!((error.reason().code(), kind(&error)), ("unavailable", "connect_failed"), "{row}");
        assert!(connections >= 6, "{row}: {connections}");
    }
}

#[tokio::test]
async fn a_machine_without_authorities_reaches_what_needs_none() {
    let none = tempfile::tempdir().unwrap();
    let output = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "certificates::on_a_machine_without_authorities", "--ignored"])
        .env("SSL_CERT_FILE", "/dev/null")
        .env("SSL_CERT_DIR", none.path())
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[tokio::test]
#[ignore = "started by another test, in an environment of its own"]
async fn on_a_machine_without_authorities() {
    let plain = Server::start(&put(false)).await;
    client(plain.connector()).call(call("plain")).await.unwrap();
    plain.stop().await;

    let server = Secure::start(put(false), Http::new()).await;
    client(server.over(Backend::Rustls)).call(call("by an authority of the host")).await.unwrap();
    let error = client(HttpConnector::new(&server.url()).unwrap()).call(call("never")).await.unwrap_err();
    assert_clear(&error, "no authorities");
    assert_eq!((error.reason().code(), kind(&error)), ("unavailable", "tls_failed"));
    server.stop().await;
}
