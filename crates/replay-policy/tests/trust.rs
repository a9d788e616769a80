//! Trust that was there when the call began, and trust that is there now.

use replay_policy::{
    Checkpoint, ConservativePolicy, Decision, Delivery, FailedAttempt, Hints, Reason, ReplayPolicy, Trust,
};

const REPLAY: Decision = Decision::Replay;
const WITHDRN: Decision = Decision::Deny(Reason::TrustWithdrawn);

const NEITHER: Trust = Trust::NONE;
const SERVER: Trust = Trust::NONE.with_trusted_server();
const WORKSPACE: Trust = Trust::NONE.with_trusted_workspace();
const BOTH: Trust = Trust::BOTH;

#[test]
fn trust_holds_what_was_put_into_it() {
    #[rustfmt::skip]
    let table = [
        //         server, workspace, both
        (NEITHER,   false, false,     false),
        (SERVER,    true,  false,     false),
        (WORKSPACE, false, true,      false),
        (BOTH,      true,  true,      true ),
    ];
    for (trust, server, workspace, both) in table {
        assert_eq!(trust.server_trusted(), server);
        assert_eq!(trust.workspace_trusted(), workspace);
        assert_eq!(trust.is_trusted_server_in_trusted_workspace(), both);
    }
    assert_eq!(Trust::default(), NEITHER);
    assert_eq!(SERVER.with_trusted_workspace(), BOTH);
    assert_eq!(WORKSPACE.with_trusted_server(), BOTH);
}

#[test]
fn an_unsent_call_that_began_under_double_trust_needs_it_still() {
    #[rustfmt::skip]
    let table = [
        // at the start | now: neither, server, workspace, both
        (NEITHER,   [REPLAY,  REPLAY,  REPLAY,  REPLAY]),
        (SERVER,    [REPLAY,  REPLAY,  REPLAY,  REPLAY]),
        (WORKSPACE, [REPLAY,  REPLAY,  REPLAY,  REPLAY]),
        (BOTH,      [WITHDRN, WITHDRN, WITHDRN, REPLAY]),
    ];
    for checkpoint in [Checkpoint::BeforeReconnect, Checkpoint::BeforeReplay] {
        for (start, row) in table {
            for (now, expected) in [NEITHER, SERVER, WORKSPACE, BOTH].into_iter().zip(row) {
                let attempt = FailedAttempt::new("put", checkpoint)
                    .with_delivery(Delivery::Unsent)
                    .with_trust_at_start(start)
                    .with_trust(now);
                assert_eq!(ConservativePolicy::default().decide(&attempt), expected, "{attempt:?}");
            }
        }
    }
}

#[test]
fn trust_at_the_start_does_not_carry_a_call_in_doubt() {
    let policy = ConservativePolicy::default().accepting_refusals().with_safe("put");
    for delivery in [Delivery::Refused, Delivery::Unknown] {
        let attempt = FailedAttempt::new("put", Checkpoint::BeforeReplay)
            .with_delivery(delivery)
            .with_trust_at_start(BOTH)
            .with_hints(Some(Hints::idempotent()));
        for (now, reason) in [
            (NEITHER, Reason::ServerUntrusted),
            (WORKSPACE, Reason::ServerUntrusted),
            (SERVER, Reason::WorkspaceUntrusted),
        ] {
            let attempt = attempt.clone().with_trust(now);
            assert_eq!(policy.decide(&attempt), Decision::Deny(reason));
        }
    }
}
