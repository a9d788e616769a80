//! The rule of the default policy as a table: every combination of hints under every trust, for
//! every delivery, at both checkpoints.

use std::collections::HashSet;

use replay_policy::{
    Checkpoint, ConservativePolicy, Decision, Delivery, FailedAttempt, Hints, Reason, ReplayPolicy, Trust,
};

const CHECKPOINTS: [Checkpoint; 2] = [Checkpoint::BeforeReconnect, Checkpoint::BeforeReplay];
const NEITHER: Trust = Trust::NONE;
const SERVER: Trust = Trust::NONE.with_trusted_server();
const WORKSPACE: Trust = Trust::NONE.with_trusted_workspace();
const BOTH: Trust = Trust::BOTH;
const TRUSTS: [Trust; 4] = [NEITHER, SERVER, WORKSPACE, BOTH];

const O: Option<bool> = None;
const T: Option<bool> = Some(true);
const F: Option<bool> = Some(false);

const REPLAY: Decision = Decision::Replay;
const SERVER_: Decision = Decision::Deny(Reason::ServerUntrusted);
const WORKSP_: Decision = Decision::Deny(Reason::WorkspaceUntrusted);
const UNANNOT: Decision = Decision::Deny(Reason::Unannotated);
const NOTSAFE: Decision = Decision::Deny(Reason::NotDeclaredSafe);
const CONTRAD: Decision = Decision::Deny(Reason::ContradictoryHints);
const MALFORM: Decision = Decision::Deny(Reason::MalformedHints);

type Hint = Option<bool>;

