//! What the new listing says of the tool, against what the call was made for.

use replay_policy::{
    Checkpoint::{BeforeReconnect, BeforeReplay},
    ConservativePolicy, Decision, Definition, Delivery, FailedAttempt, Hints, Reason, ReplayPolicy, Trust,
};

const REPLAY: Decision = Decision::Replay;
const CHANGED: Decision = Decision::Deny(Reason::ToolChanged);
const AMBIGUO: Decision = Decision::Deny(Reason::AmbiguousTool);

fn safe_call() -> FailedAttempt {
    FailedAttempt::new("put", BeforeReplay)
        .with_trust(Trust::BOTH)
        .with_trust_at_start(Trust::BOTH)
        .with_hints(Some(Hints::idempotent()))
}

#[test]
fn a_new_listing_is_held_against_the_call_before_it_is_sent_again() {
    use Definition::{Ambiguous, Changed, Same, SchemaChanged};

    #[rustfmt::skip]
    let table = [
        // definition, checkpoint    | unsent, refused, unknown
        (Same,          BeforeReconnect, [REPLAY,  REPLAY,  REPLAY ]),
        (Same,          BeforeReplay,    [REPLAY,  REPLAY,  REPLAY ]),
        (Changed,       BeforeReconnect, [REPLAY,  REPLAY,  REPLAY ]),
        (Changed,       BeforeReplay,    [CHANGED, REPLAY,  REPLAY ]),
        (SchemaChanged, BeforeReconnect, [REPLAY,  REPLAY,  REPLAY ]),
        (SchemaChanged, BeforeReplay,    [CHANGED, CHANGED, CHANGED]),
        (Ambiguous,     BeforeReconnect, [AMBIGUO, AMBIGUO, AMBIGUO]),
        (Ambiguous,     BeforeReplay,    [AMBIGUO, AMBIGUO, AMBIGUO]),
    ];
    let policies = [
        ConservativePolicy::default(),
        ConservativePolicy::default().accepting_refusals(),
        ConservativePolicy::default().with_safe("put"),
    ];
    let deliveries = [Delivery::Unsent, Delivery::Refused, Delivery::Unknown];
    for (definition, checkpoint, row) in table {
        for (delivery, expected) in deliveries.into_iter().zip(row) {
            let attempt = FailedAttempt::new("put", checkpoint)
                .with_trust(Trust::BOTH)
                .with_hints(Some(Hints::idempotent()))
                .with_delivery(delivery)
                .with_definition(definition);
            for policy in &policies {
                assert_eq!(policy.decide(&attempt), expected, "{policy:?} {attempt:?}");
            }
        }
    }
}

#[test]
fn without_resending_an_unsent_call_needs_only_its_input_schema_unchanged() {
    let policy = ConservativePolicy::default().without_resending_unsent();
    let unsent = safe_call().with_delivery(Delivery::Unsent);

    let changed = unsent.clone().with_definition(Definition::Changed);
    assert_eq!(policy.decide(&changed), REPLAY);

    let other_schema = unsent.with_definition(Definition::SchemaChanged);
    assert_eq!(policy.decide(&other_schema), CHANGED);
}

#[test]
fn hints_are_judged_before_the_schema() {
    let attempt = safe_call().with_hints(None).with_definition(Definition::SchemaChanged);
    assert_eq!(ConservativePolicy::default().decide(&attempt), Decision::Deny(Reason::Unannotated));
}

#[test]
fn an_ambiguous_tool_is_said_to_be_so_whatever_else_is_wrong() {
    for delivery in [Delivery::Unsent, Delivery::Refused, Delivery::Unknown] {
        let attempt = FailedAttempt::new("put", BeforeReplay)
            .with_delivery(delivery)
            .with_trust_at_start(Trust::BOTH)
            .with_definition(Definition::Ambiguous)
            .with_replays(u32::MAX)
            .with_resends(u32::MAX);
        assert_eq!(ConservativePolicy::default().decide(&attempt), AMBIGUO);
    }
}
