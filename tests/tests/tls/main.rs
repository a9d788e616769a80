//! Calls over TLS and through proxies: real processes and sockets, a certificate authority of the test's own,
//! and the server's ledger as the judge. With the feature `native-tls` everything runs with that, too.

#[path = "../bench/server.rs"]
#[expect(dead_code, reason = "only other tests put files beside the ledger")]
mod server;

mod backend;
mod certificates;
mod losses;
mod proxies;
mod proxy;
mod secure;

use std::error::Error;

use mcp_tool::{Client, Connector, Outcome, ToolCall, ToolError};
use mcp_tool_cli::fault_server::{Scenario, ToolSpec};
use serde_json::json;

/// A server with one tool, `put`, that is declared safe to repeat, or says nothing of itself.
fn put(safe: bool) -> Scenario {
    let put = ToolSpec::new("put");
    Scenario::new().tool(if safe { put.annotations(json!({ "idempotentHint": true })) } else { put })
}

fn call(key: &str) -> ToolCall {
    ToolCall::new("put").with_argument("key", key)
}

/// A client that trusts nobody.
fn client(connector: impl Connector + 'static) -> Client {
    Client::builder("tls", connector).build()
}

/// That an error says in one line that nothing ran, and holds nothing of what was in secret places.
fn assert_clear(error: &ToolError, row: &str) {
    assert_eq!((error.outcome(), error.attempts()), (Outcome::NotExecuted, 0), "{row}: {error:?}");
    let mut told = format!("{error}\n{error:?}");
    let mut source = error.source();
    while let Some(link) = source {
        assert!(!link.to_string().contains('\n'), "{row}: {link}");
        told += &format!("\n{link}\n{link:?}");
        source = link.source();
    }
    assert!(!told.to_lowercase().contains("canary"), "{row}: {told}");
    assert!(!error.to_string().contains('\n'), "{row}: {error}");
}

/// What the connection said, by its code.
fn kind(error: &ToolError) -> &'static str {
    error.transport_error().expect("an error of the connection").kind().code()
}
