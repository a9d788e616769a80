//! Both checkpoints say yes: the same call again, on the new generation.

use std::sync::{Arc, Mutex};

use mcp_tool::{
    ConservativePolicy, Outcome, ToolCall, Trust,
    mcp_discovery::{DiscoveryErrorKind, MockDiscovery},
    mcp_transport::{Step, TransportError},
    replay_policy::{Decision, policy_fn},
    rmcp::model::{NumberOrString, ProgressNotificationParam, ProgressToken, ToolAnnotations},
};

use crate::servers::{Lives, idempotent, life, put, read_only, schema};

#[tokio::test]
async fn a_safe_call_is_replayed_after_the_tools_were_listed_again() {
    for annotations in [idempotent(), read_only()] {
        let server = Lives::of([life(annotations.clone()).lose(), life(annotations)]);
        let call = ToolCall::new("put").with_argument("key", "a");
        let answer = server.client().trust(Trust::BOTH).build().call(call).await.unwrap();
        assert_eq!((answer.attempts, answer.replays), (2, 1));
        assert_eq!((server.calls(), server.life(1).lists()), (vec![1, 1], 1));
        let (first, second) = (&server.life(0).received()[0], &server.life(1).received()[0]);
        assert_eq!((first.name(), first.arguments()), (second.name(), second.arguments()));
        assert_eq!(first.deadline(), second.deadline(), "one deadline over all attempts");
    }
}

#[tokio::test]
async fn progress_is_told_under_the_number_of_its_attempt_however_late_it_comes() {
    let server = Lives::of([
        life(idempotent()).lose_unsent(),
        life(idempotent()).lose(),
        life(idempotent()).lose(),
        life(idempotent()),
    ]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = told.clone();
    let call = ToolCall::new("put")
        .with_progress(move |told| listener.lock().unwrap().push((told.attempt, told.progress)));
    let answer = server.client().trust(Trust::BOTH).build().call(call).await.unwrap();
    assert_eq!((answer.attempts, answer.unsent, server.calls()), (3, 1, vec![1, 1, 1, 1]));
    let token = ProgressToken(NumberOrString::Number(7));
    for number in [3, 1, 2, 1] {
        let late = ProgressNotificationParam::new(token.clone(), f64::from(number));
        server.life(number as usize).received()[0].progressed(&late);
    }
    assert_eq!(*told.lock().unwrap(), [(3, 3.0), (1, 1.0), (2, 2.0), (1, 1.0)]);
}

#[tokio::test]
async fn a_tool_that_is_not_safe_any_more_is_not_called_again() {
    let hints = ToolAnnotations::new;
    let mut other_schema = put(idempotent());
    other_schema.input_schema = schema("path").into();
    let rows = [
        (vec![put(None)], "unannotated"),
        (vec![put(Some(hints().idempotent(false)))], "not_declared_safe"),
        (vec![put(Some(hints().read_only(true).destructive(true)))], "contradictory_hints"),
        (vec![other_schema], "tool_changed"),
        (vec![put(idempotent()), put(None)], "ambiguous_tool"),
        (vec![], "tool_vanished"),
    ];
    for (tools, reason) in rows {
        let restarted = mcp_tool::mcp_transport::ScriptedTransport::new().with_tools(tools);
        let server = Lives::of([life(idempotent()).lose(), restarted]);
        let error = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, reason));
        assert_eq!((server.calls(), server.connects()), (vec![1, 0], 2), "{reason}");
    }
}

#[tokio::test]
async fn a_changed_description_does_not_forbid_a_replay() {
    let mut described = put(idempotent());
    described.description = Some("puts, described anew".into());
    let restarted = mcp_tool::mcp_transport::ScriptedTransport::new().with_tools([described]);
    let server = Lives::of([life(idempotent()).lose(), restarted]);
    let answer = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap();
    assert_eq!((answer.attempts, server.calls()), (2, vec![1, 1]));
}