/// The verdict on a call in doubt. O is a hint that is absent.
#[rustfmt::skip]
const TABLE: [(Hint, Hint, Hint, [Decision; 4]); 27] = [
    // read-only, destructive, idempotent | trusted: neither, server, workspace, both
    (O, O, O, [SERVER_, WORKSP_, SERVER_, UNANNOT]),
    (O, O, T, [SERVER_, WORKSP_, SERVER_, REPLAY ]),
    (O, O, F, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
    (O, T, O, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
    (O, T, T, [SERVER_, WORKSP_, SERVER_, REPLAY ]),
    (O, T, F, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
    (O, F, O, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
    (O, F, T, [SERVER_, WORKSP_, SERVER_, REPLAY ]),
    (O, F, F, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
    (T, O, O, [SERVER_, WORKSP_, SERVER_, REPLAY ]),
    (T, O, T, [SERVER_, WORKSP_, SERVER_, REPLAY ]),
    (T, O, F, [SERVER_, WORKSP_, SERVER_, CONTRAD]),
    (T, T, O, [SERVER_, WORKSP_, SERVER_, CONTRAD]),
    (T, T, T, [SERVER_, WORKSP_, SERVER_, CONTRAD]),
    (T, T, F, [SERVER_, WORKSP_, SERVER_, CONTRAD]),
    (T, F, O, [SERVER_, WORKSP_, SERVER_, REPLAY ]),
    (T, F, T, [SERVER_, WORKSP_, SERVER_, REPLAY ]),
    (T, F, F, [SERVER_, WORKSP_, SERVER_, CONTRAD]),
    (F, O, O, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
    (F, O, T, [SERVER_, WORKSP_, SERVER_, REPLAY ]),
    (F, O, F, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
    (F, T, O, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
    (F, T, T, [SERVER_, WORKSP_, SERVER_, REPLAY ]),
    (F, T, F, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
    (F, F, O, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
    (F, F, T, [SERVER_, WORKSP_, SERVER_, REPLAY ]),
    (F, F, F, [SERVER_, WORKSP_, SERVER_, NOTSAFE]),
];

/// Beside the 27: no annotations at all, and the 27 again with a hint of the wrong JSON type.
const UNANNOTATED_ROW: [Decision; 4] = [SERVER_, WORKSP_, SERVER_, UNANNOT];
const MALFORMED_ROW: [Decision; 4] = [SERVER_, WORKSP_, SERVER_, MALFORM];
const REFUSAL_ACCEPTED_ROW: [Decision; 4] = [SERVER_, WORKSP_, SERVER_, REPLAY];
const UNSENT_ROW: [Decision; 4] = [REPLAY; 4];

fn rows() -> impl Iterator<Item = (Option<Hints>, [Decision; 4])> {
    let well_formed = TABLE.map(|(read_only, destructive, idempotent, row)| {
        let hints = Hints { read_only, destructive, idempotent, ..Hints::NONE };
        (Some(hints), row)
    });
    let malformed = well_formed.map(|(hints, _)| (hints.map(Hints::with_malformed_hint), MALFORMED_ROW));
    well_formed.into_iter().chain(malformed).chain([(None, UNANNOTATED_ROW)])
}

fn assert_gate(policy: &ConservativePolicy, delivery: Delivery, expected: Expected) {
    let mut asked = 0;
    for (hints, row) in rows() {
        let row = match expected {
            Expected::AsInTheTable => row,
            Expected::Always(row) => row,
        };
        for (trust, expected) in TRUSTS.into_iter().zip(row) {
            for checkpoint in CHECKPOINTS {
                let attempt = FailedAttempt::new("put", checkpoint)
                    .with_delivery(delivery)
                    .with_trust(trust)
                    .with_hints(hints);
                assert_eq!(policy.decide(&attempt), expected, "{attempt:?}");
                asked += 1;
            }
        }
    }
    assert_eq!(asked, (27 + 27 + 1) * 4 * 2);
}

enum Expected {
    AsInTheTable,
    Always([Decision; 4]),
}

#[test]
fn the_table_lists_every_combination_once_and_allows_10_of_108() {
    let combinations: HashSet<_> = TABLE.iter().map(|(r, d, i, _)| (r, d, i)).collect();
    assert_eq!(combinations.len(), 27);

    let verdicts: Vec<Decision> = TABLE.iter().flat_map(|(.., row)| *row).collect();
    assert_eq!(verdicts.len(), 108);
    assert_eq!(verdicts.iter().filter(|v| **v == REPLAY).count(), 10);
}

#[test]
fn a_call_in_doubt_is_judged_by_the_table() {
    let policy = ConservativePolicy::default();
    assert_gate(&policy, Delivery::Unknown, Expected::AsInTheTable);
}

#[test]
fn a_refused_call_is_judged_like_one_in_doubt() {
    let policy = ConservativePolicy::default();
    assert_gate(&policy, Delivery::Refused, Expected::AsInTheTable);
}

#[test]
fn accepting_refusals_waives_the_hints_of_refused_calls_and_no_trust() {
    let policy = ConservativePolicy::default().accepting_refusals();
    assert_gate(&policy, Delivery::Refused, Expected::Always(REFUSAL_ACCEPTED_ROW));
    assert_gate(&policy, Delivery::Unknown, Expected::AsInTheTable);
    assert_gate(&policy, Delivery::Unsent, Expected::Always(UNSENT_ROW));
}

#[test]
fn an_unsent_call_goes_to_any_tool_under_any_trust() {
    let policy = ConservativePolicy::default();
    assert_gate(&policy, Delivery::Unsent, Expected::Always(UNSENT_ROW));
}

#[test]
fn without_resending_an_unsent_call_is_judged_like_one_in_doubt() {
    let policy = ConservativePolicy::default().without_resending_unsent();
    for delivery in [Delivery::Unsent, Delivery::Refused, Delivery::Unknown] {
        assert_gate(&policy, delivery, Expected::AsInTheTable);
    }
}

#[test]
fn an_attempt_of_which_nothing_is_said_is_denied() {
    for checkpoint in CHECKPOINTS {
        let attempt = FailedAttempt::new("put", checkpoint);
        assert_eq!(ConservativePolicy::default().decide(&attempt), SERVER_);
    }
}
