//! Addresses under which there is no MCP server.

use std::time::Duration;

use mcp_tool::{Client, HttpConnector, Outcome, ToolCall};
use mcp_tool_cli::fault_server::{Http, Response, Scenario};

use crate::server::Server;

#[tokio::test]
async fn bad_addresses_are_told_in_one_line_without_a_secret() {
    for url in ["", "not a url", "ftp://host/x", "http://", "file:///etc/passwd"] {
        assert!(HttpConnector::new(url).is_err(), "{url}");
    }
    let html = Http::new().handshake(Response::new(200).text("text/html", "<html>canary</html>"));
    let server = Server::start(&Scenario::new().http(html)).await;
    let port = server.port();
    for url in [
        format!("http://canary:canary@127.0.0.1:{port}/canary?canary"),
        "http://127.0.0.1:1/canary".to_owned(),
    ] {
        let connector = HttpConnector::new(&url).unwrap();
        let client = Client::builder("http", connector).build();
        let call = ToolCall::new("put").with_deadline(Duration::from_secs(30));
        let error = client.call(call).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotExecuted);
        let told = format!("{error} {error:?} {:?}", error.transport_error());
        assert!(!told.contains("canary"), "{told}");
        assert!(!error.to_string().contains('\n'));
    }
    server.stop().await;
}
