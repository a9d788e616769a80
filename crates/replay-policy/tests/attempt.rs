//! The facts: what goes in comes out, and what is not said fails closed.

use replay_policy::{Checkpoint, Definition, Delivery, FailedAttempt, Fence, HintForm, Hints, Trust};

#[test]
fn what_is_not_said_fails_closed() {
    let attempt = FailedAttempt::new("put", Checkpoint::BeforeReconnect);
    assert_eq!(attempt.server(), None);
    assert_eq!(attempt.delivery(), Delivery::Unknown);
    assert_eq!(attempt.trust(), Trust::NONE);
    assert_eq!(attempt.trust_at_start(), Trust::NONE);
    assert_eq!(attempt.hints(), None);
    assert_eq!(attempt.definition(), Definition::Same);
    assert_eq!(attempt.fence(), Fence::None);
    assert_eq!(attempt.attempts(), 1);
    assert_eq!(attempt.replays(), 0);
    assert_eq!(attempt.resends(), 0);

    assert_eq!(Delivery::default(), Delivery::Unknown);
    assert_eq!(Definition::default(), Definition::Same);
    assert_eq!(Fence::default(), Fence::None);
    assert_eq!(Hints::default(), Hints::NONE);
}

#[test]
fn a_policy_reads_every_fact_that_was_set() {
    let start = Trust::NONE.with_trusted_server();
    let attempt = FailedAttempt::new("put", Checkpoint::BeforeReplay)
        .with_server("files")
        .with_delivery(Delivery::Refused)
        .with_trust(Trust::BOTH)
        .with_trust_at_start(start)
        .with_hints(Some(Hints::read_only()))
        .with_definition(Definition::Changed)
        .with_fence(Fence::GroupGone)
        .with_attempts(7)
        .with_replays(5)
        .with_resends(6);
    assert_eq!(attempt.server(), Some("files"));
    assert_eq!(attempt.tool(), "put");
    assert_eq!(attempt.checkpoint(), Checkpoint::BeforeReplay);
    assert_eq!(attempt.delivery(), Delivery::Refused);
    assert_eq!(attempt.trust(), Trust::BOTH);
    assert_eq!(attempt.trust_at_start(), start);
    assert_eq!(attempt.hints(), Some(Hints::read_only()));
    assert_eq!(attempt.definition(), Definition::Changed);
    assert_eq!(attempt.fence(), Fence::GroupGone);
    assert_eq!(attempt.attempts(), 7);
    assert_eq!(attempt.replays(), 5);
    assert_eq!(attempt.resends(), 6);
}

#[test]
fn hints_are_made_with_what_they_are_named_for() {
    let fields = |hints: Hints| (hints.read_only, hints.destructive, hints.idempotent, hints.form);
    use HintForm::{Malformed, WellFormed};
    assert_eq!(fields(Hints::NONE), (None, None, None, WellFormed));
    assert_eq!(fields(Hints::idempotent()), (None, None, Some(true), WellFormed));
    assert_eq!(fields(Hints::read_only()), (Some(true), None, None, WellFormed));
    assert_eq!(fields(Hints::read_only().with_malformed_hint()), (Some(true), None, None, Malformed));
}

#[test]
fn join_is_the_sticky_maximum() {
    use Delivery::{Refused, Unknown, Unsent};
    #[rustfmt::skip]
    let table = [
        (Unsent,  [Unsent,  Refused, Unknown]),
        (Refused, [Refused, Refused, Unknown]),
        (Unknown, [Unknown, Unknown, Unknown]),
    ];
    let all = [Unsent, Refused, Unknown];
    for (one, row) in table {
        for (other, joined) in all.into_iter().zip(row) {
            assert_eq!(one.join(other), joined);
        }
    }
}

#[test]
fn join_obeys_the_laws_of_a_semilattice() {
    let all = [Delivery::Unsent, Delivery::Refused, Delivery::Unknown];
    for a in all {
        assert_eq!(a.join(a), a);
        assert_eq!(Delivery::Unsent.join(a), a);
        assert_eq!(Delivery::Unknown.join(a), Delivery::Unknown);
        for b in all {
            assert_eq!(a.join(b), b.join(a));
            assert!(a.join(b) >= a);
            for c in all {
                assert_eq!(a.join(b).join(c), a.join(b.join(c)));
            }
        }
    }
}
