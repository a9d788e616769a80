//! Every question that the gate knows: each form of hints, under each trust, for each delivery, at both
//! checkpoints.

use std::hint::black_box;

use mcp_tool::replay_policy::{
    Checkpoint, ConservativePolicy, Decision, Delivery, FailedAttempt, Hints, ReplayPolicy, Trust,
};

/// The 27 combinations of hints, the same with a malformed one, and no annotations at all; each with
/// four trusts, three deliveries and two checkpoints.
pub(crate) fn questions() -> Vec<FailedAttempt> {
    let values = [None, Some(true), Some(false)];
    let mut forms = vec![None];
    for read_only in values {
        for destructive in values {
            for idempotent in values {
                let hints = Hints { read_only, destructive, idempotent, ..Hints::NONE };
                forms.extend([Some(hints), Some(hints.with_malformed_hint())]);
            }
        }
    }
    let trusts =
        [Trust::NONE, Trust::NONE.with_trusted_server(), Trust::NONE.with_trusted_workspace(), Trust::BOTH];
    let mut questions = Vec::new();
    for hints in forms {
        for trust in trusts {
            for delivery in [Delivery::Unsent, Delivery::Refused, Delivery::Unknown] {
                for checkpoint in [Checkpoint::BeforeReconnect, Checkpoint::BeforeReplay] {
                    let question = FailedAttempt::new("put", checkpoint).with_hints(hints);
                    questions.push(question.with_trust(trust).with_delivery(delivery));
                }
            }
        }
    }
    questions
}

/// Has the default policy decide all of them. Returns how many were allowed.
pub(crate) fn decide(policy: &ConservativePolicy, questions: &[FailedAttempt]) -> usize {
    let allowed = |attempt: &&FailedAttempt| policy.decide(black_box(attempt)) == Decision::Replay;
    questions.iter().filter(allowed).count()
}