#[tokio::test]
async fn replays_end_at_the_limit_of_the_policy() {
    for (limit, calls) in [(0, 1), (1, 2), (3, 4)] {
        let server = Lives::of((0..6).map(|_| life(idempotent()).lose()));
        let policy = ConservativePolicy::default().with_max_replays(limit);
        let client = server.client().trust(Trust::BOTH).policy(policy).build();
        let error = client.call(ToolCall::new("put")).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "replay_limit"));
        assert_eq!((error.attempts(), error.replays()), (calls, calls - 1));
        assert_eq!(server.calls().iter().sum::<usize>(), calls as usize);
    }
}

#[tokio::test]
async fn the_first_replay_of_an_invocation_is_free_and_further_ones_share_a_budget() {
    use mcp_tool::RetryBudget;
    use std::time::Duration;

    let lives =
        (0..4).flat_map(|_| [life(idempotent()).lose(), life(idempotent()).lose(), life(idempotent())]);
    let server = Lives::of(lives);
    let hour = Duration::from_secs(3_600);
    let client = server.client().trust(Trust::BOTH).retry_budget(RetryBudget::new(2, hour)).build();
    for _ in 0..2 {
        // The life that answers lives on; end it, so that the next call begins on one that loses it.
        let answer = client.call(ToolCall::new("put")).await.unwrap();
        assert_eq!((answer.attempts, answer.replays), (3, 2));
        client.catalog().await.unwrap().transport().close().await;
    }
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "retry_budget"));
    assert_eq!((error.attempts(), error.replays()), (2, 1), "the first replay was its own");
    assert_eq!(server.connects(), 8, "nothing reconnected on its behalf");
}

#[tokio::test]
async fn no_policy_lifts_the_ceiling() {
    let server = Lives::of((0..12).map(|_| life(None).lose()));
    let client = server.client().policy(policy_fn(|_| Decision::Replay)).build();
    let error = client.call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "attempt_limit"));
    assert_eq!(server.calls().iter().sum::<usize>(), 8);
}

#[tokio::test]
async fn a_response_lost_on_a_living_connection_lists_again_over_it() {
    let lost = Step::LoseResponse(TransportError::lost());
    let server = Lives::of([life(idempotent()).then(lost)]);
    let answer = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap();
    assert_eq!((answer.attempts, server.connects(), server.calls()), (2, 1, vec![2]));
    assert_eq!(server.life(0).lists(), 2, "the replay goes out on a new listing");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_come_back_leaves_the_outcome_unknown() {
    let server = Lives::of([life(idempotent()).lose()]);
    let error = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unavailable"));
    let first = error.transport_error().map(|error| error.kind().code());
    assert_eq!(first, Some("connection_lost"), "the failed reconnect does not hide the first failure");
    assert_eq!(server.calls(), [1]);
}

#[tokio::test]
async fn the_policy_learns_the_fence_of_the_very_connection_that_was_lost() {
    use mcp_tool::{
        mcp_discovery::{Catalog, ConnectionId, Generation, MockDiscovery},
        mcp_transport::{self, ScriptedTransport},
        replay_policy::{Checkpoint, Fence, ReplayPolicy},
    };
    use std::sync::{Arc, Mutex};

    let (first, second, third) =
        (ConnectionId::FIRST, ConnectionId::FIRST.next(), ConnectionId::FIRST.next().next());
    for (now, seen) in [(first, Fence::None), (second, Fence::GroupGone), (third, Fence::None)] {
        let listed = |generation, transport, connection| {
            Arc::new(
                Catalog::new(generation, transport)
                    .with_tool(put(idempotent()))
                    .with_connection(connection)
                    .with_predecessor_fence(mcp_transport::Fence::GroupGone),
            )
        };
        let before = listed(Generation::FIRST, life(idempotent()).lose(), first);
        let after = listed(Generation::FIRST.next(), ScriptedTransport::new(), now);
        let mut discovery = MockDiscovery::new();
        discovery.expect_catalog().return_once(move || Ok(before));
        discovery.expect_suspect().return_const(());
        discovery.expect_rebuild().return_once(move |_| Ok(after));
        let fences = Arc::new(Mutex::new(Vec::new()));
        let noted = fences.clone();
        let policy = policy_fn(move |attempt| {
            noted.lock().unwrap().push((attempt.checkpoint(), attempt.fence()));
            ConservativePolicy::default().decide(attempt)
        });
        let client = mcp_tool::Client::with_discovery("files", discovery).trust(Trust::BOTH).policy(policy);
        client.build().call(ToolCall::new("put")).await.unwrap();
        let expected = [(Checkpoint::BeforeReconnect, Fence::None), (Checkpoint::BeforeReplay, seen)];
        assert_eq!(*fences.lock().unwrap(), expected, "{now:?}");
    }
}

#[tokio::test]
async fn a_name_that_stood_for_two_definitions_is_never_called_again() {
    let twice =
        || mcp_tool::mcp_transport::ScriptedTransport::new().with_tools([put(idempotent()), put(None)]);
    let server = Lives::of([twice().lose(), life(idempotent())]);
    let error = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "ambiguous_tool"));
    assert_eq!((server.calls(), server.connects()), (vec![1, 0], 1), "not even a reconnect");

    let server = Lives::of([twice().lose_unsent(), life(idempotent())]);
    let client = server.client().trust(Trust::BOTH).build();
    let tool = client.tool("put").await.unwrap().unwrap();
    let error = tool.call(tool.to_call()).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "ambiguous_tool"));
    assert_eq!(server.calls(), [1, 0]);

    let server = Lives::of([twice().lose(), life(idempotent())]);
    let client = server.client().trust(Trust::BOTH).build();
    let tool = client.tool("put").await.unwrap().unwrap();
    let error = tool.call(tool.to_call()).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "ambiguous_tool"));
    assert_eq!((server.calls(), server.connects()), (vec![1, 0], 1), "not even a reconnect");
}

