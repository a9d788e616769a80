//! A host's own code, tested against mocks of the layers below it: no server, no process, no clock.
//!
//! `cargo run -p mcp-tool --all-features --example mock_your_host`; under `cargo test` it is a test.

use std::sync::Arc;

use mcp_tool::{
    CallReply, Client, Outcome, ToolCall, TransportError, Trust,
    mcp_discovery::{Catalog, Generation, MockDiscovery},
    mcp_transport::MockTransport,
    replay_policy::{Checkpoint, Decision, MockReplayPolicy, Reason},
    rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations},
};

/// What the host does next.
#[derive(Debug, PartialEq)]
enum Next {
    Done,
    CallAgain,
    AskTheUser(&'static str),
}

/// The code under test: it knows the client and nothing below it.
async fn save(client: &Client, note: &str) -> Next {
    match client.call(ToolCall::new("append").with_argument("text", note)).await {
        Ok(answer) if answer.reply.is_error() => Next::AskTheUser("the server refused the note"),
        Ok(_) => Next::Done,
        Err(error) => match error.outcome() {
            Outcome::NotExecuted => Next::CallAgain,
            Outcome::Unknown => Next::AskTheUser("is the note there?"),
        },
    }
}

fn catalog(generation: Generation, connection: MockTransport, tool: Tool) -> Arc<Catalog> {
    Arc::new(Catalog::new(generation, connection).with_tool(tool))
}

fn append() -> Tool {
    Tool::new("append", "appends a note", JsonObject::new())
}

/// A connection on which one call is made, with this result.
fn connection(result: Result<CallReply, TransportError>) -> MockTransport {
    let mut connection = MockTransport::new();
    connection.expect_call_tool().times(1).return_once(move |_| result);
    connection
}

fn done() -> CallReply {
    CallToolResult::success(vec![]).into()
}

/// The policy says no: nothing is rebuilt, nothing is called again, the user is asked.
#[cfg_attr(test, tokio::test)]
async fn a_lost_note_is_not_written_twice() {
    let listed = catalog(Generation::FIRST, connection(Err(TransportError::lost())), append());
    let mut discovery = MockDiscovery::new();
    discovery.expect_catalog().times(1).return_once(move || Ok(listed));
    discovery.expect_suspect().times(1).return_const(());
    discovery.expect_rebuild().never();
    let mut policy = MockReplayPolicy::new();
    policy
        .expect_decide()
        .withf(|attempt| attempt.tool() == "append" && attempt.checkpoint() == Checkpoint::BeforeReconnect)
        .times(1)
        .return_const(Decision::Deny(Reason::Custom("budget_spent")));
    let client = Client::with_discovery("notes", discovery).policy(policy).build();
    assert_eq!(save(&client, "buy milk").await, Next::AskTheUser("is the note there?"));
}

/// The default policy says yes to an idempotent tool under double trust.
#[cfg_attr(test, tokio::test)]
async fn a_note_that_may_be_written_twice_is_written() {
    let idempotent = || append().with_annotations(ToolAnnotations::new().idempotent(true));
    let before = catalog(Generation::FIRST, connection(Err(TransportError::lost())), idempotent());
    let after = catalog(Generation::FIRST.next(), connection(Ok(done())), idempotent());
    let mut discovery = MockDiscovery::new();
    discovery.expect_catalog().times(1).return_once(move || Ok(before));
    discovery.expect_suspect().times(1).return_const(());
    discovery
        .expect_rebuild()
        .withf(|stale| *stale == Generation::FIRST)
        .times(1)
        .return_once(move |_| Ok(after));
    let client = Client::with_discovery("notes", discovery).trust(Trust::BOTH).build();
    assert_eq!(save(&client, "buy milk").await, Next::Done);
}

/// A server that cannot be reached has run nothing.
#[cfg_attr(test, tokio::test)]
async fn a_note_for_a_server_that_is_away_can_be_saved_again() {
    let mut discovery = MockDiscovery::new();
    discovery.expect_catalog().times(1).return_once(|| Err(TransportError::connect("no such host").into()));
    let client = Client::with_discovery("notes", discovery).build();
    assert_eq!(save(&client, "buy milk").await, Next::CallAgain);
}

#[cfg(not(test))]
#[tokio::main(flavor = "current_thread")]
async fn main() {
    // A mock that is called too often panics at once, one that was called too seldom when it is dropped.
    a_lost_note_is_not_written_twice().await;
    println!("ok: a lost note is not written twice");
    a_note_that_may_be_written_twice_is_written().await;
    println!("ok: a note that may be written twice is written");
    a_note_for_a_server_that_is_away_can_be_saved_again().await;
    println!("ok: a note for a server that is away can be saved again");
}
