//! The gate, written a second time as a flat list of objections, held against the first over the
//! whole cross product of facts and switches.

use std::collections::HashSet;

use replay_policy::{
    Checkpoint, ConservativePolicy, Decision, Definition, Delivery, FailedAttempt, Fence, HintForm, Hints,
    Reason, ReplayPolicy, Trust,
};

/// How the policy is set up.
#[derive(Clone, Copy, Debug)]
struct Switches {
    resends_unsent: bool,
    accepts_refusals: bool,
    never: bool,
    safe: bool,
    fence: bool,
}

/// Hints in three letters: read-only, destructive, idempotent, each true, false or absent.
fn letters(hints: Hints) -> [u8; 3] {
    [hints.read_only, hints.destructive, hints.idempotent]
        .map(|hint| hint.map_or(b'-', |given| if given { b't' } else { b'f' }))
}

const NO_HINT: [u8; 3] = *b"---";
const CONTRADICTORY: [[u8; 3]; 5] = [*b"tt-", *b"ttt", *b"ttf", *b"t-f", *b"tff"];
#[rustfmt::skip]
const DECLARED_SAFE: [[u8; 3]; 10] = [
    *b"t--", *b"t-t", *b"tf-", *b"tft", *b"--t", *b"-tt", *b"-ft", *b"f-t", *b"ftt", *b"fft",
];

fn expected(policy: Switches, facts: &FailedAttempt) -> Decision {
    let first_delivery = facts.delivery() == Delivery::Unsent && policy.resends_unsent;
    let in_doubt = !first_delivery;
    let peer_is_believed = facts.delivery() == Delivery::Refused && policy.accepts_refusals;
    let hints_matter = in_doubt && !peer_is_believed && !policy.safe;

    let annotated = facts.hints().is_some();
    let hints = facts.hints().unwrap_or_default();
    let malformed = hints.form == HintForm::Malformed;
    let hints = letters(hints);
    let reads = annotated && !malformed && hints[0] == b't' && DECLARED_SAFE.contains(&hints);

    let relisted = facts.checkpoint() == Checkpoint::BeforeReplay;
    let spent = if policy.resends_unsent { facts.replays() } else { facts.replays() + facts.resends() };

    let objections = [
        (policy.never, Reason::OperatorNever),
        (facts.definition() == Definition::Ambiguous, Reason::AmbiguousTool),
        (
            first_delivery && facts.trust_at_start() == Trust::BOTH && facts.trust() != Trust::BOTH,
            Reason::TrustWithdrawn,
        ),
        (in_doubt && !facts.trust().server_trusted(), Reason::ServerUntrusted),
        (in_doubt && !facts.trust().workspace_trusted(), Reason::WorkspaceUntrusted),
        (hints_matter && malformed, Reason::MalformedHints),
        (hints_matter && (!annotated || hints == NO_HINT), Reason::Unannotated),
        (hints_matter && CONTRADICTORY.contains(&hints), Reason::ContradictoryHints),
        (hints_matter && !DECLARED_SAFE.contains(&hints), Reason::NotDeclaredSafe),
        (relisted && facts.definition() == Definition::SchemaChanged, Reason::ToolChanged),
        (relisted && first_delivery && facts.definition() == Definition::Changed, Reason::ToolChanged),
        (policy.fence && in_doubt && relisted && facts.fence() == Fence::None && !reads, Reason::NotFenced),
        (in_doubt && spent >= 3, Reason::ReplayLimit),
        (first_delivery && facts.resends() >= 3, Reason::ResendLimit),
    ];
    objections
        .into_iter()
        .find(|(applies, _)| *applies)
        .map_or(Decision::Replay, |(_, reason)| Decision::Deny(reason))
}