#[tokio::test]
async fn a_call_of_the_very_definition_that_was_seen_is_replayed() {
    let server = Lives::of([life(idempotent()).lose(), life(idempotent())]);
    let client = server.client().trust(Trust::BOTH).build();
    let tool = client.tool("put").await.unwrap().unwrap();
    let answer = tool.call(tool.to_call()).await.unwrap();
    assert_eq!((answer.attempts, answer.replays, server.calls()), (2, 1, vec![1, 1]));
}

#[tokio::test]
async fn a_server_that_became_another_one_meanwhile_is_told_by_a_reason_of_its_own() {
    for (kind, reason) in [
        (DiscoveryErrorKind::IdentityChanged, "server_changed"),
        (DiscoveryErrorKind::Connect, "unavailable"),
    ] {
        let mut discovery = MockDiscovery::new();
        discovery.expect_catalog().return_once(move || Err(kind.into()));
        let client = mcp_tool::Client::with_discovery("files", discovery).trust(Trust::BOTH).build();
        let error = client.call(ToolCall::new("put")).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, reason));
    }
}

#[tokio::test]
async fn an_answer_after_a_refusal_says_that_an_earlier_attempt_may_have_run() {
    let refused = Step::Fail(TransportError::lost().refused());
    let server = Lives::of([life(idempotent()).then(refused), life(idempotent())]);
    let answer = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap();
    assert_eq!((answer.attempts, answer.replays, answer.earlier_unknown), (2, 1, true));
}

#[tokio::test]
async fn an_error_after_replays_does_not_say_that_nothing_was_run_again() {
    let server = Lives::of((0..6).map(|_| life(idempotent()).lose()));
    let error = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap_err();
    assert!(error.to_string().starts_with("the tool may have run, and more than once"), "{error}");
}

#[tokio::test]
async fn a_replay_that_proved_unsent_is_told_as_no_second_run() {
    let server = Lives::of([life(idempotent()).lose(), life(idempotent()).lose_unsent(), life(None)]);
    let error = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.attempts(), error.replays(), error.unsent()), (1, 1, 1));
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unannotated"));
    assert!(!error.to_string().contains("more than once"), "{error}");
}
