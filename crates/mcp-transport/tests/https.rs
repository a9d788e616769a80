//! Whether `https` can be reached depends on the features that a build ends up with, those of other crates
//! included. No test can see them, so two wait to be asked for: `.ci/run` does, in builds of their own.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    thread,
};

use mcp_transport::{HttpConnector, InvalidUrl, reqwest};

const URL: &str = "https://canary:canary@tls.invalid/canary?canary";

#[cfg(any(feature = "http-rustls", feature = "http-native-tls"))]
#[test]
fn https_can_be_reached_with_a_feature_for_tls() {
    assert!(HttpConnector::new(URL).is_ok());
}

#[test]
#[ignore = "for a build where the host has turned TLS on in reqwest itself"]
fn tls_that_the_host_brings_is_found() {
    assert!(HttpConnector::new(URL).is_ok());
}

#[test]
#[ignore = "for a build without TLS"]
fn without_tls_https_is_refused_and_the_features_are_named() {
    let error = HttpConnector::new(URL).unwrap_err();
    assert_eq!(error, InvalidUrl::NoTls);
    assert_eq!(error.to_string(), "https needs TLS: turn on the feature http-rustls or http-native-tls");
    assert!(HttpConnector::new("http://tls.invalid/").is_ok());
}

/// Why that is asked before anything is sent.
#[tokio::test]
#[ignore = "for a build without TLS"]
async fn without_tls_reqwest_gives_a_proxy_the_token_in_plain_text() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let listening = thread::spawn(move || {
        let lines = BufReader::new(proxy.accept().unwrap().0).lines();
        lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect::<Vec<_>>()
    });
    let client = reqwest::Client::builder().proxy(reqwest::Proxy::all(address).unwrap()).build().unwrap();
    client.post("https://tls.invalid/").bearer_auth("canary").send().await.unwrap_err();
    let heard = listening.join().unwrap();
    assert!(heard.iter().any(|line| line.contains("canary")), "{heard:?}");
}
