//! What was proven unsent is still to be delivered for the first time.

use mcp_tool::{ConservativePolicy, Outcome, ToolCall, Trust, mcp_transport::ScriptedTransport};

use crate::servers::{Lives, idempotent, life, put};

#[tokio::test]
async fn an_unsent_call_of_any_tool_is_delivered_after_reconnecting() {
    let server = Lives::of([life(None).lose_unsent(), life(None)]);
    let answer = server.client().build().call(ToolCall::new("put")).await.unwrap();
    assert_eq!((answer.attempts, answer.replays, answer.unsent, answer.earlier_unknown), (1, 0, 1, false));
    assert_eq!(server.connects(), 2);
}

#[tokio::test]
async fn an_unsent_call_is_not_delivered_to_a_tool_that_changed() {
    let mut described = put(None);
    described.description = Some("puts, described anew".into());
    for (tools, reason) in [(vec![described], "tool_changed"), (vec![], "tool_vanished")] {
        let server = Lives::of([life(None).lose_unsent(), ScriptedTransport::new().with_tools(tools)]);
        let error = server.client().build().call(ToolCall::new("put")).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, reason));
        assert_eq!((error.attempts(), error.unsent(), server.calls()), (0, 1, vec![1, 0]));
    }
}

#[tokio::test]
async fn unsent_calls_have_a_cap_of_their_own() {
    let server = Lives::of((0..6).map(|_| life(None).lose_unsent()));
    let error = server.client().build().call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "resend_limit"));
    assert_eq!((error.attempts(), error.unsent()), (0, 4));
}

#[tokio::test]
async fn resending_can_be_switched_off() {
    let server = Lives::of([life(None).lose_unsent(), life(None)]);
    let policy = ConservativePolicy::default().without_resending_unsent();
    let error = server.client().policy(policy).build().call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "server_untrusted"));
    assert_eq!(server.calls(), [1, 0]);
}

#[tokio::test]
async fn doubt_is_sticky_over_later_unsent_attempts() {
    let server = Lives::of([life(idempotent()).lose(), life(idempotent()).lose_unsent(), life(None)]);
    let error = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unannotated"));
    assert_eq!((error.attempts(), error.unsent(), server.calls()), (1, 1, vec![1, 1, 0]));
}

#[tokio::test]
async fn a_server_that_died_idle_costs_the_next_call_nothing() {
    let server = Lives::of([life(None), life(None)]);
    let client = server.client().build();
    client.call(ToolCall::new("put")).await.unwrap();
    server.life(0).disconnect();
    let answer = client.call(ToolCall::new("put")).await.unwrap();
    assert_eq!((answer.attempts, server.calls(), server.connects()), (1, vec![1, 1], 2));
}
