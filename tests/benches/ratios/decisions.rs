//! Every question that the gate knows: each form of hints, under each trust, for each delivery, at both
//! checkpoints.

use std::hint::black_box;

use mcp_tool::replay_policy::{
    Checkpoint, ConservativePolicy, Decision, Delivery, FailedAttempt, Hints, ReplayPolicy, Trust,
};

/// The rows of the rule's table: the 27 combinations of hints under each of four trusts, for a call in doubt
/// that is about to be replayed.
pub(crate) fn rows() -> Vec<FailedAttempt> {
    let asked =
        |hints| TRUSTS.map(|trust| question(hints, trust, Delivery::Unknown, Checkpoint::BeforeReplay));
    combinations().into_iter().flat_map(|hints| asked(Some(hints))).collect()
}

/// The 27 combinations of hints, the same with a malformed one, and no annotations at all; each with
/// four trusts, three deliveries and two checkpoints.
pub(crate) fn questions() -> Vec<FailedAttempt> {
    let annotated =
        combinations().into_iter().flat_map(|hints| [Some(hints), Some(hints.with_malformed_hint())]);
    let mut questions = Vec::new();
    for hints in annotated.chain([None]) {
        for trust in TRUSTS {
            for delivery in [Delivery::Unsent, Delivery::Refused, Delivery::Unknown] {
                for checkpoint in [Checkpoint::BeforeReconnect, Checkpoint::BeforeReplay] {
                    questions.push(question(hints, trust, delivery, checkpoint));
                }
            }
        }
    }
    questions
}

const TRUSTS: [Trust; 4] =
    [Trust::NONE, Trust::NONE.with_trusted_server(), Trust::NONE.with_trusted_workspace(), Trust::BOTH];

fn combinations() -> Vec<Hints> {
    let values = [None, Some(true), Some(false)];
    let mut combinations = Vec::new();
    for read_only in values {
        for destructive in values {
            for idempotent in values {
                combinations.push(Hints { read_only, destructive, idempotent, ..Hints::NONE });
            }
        }
    }
    combinations
}

fn question(hints: Option<Hints>, trust: Trust, delivery: Delivery, checkpoint: Checkpoint) -> FailedAttempt {
    FailedAttempt::new("put", checkpoint).with_hints(hints).with_trust(trust).with_delivery(delivery)
}

/// Has the default policy decide all of them. Returns how many were allowed.
pub(crate) fn decide(policy: &ConservativePolicy, questions: &[FailedAttempt]) -> usize {
    let allowed = |attempt: &&FailedAttempt| policy.decide(black_box(attempt)) == Decision::Replay;
    questions.iter().filter(allowed).count()
}
