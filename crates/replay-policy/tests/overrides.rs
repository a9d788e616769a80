//! What an operator says of a tool, against what the server says.

use replay_policy::{
    Checkpoint, ConservativePolicy, Decision, Delivery, FailedAttempt, Hints, Reason, ReplayPolicy, Trust,
};

const REPLAY: Decision = Decision::Replay;
const NEVER: Decision = Decision::Deny(Reason::OperatorNever);
const UNANNOT: Decision = Decision::Deny(Reason::Unannotated);

const CHECKPOINTS: [Checkpoint; 2] = [Checkpoint::BeforeReconnect, Checkpoint::BeforeReplay];
const DELIVERIES: [Delivery; 3] = [Delivery::Unsent, Delivery::Refused, Delivery::Unknown];

fn attempt(checkpoint: Checkpoint) -> FailedAttempt {
    FailedAttempt::new("put", checkpoint).with_trust(Trust::BOTH)
}

fn on(server: &str, tool: &str) -> FailedAttempt {
    FailedAttempt::new(tool, Checkpoint::BeforeReplay).with_server(server).with_trust(Trust::BOTH)
}

fn hints_that_declare_nothing_safe() -> [Option<Hints>; 6] {
    let destructive = Some(true);
    [
        None,
        Some(Hints::NONE),
        Some(Hints { destructive, ..Hints::NONE }),
        Some(Hints { destructive, ..Hints::read_only() }),
        Some(Hints { idempotent: Some(false), ..Hints::read_only() }),
        Some(Hints::idempotent().with_malformed_hint()),
    ]
}

#[test]
fn safe_stands_in_for_hints_that_do_not_declare_it() {
    let gate = ConservativePolicy::default();
    let vouched = gate.clone().with_safe("put");
    for hints in hints_that_declare_nothing_safe() {
        for delivery in [Delivery::Refused, Delivery::Unknown] {
            for checkpoint in CHECKPOINTS {
                let attempt = attempt(checkpoint).with_delivery(delivery).with_hints(hints);
                assert_eq!(vouched.decide(&attempt), REPLAY);
                assert_ne!(gate.decide(&attempt), REPLAY);
            }
        }
    }
}

#[test]
fn safe_does_not_stand_in_for_trust() {
    let policy = ConservativePolicy::default().with_safe("put");
    for checkpoint in CHECKPOINTS {
        for (trust, reason) in [
            (Trust::NONE, Reason::ServerUntrusted),
            (Trust::NONE.with_trusted_workspace(), Reason::ServerUntrusted),
            (Trust::NONE.with_trusted_server(), Reason::WorkspaceUntrusted),
        ] {
            let attempt = attempt(checkpoint).with_trust(trust);
            assert_eq!(policy.decide(&attempt), Decision::Deny(reason));
        }
    }
}

#[test]
fn never_wins_over_every_delivery_and_over_safe() {
    let policies = [
        ConservativePolicy::default().with_never("put"),
        ConservativePolicy::default().with_never("put").with_safe("put"),
        ConservativePolicy::default().with_safe("put").with_never("put"),
        ConservativePolicy::default()
            .with_never_on("files", "put")
            .with_safe_on("files", "put")
            .with_safe("put"),
        ConservativePolicy::default().with_never("put").accepting_refusals(),
    ];
    for policy in policies {
        for delivery in DELIVERIES {
            for checkpoint in CHECKPOINTS {
                let attempt = attempt(checkpoint)
                    .with_server("files")
                    .with_delivery(delivery)
                    .with_hints(Some(Hints::idempotent()));
                assert_eq!(policy.decide(&attempt), NEVER, "{policy:?}");
            }
        }
    }
}

#[test]
fn an_override_is_for_the_tool_it_names() {
    let policy = ConservativePolicy::default()
        .with_never("drop")
        .with_never_on("files", "erase")
        .with_safe("put")
        .with_safe_on("files", "move");
    #[rustfmt::skip]
    let table = [
        ("files", "drop",  NEVER),
        ("mail",  "drop",  NEVER),
        ("files", "erase", NEVER),
        ("mail",  "erase", UNANNOT),
        ("files", "put",   REPLAY),
        ("mail",  "put",   REPLAY),
        ("files", "move",  REPLAY),
        ("mail",  "move",  UNANNOT),
        ("files", "other", UNANNOT),
        ("files", "Put",   UNANNOT),
        ("files", "puts",  UNANNOT),
        ("files", "",      UNANNOT),
    ];
    for (server, tool, expected) in table {
        assert_eq!(policy.decide(&on(server, tool)), expected, "{server}/{tool}");
    }
}

#[test]
fn several_tools_may_be_named() {
    let policy = ConservativePolicy::default().with_never("a").with_never("b").with_safe("c").with_safe("d");
    for tool in ["a", "b"] {
        assert_eq!(policy.decide(&on("files", tool)), NEVER);
    }
    for tool in ["c", "d"] {
        assert_eq!(policy.decide(&on("files", tool)), REPLAY);
    }
}

#[test]
fn an_attempt_without_a_server_falls_under_every_never_and_under_no_servers_safe() {
    let policy = ConservativePolicy::default().with_never_on("files", "erase").with_safe_on("files", "put");
    let nameless = |tool: &str| FailedAttempt::new(tool, Checkpoint::BeforeReplay).with_trust(Trust::BOTH);
    assert_eq!(policy.decide(&nameless("erase")), NEVER);
    assert_eq!(policy.decide(&nameless("put")), UNANNOT);
}
