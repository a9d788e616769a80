//! replay-policy alone, in a client that has a loop of its own.

use replay_policy::{
    Checkpoint, ConservativePolicy, Decision, FailedAttempt, Reason, ReplayPolicy, policy_fn,
};

/// The default policy, with a rule of our own before it.
pub fn no_payments() -> impl ReplayPolicy {
    let gate = ConservativePolicy::default().with_max_replays(1);
    policy_fn(move |attempt: &FailedAttempt| match attempt.tool() {
        "pay" => Decision::Deny(Reason::Custom("payments")),
        _ => gate.decide(attempt),
    })
}

/// Whether our client may reconnect for a lost call, in the policy's words.
pub fn verdict(policy: &dyn ReplayPolicy, tool: &str) -> &'static str {
    match policy.decide(&FailedAttempt::new(tool, Checkpoint::BeforeReconnect)) {
        Decision::Replay => "reconnect",
        Decision::Deny(reason) => reason.code(),
    }
}

#[cfg(test)]
mod tests {
    use replay_policy::MockReplayPolicy;

    use super::*;

    #[test]
    fn our_rule_comes_before_the_gate() {
        assert_eq!(verdict(&no_payments(), "pay"), "payments");
        assert_eq!(verdict(&no_payments(), "put"), "server_untrusted");
    }

    #[test]
    fn our_client_asks_once_and_does_what_it_is_told() {
        let mut policy = MockReplayPolicy::new();
        policy
            .expect_decide()
            .withf(|attempt| attempt.tool() == "put")
            .times(1)
            .return_const(Decision::Replay);
        assert_eq!(verdict(&policy, "put"), "reconnect");
    }
}
