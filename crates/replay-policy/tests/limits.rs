//! How often a call may go out again.

use replay_policy::{
    Checkpoint, ConservativePolicy, Decision, Delivery, FailedAttempt, Hints, Reason, ReplayPolicy, Trust,
};

const REPLAY: Decision = Decision::Replay;
const REPLAYS: Decision = Decision::Deny(Reason::ReplayLimit);
const RESENDS: Decision = Decision::Deny(Reason::ResendLimit);

/// Asks of a call that nothing else speaks against, at both checkpoints.
fn verdict(policy: &ConservativePolicy, delivery: Delivery, replays: u32, resends: u32) -> Decision {
    let ask = |checkpoint| {
        let attempt = FailedAttempt::new("put", checkpoint)
            .with_delivery(delivery)
            .with_trust(Trust::BOTH)
            .with_trust_at_start(Trust::BOTH)
            .with_hints(Some(Hints::idempotent()))
            .with_attempts(replays + 1)
            .with_replays(replays)
            .with_resends(resends);
        policy.decide(&attempt)
    };
    let first = ask(Checkpoint::BeforeReconnect);
    assert_eq!(first, ask(Checkpoint::BeforeReplay));
    first
}

#[test]
fn replays_and_resends_have_a_limit_each() {
    #[rustfmt::skip]
    let table = [
        // replays, resends | unsent, refused, unknown
        (0, 0, [REPLAY,  REPLAY,  REPLAY ]),
        (2, 0, [REPLAY,  REPLAY,  REPLAY ]),
        (3, 0, [REPLAY,  REPLAYS, REPLAYS]),
        (4, 0, [REPLAY,  REPLAYS, REPLAYS]),
        (0, 2, [REPLAY,  REPLAY,  REPLAY ]),
        (0, 3, [RESENDS, REPLAY,  REPLAY ]),
        (0, 4, [RESENDS, REPLAY,  REPLAY ]),
        (2, 3, [RESENDS, REPLAY,  REPLAY ]),
        (3, 2, [REPLAY,  REPLAYS, REPLAYS]),
    ];
    let policies = [
        ConservativePolicy::default(),
        ConservativePolicy::default().accepting_refusals(),
        ConservativePolicy::default().with_safe("put"),
    ];
    let deliveries = [Delivery::Unsent, Delivery::Refused, Delivery::Unknown];
    for (replays, resends, row) in table {
        for (delivery, expected) in deliveries.into_iter().zip(row) {
            for policy in &policies {
                assert_eq!(
                    verdict(policy, delivery, replays, resends),
                    expected,
                    "{delivery:?}, {replays} replays, {resends} resends, {policy:?}"
                );
            }
        }
    }
    assert_eq!(ConservativePolicy::DEFAULT_MAX_REPLAYS, 3);
    assert_eq!(ConservativePolicy::MAX_RESENDS, 3);
}

#[test]
fn without_resending_both_counts_draw_on_the_replays() {
    let policy = ConservativePolicy::default().without_resending_unsent();
    #[rustfmt::skip]
    let table = [
        (0, 0, REPLAY ),
        (1, 1, REPLAY ),
        (0, 2, REPLAY ),
        (2, 0, REPLAY ),
        (2, 1, REPLAYS),
        (1, 2, REPLAYS),
        (0, 3, REPLAYS),
        (3, 0, REPLAYS),
        (2, 2, REPLAYS),
    ];
    for delivery in [Delivery::Unsent, Delivery::Refused, Delivery::Unknown] {
        for (replays, resends, expected) in table {
            assert_eq!(verdict(&policy, delivery, replays, resends), expected);
        }
    }
}

#[test]
fn counts_beyond_any_range_still_deny() {
    let policy = ConservativePolicy::default().without_resending_unsent();
    let attempt = FailedAttempt::new("put", Checkpoint::BeforeReplay)
        .with_trust(Trust::BOTH)
        .with_hints(Some(Hints::idempotent()))
        .with_replays(u32::MAX)
        .with_resends(u32::MAX);
    assert_eq!(policy.decide(&attempt), REPLAYS);
}

#[test]
fn a_chosen_limit_counts_replays_only() {
    let policy = ConservativePolicy::default().with_max_replays(1);
    assert_eq!(verdict(&policy, Delivery::Unknown, 0, 3), REPLAY);
    assert_eq!(verdict(&policy, Delivery::Unknown, 1, 0), REPLAYS);
    assert_eq!(verdict(&policy, Delivery::Unsent, 1, 2), REPLAY);
}

#[test]
fn with_no_replays_an_unsent_call_is_still_delivered() {
    let policy = ConservativePolicy::default().with_max_replays(0);
    assert_eq!(verdict(&policy, Delivery::Unknown, 0, 0), REPLAYS);
    assert_eq!(verdict(&policy, Delivery::Refused, 0, 0), REPLAYS);
    assert_eq!(verdict(&policy, Delivery::Unsent, 0, 0), REPLAY);
}
