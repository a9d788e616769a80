//! Policies as values: closures, trait objects, and the mock.

use std::sync::Arc;

use replay_policy::{
    Checkpoint, ConservativePolicy, Decision, FailedAttempt, Reason, ReplayPolicy, policy_fn,
};

const MINE: Decision = Decision::Deny(Reason::Custom("mine"));

fn lost(tool: &str) -> FailedAttempt {
    FailedAttempt::new(tool, Checkpoint::BeforeReconnect)
}

fn payments_only(attempt: &FailedAttempt) -> Decision {
    if attempt.tool() == "pay" { MINE } else { Decision::Replay }
}

fn assert_asked(policy: impl ReplayPolicy) {
    assert_eq!(policy.decide(&lost("pay")), MINE);
    assert_eq!(policy.decide(&lost("put")), Decision::Replay);
}

#[test]
fn a_closure_is_asked() {
    assert_asked(policy_fn(payments_only));
}

#[test]
fn shared_and_boxed_policies_forward() {
    assert_asked(Arc::new(policy_fn(payments_only)));
    assert_asked(Box::new(policy_fn(payments_only)));
}

#[test]
fn a_policy_is_a_trait_object_and_one_of_those_is_a_policy() {
    let shared: Arc<dyn ReplayPolicy> = Arc::new(policy_fn(payments_only));
    assert_asked(Arc::clone(&shared));
    let boxed: Box<dyn ReplayPolicy> = Box::new(shared);
    assert_asked(boxed);
}

#[test]
fn policies_and_what_they_speak_of_cross_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<ConservativePolicy>();
    crosses::<Arc<dyn ReplayPolicy>>();
    crosses::<FailedAttempt>();
    crosses::<Decision>();
}

#[test]
fn a_closures_policy_can_be_debugged() {
    let shown = format!("{:?}", policy_fn(payments_only));
    assert_eq!(shown, "PolicyFn { .. }");
}

#[cfg(feature = "mock")]
#[test]
fn the_mock_counts_questions_and_sees_the_attempt() {
    use replay_policy::MockReplayPolicy;

    let mut mock = MockReplayPolicy::new();
    mock.expect_decide().withf(|attempt| attempt.tool() == "put").times(1).return_const(MINE);
    let policy: Arc<dyn ReplayPolicy> = Arc::new(mock);
    assert_eq!(policy.decide(&lost("put")), MINE);
}