fn policy(switches: Switches) -> ConservativePolicy {
    let mut policy = ConservativePolicy::default();
    if !switches.resends_unsent {
        policy = policy.without_resending_unsent();
    }
    if switches.accepts_refusals {
        policy = policy.accepting_refusals();
    }
    if switches.never {
        policy = policy.with_never_on("files", "put");
    }
    if switches.fence {
        policy = policy.requiring_fence();
    }
    if switches.safe {
        policy = policy.with_safe_on("files", "put");
    }
    policy
}

fn every_setup() -> impl Iterator<Item = Switches> {
    // A fence is looked at last but one, so half of the other switches are enough beside it.
    (0..16).chain([16, 18, 24, 26]).map(|bits| Switches {
        resends_unsent: bits & 1 != 0,
        accepts_refusals: bits & 2 != 0,
        never: bits & 4 != 0,
        safe: bits & 8 != 0,
        fence: bits & 16 != 0,
    })
}

fn every_hints() -> Vec<Option<Hints>> {
    let each = [None, Some(true), Some(false)];
    let mut all = vec![None];
    for read_only in each {
        for destructive in each {
            for idempotent in each {
                for form in [HintForm::WellFormed, HintForm::Malformed] {
                    all.push(Some(Hints { read_only, destructive, idempotent, form }));
                }
            }
        }
    }
    all
}

fn every_delivery_listing_and_count() -> Vec<FailedAttempt> {
    let mut all = Vec::new();
    for checkpoint in [Checkpoint::BeforeReconnect, Checkpoint::BeforeReplay] {
        for delivery in [Delivery::Unsent, Delivery::Refused, Delivery::Unknown] {
            for definition in
                [Definition::Same, Definition::Changed, Definition::SchemaChanged, Definition::Ambiguous]
            {
                for (replays, resends) in [(0, 0), (2, 0), (1, 2), (3, 0), (0, 3), (4, 4)] {
                    all.push(
                        FailedAttempt::new("put", checkpoint)
                            .with_server("files")
                            .with_delivery(delivery)
                            .with_definition(definition)
                            .with_attempts(replays + 1)
                            .with_replays(replays)
                            .with_resends(resends),
                    );
                }
            }
        }
    }
    all
}

fn every_attempt() -> Vec<FailedAttempt> {
    let trusts =
        [Trust::NONE, Trust::NONE.with_trusted_server(), Trust::NONE.with_trusted_workspace(), Trust::BOTH];
    let mut all = Vec::new();
    for attempt in every_delivery_listing_and_count() {
        for hints in every_hints() {
            for trust in trusts {
                for at_start in trusts {
                    all.push(
                        attempt.clone().with_hints(hints).with_trust(trust).with_trust_at_start(at_start),
                    );
                }
            }
        }
    }
    all
}

#[test]
fn the_gate_agrees_with_a_flat_list_of_objections_on_every_combination() {
    let attempts = every_attempt();
    assert_eq!(attempts.len(), 2 * 3 * 4 * 6 * 55 * 4 * 4);
    let mut verdicts = HashSet::new();
    for switches in every_setup() {
        let policy = policy(switches);
        let fences = if switches.fence { &[Fence::None, Fence::GroupGone][..] } else { &[Fence::None] };
        for fence in fences {
            for attempt in &attempts {
                let attempt = attempt.clone().with_fence(*fence);
                let decision = policy.decide(&attempt);
                assert_eq!(decision, expected(switches, &attempt), "{switches:?} {attempt:?}");
                verdicts.insert(decision);
            }
        }
    }
    let reached = Reason::fixed().count() + 1;
    assert_eq!(verdicts.len(), reached, "{verdicts:?}");
}

#[test]
fn the_gate_does_not_read_what_it_has_no_rule_for() {
    let gate = ConservativePolicy::default();
    for attempt in every_attempt() {
        let verdict = gate.decide(&attempt);
        let fenced = attempt.with_fence(Fence::GroupGone).with_attempts(8);
        assert_eq!(gate.decide(&fenced), verdict);
    }
}
