//! The first checkpoint says no: nothing further happens for this call.

use mcp_tool::{Client, Outcome, ToolCall, Trust, rmcp::model::ToolAnnotations};
use mcp_tool::{
    mcp_discovery::{Catalog, Generation, MockDiscovery},
    replay_policy::{Checkpoint, Decision, MockReplayPolicy, Reason},
};
use std::sync::Arc;

use crate::servers::{Lives, idempotent, life, put};

#[tokio::test]
async fn a_denied_call_neither_reconnects_nor_lists_again() {
    let hints = ToolAnnotations::new;
    let rows = [
        (Trust::NONE, idempotent(), "server_untrusted"),
        (Trust::NONE.with_trusted_workspace(), idempotent(), "server_untrusted"),
        (Trust::NONE.with_trusted_server(), idempotent(), "workspace_untrusted"),
        (Trust::BOTH, None, "unannotated"),
        (Trust::BOTH, Some(hints()), "unannotated"),
        (Trust::BOTH, Some(hints().idempotent(false)), "not_declared_safe"),
        (Trust::BOTH, Some(hints().read_only(true).destructive(true)), "contradictory_hints"),
        (Trust::BOTH, Some(hints().read_only(true).idempotent(false)), "contradictory_hints"),
    ];
    for (trust, annotations, reason) in rows {
        let server = Lives::of([life(annotations).lose(), life(idempotent())]);
        let error = server.client().trust(trust).build().call(ToolCall::new("put")).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, reason));
        assert_eq!((error.attempts(), error.replays()), (1, 0));
        assert_eq!((server.calls(), server.connects()), (vec![1, 0], 1), "{reason}");
        assert_eq!(server.life(0).lists(), 1, "{reason}");
    }
}

#[tokio::test]
async fn the_next_call_after_a_denied_one_brings_the_server_back() {
    let server = Lives::of([life(None).lose(), life(None)]);
    let client = server.client().build();
    client.call(ToolCall::new("put")).await.unwrap_err();
    let answer = client.call(ToolCall::new("put")).await.unwrap();
    assert_eq!((answer.attempts, server.calls(), server.connects()), (1, vec![1, 1], 2));
}

#[tokio::test]
async fn the_policy_alone_decides_and_the_discovery_is_only_told() {
    let server = life(None).lose();
    let mut discovery = MockDiscovery::new();
    let catalog = Arc::new(Catalog::new(Generation::FIRST, server).with_tool(put(None)));
    discovery.expect_catalog().times(1).return_once(move || Ok(catalog));
    discovery.expect_rebuild().never();
    discovery.expect_suspect().times(1).return_const(());
    let mut policy = MockReplayPolicy::new();
    policy
        .expect_decide()
        .withf(|attempt| attempt.tool() == "put" && attempt.checkpoint() == Checkpoint::BeforeReconnect)
        .times(1)
        .return_const(Decision::Deny(Reason::Custom("budget_spent")));
    let client = Client::with_discovery("files", discovery).policy(policy).build();
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "budget_spent"));
}

#[tokio::test]
async fn the_text_of_an_unknown_outcome_is_stable_and_holds_nothing_of_the_call() {
    let server = Lives::of([life(None).lose()]);
    let call = ToolCall::new("put").with_argument("key", "canary-in-the-arguments");
    let error = server.client().build().call(call).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tool may have run: its answer was lost, and it was not run again because that could not be verified \
         as safe; do not retry automatically, verify its effect first (server_untrusted)"
    );
    assert!(!format!("{error:?} {error}").contains("canary"));
    fn easy_to_keep<T: Clone + Send + Sync + 'static>() {}
    easy_to_keep::<mcp_tool::ToolError>();
    assert!(size_of::<mcp_tool::ToolError>() <= size_of::<usize>());
}
