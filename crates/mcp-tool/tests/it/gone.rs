//! Servers and tools that are not there, or not what they were.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use mcp_tool::{
    ConservativePolicy, Outcome, ReplayPolicy, ToolCall, Trust,
    mcp_transport::{Event, ServerIdentity},
    replay_policy::policy_fn,
};

use crate::servers::{Lives, idempotent, life, put};

#[tokio::test]
async fn an_unknown_tool_is_not_called() {
    let server = Lives::of([life(None)]);
    let error = server.client().build().call(ToolCall::new("putt")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "unknown_tool"));
    assert_eq!(server.calls(), [0]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_is_not_executed() {
    let server = Lives::of([]);
    let error = server.client().build().call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "unavailable"));
    assert_eq!(error.transport_error().map(|error| error.kind().code()), Some("connect_failed"));
}

#[tokio::test]
async fn a_call_never_reaches_a_server_whose_configuration_changed_meanwhile() {
    // Edited when the call was lost, and while the connection was being made again.
    for edited_at in [0, 1] {
        let reconnecting = Arc::new(AtomicUsize::new(usize::MAX));
        let since = reconnecting.clone();
        let server = Lives::of([life(idempotent()).lose(), life(idempotent()), life(None)]).with_identity(
            move |connects| {
                let since = since.load(Ordering::Relaxed);
                let edited = since != usize::MAX && connects - since >= edited_at;
                ServerIdentity::of([("command", if edited { "other" } else { "one" })])
            },
        );
        let connects = server.clone();
        let policy = policy_fn(move |attempt| {
            reconnecting.fetch_min(connects.connects(), Ordering::Relaxed);
            ConservativePolicy::default().decide(attempt)
        });
        let client = server.client().trust(Trust::BOTH).policy(policy).build();
        let error = client.call(ToolCall::new("put")).await.unwrap_err();
        assert_eq!(
            (error.outcome(), error.reason().code()),
            (Outcome::Unknown, "server_changed"),
            "{edited_at}"
        );
        assert_eq!(server.calls(), [1, 0, 0], "{edited_at}");
    }
}

#[tokio::test]
async fn a_handle_calls_only_the_definition_that_it_stands_for() {
    let mut described = put(None);
    described.description = Some("puts, described anew".into());
    let restarted = mcp_tool::mcp_transport::ScriptedTransport::new().with_tools([described]);
    let server = Lives::of([life(None), restarted]);
    let client = server.client().build();
    let tool = client.tool("put").await.unwrap().unwrap();
    tool.call(tool.to_call()).await.unwrap();
    server.life(0).disconnect();
    let error = tool.call(tool.to_call()).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "tool_changed"));
    assert_eq!(server.calls(), [1, 0]);
    let seen_anew = client.tool("put").await.unwrap().unwrap();
    seen_anew.call(seen_anew.to_call()).await.unwrap();
    assert_eq!(server.calls(), [1, 1]);
}

#[tokio::test]
async fn a_handle_of_a_tool_that_was_changed_on_the_living_connection_is_not_called() {
    let server = Lives::of([life(None)]);
    let client = server.client().build();
    let tool = client.tool("put").await.unwrap().unwrap();
    let mut described = put(None);
    described.description = Some("puts, described anew".into());
    server.life(0).set_tools([described]);
    server.life(0).tell(Event::ToolsChanged);
    // The discovery's own task has to see the event; the first listing after it is its doing or ours.
    let changed = Arc::clone(server.life(0));
    while changed.lists() < 2 {
        tokio::task::yield_now().await;
    }
    let error = tool.call(tool.to_call()).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "tool_changed"));
    assert_eq!(server.calls(), [0]);
}

#[tokio::test]
async fn a_handle_does_not_call_a_name_that_came_to_stand_for_two_definitions() {
    let twice = mcp_tool::mcp_transport::ScriptedTransport::new().with_tools([put(None), put(idempotent())]);
    let server = Lives::of([life(None), twice]);
    let client = server.client().build();
    let tool = client.tool("put").await.unwrap().unwrap();
    server.life(0).disconnect();
    let error = tool.call(tool.to_call()).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "tool_changed"));
    assert_eq!(server.calls(), [0, 0]);
}
