//! The continuation of a call that the server answered with a request for input: a call of its own, and
//! never replayed.

use mcp_tool::{
    Answer, CallReply, ConservativePolicy, Outcome, Reason, ToolCall, ToolError, Trust,
    mcp_transport::{Step, TransportError},
    replay_policy::{Decision, policy_fn},
    rmcp::model::InputRequiredResult,
};

use crate::servers::{Lives, idempotent, life, read_only};

/// Calls, is asked for input, and continues.
async fn continued(server: &Lives, client: &mcp_tool::Client) -> Result<Answer, ToolError> {
    let call = ToolCall::new("put").with_argument("key", "a");
    let answer = client.call(call.clone()).await?;
    let CallReply::InputRequired(asked) = answer.reply else { panic!("{:?}", answer.reply) };
    assert_eq!(server.calls().iter().sum::<usize>(), 1);
    client.call(call.continuing(&asked, [("a".to_owned(), true.into())].into())).await
}

fn asks() -> Step {
    let asked = InputRequiredResult::from_request_state("s1");
    Step::Answer(CallReply::InputRequired(Box::new(asked)))
}

#[tokio::test]
async fn a_continuation_that_may_have_been_received_is_never_sent_again_whatever_the_tool_and_the_policy_say()
{
    for annotations in [read_only(), idempotent(), None] {
        for lost in [TransportError::lost(), TransportError::session_lost()] {
            let lives =
                [life(annotations.clone()).then(asks()).then(Step::Fail(lost)), life(annotations.clone())];
            let server = Lives::of(lives);
            let anything_goes = policy_fn(|_| Decision::Replay);
            let client = server.client().trust(Trust::BOTH).policy(anything_goes).build();
            let error = continued(&server, &client).await.unwrap_err();
            assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::Continuation));
            assert_eq!((error.attempts(), error.replays()), (1, 0));
            assert_eq!((server.calls(), server.connects()), (vec![2, 0], 1), "nothing reconnects for it");
        }
    }
}

#[tokio::test]
async fn accepting_refusals_lets_no_continuation_be_sent_again() {
    let lost = Step::Fail(TransportError::session_lost());
    let server = Lives::of([life(read_only()).then(asks()).then(lost), life(read_only())]);
    let policy = ConservativePolicy::default().accepting_refusals();
    let client = server.client().trust(Trust::BOTH).policy(policy).build();
    let error = continued(&server, &client).await.unwrap_err();
    assert_eq!((error.reason(), server.calls()), (Reason::Continuation, vec![2, 0]));
}

#[tokio::test]
async fn a_continuation_that_never_left_is_delivered_over_the_next_connection() {
    let server = Lives::of([life(None).then(asks()).lose_unsent(), life(None)]);
    let answer = continued(&server, &server.client().build()).await.unwrap();
    assert_eq!((answer.attempts, answer.unsent, answer.replays), (1, 1, 0));
    assert_eq!(server.calls(), [2, 1]);
    let delivered = &server.life(1).received()[0];
    assert_eq!((delivered.request_state(), delivered.input_responses().unwrap().len()), (Some("s1"), 1));
    assert_eq!(delivered.arguments().unwrap()["key"], "a");
}

#[tokio::test]
async fn a_continuation_that_may_have_left_on_its_second_try_is_not_tried_a_third_time() {
    let lives = [life(read_only()).then(asks()).lose_unsent(), life(read_only()).lose(), life(read_only())];
    let server = Lives::of(lives);
    let error = continued(&server, &server.client().trust(Trust::BOTH).build()).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::Continuation));
    assert_eq!((error.attempts(), error.unsent(), server.calls()), (1, 1, vec![2, 1, 0]));
}

#[tokio::test]
async fn what_a_continuation_asks_again_is_continued_again() {
    let server = Lives::of([life(None).then(asks()).then(asks()).answer()]);
    let client = server.client().build();
    let asked_again = continued(&server, &client).await.unwrap();
    let CallReply::InputRequired(asked) = asked_again.reply else { panic!("{:?}", asked_again.reply) };
    let call = ToolCall::new("put").with_argument("key", "a").continuing(&asked, [].into());
    assert!(client.call(call).await.unwrap().reply.result().is_some());
    assert_eq!(server.calls(), [3]);
}
