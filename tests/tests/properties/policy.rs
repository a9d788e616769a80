//! The default policy against its rule said again, over settings and attempts of any kind.
//!
//! The table in replay-policy's own tests is complete over one tool, one server and the default limits. This is
//! about the rest: overrides for other tools and servers, any limits, any counts, and all switches together.

use mcp_tool::{
    ConservativePolicy, ReplayPolicy, Trust,
    replay_policy::{
        Checkpoint, Decision, Definition, Delivery, FailedAttempt, Fence, HintForm, Hints, Reason,
    },
};
use proptest::{collection::vec, option, prelude::Strategy, prop_assert_eq, proptest, sample::select};

/// The settings of a policy.
#[derive(Clone, Debug)]
struct Settings {
    max_replays: u32,
    resends_unsent: bool,
    believes_refusals: bool,
    needs_fence: bool,
    never: Vec<Named>,
    safe: Vec<Named>,
}

/// A tool, of one server or of all.
type Named = (Option<&'static str>, &'static str);

/// What is asked about.
#[derive(Clone, Debug)]
struct Facts {
    server: Option<&'static str>,
    tool: &'static str,
    checkpoint: Checkpoint,
    delivery: Delivery,
    trust: Trust,
    trust_then: Trust,
    hints: Option<Hints>,
    definition: Definition,
    fence: Fence,
    counts: [u32; 3],
}

fn settings() -> impl Strategy<Value = Settings> {
    let switches = (proptest::bool::ANY, proptest::bool::ANY, proptest::bool::ANY);
    (count(), switches, vec(named(), 0..3), vec(named(), 0..3)).prop_map(
        |(max_replays, switches, never, safe)| {
            let (resends_unsent, believes_refusals, needs_fence) = switches;
            Settings { max_replays, resends_unsent, believes_refusals, needs_fence, never, safe }
        },
    )
}

fn facts() -> impl Strategy<Value = Facts> {
    let trust = || {
        select(vec![
            Trust::NONE,
            Trust::NONE.with_trusted_server(),
            Trust::NONE.with_trusted_workspace(),
            Trust::BOTH,
            // Or hardly anything else would ever be looked at.
            Trust::BOTH,
        ])
    };
    let definitions = [
        Definition::Same,
        Definition::Changed,
        Definition::SchemaChanged,
        Definition::Ambiguous,
        Definition::Same,
    ];
    let place = (server(), tool(), select(vec![Checkpoint::BeforeReconnect, Checkpoint::BeforeReplay]));
    let sent = select(vec![Delivery::Unsent, Delivery::Refused, Delivery::Unknown]);
    let listed = (hints(), select(definitions.to_vec()), select(vec![Fence::None, Fence::GroupGone]));
    (place, sent, (trust(), trust()), listed, [count(), count(), count()]).prop_map(
        |((server, tool, checkpoint), delivery, (trust, trust_then), (hints, definition, fence), counts)| {
            Facts { server, tool, checkpoint, delivery, trust, trust_then, hints, definition, fence, counts }
        },
    )
}

fn server() -> impl Strategy<Value = Option<&'static str>> {
    option::of(select(vec!["files", "mail"]))
}

fn tool() -> impl Strategy<Value = &'static str> {
    select(vec!["put", "Put", "get"])
}

fn named() -> impl Strategy<Value = Named> {
    (server(), tool())
}

fn count() -> impl Strategy<Value = u32> {
    select(vec![0, 1, 2, 3, 4, 7, u32::MAX])
}

fn hints() -> impl Strategy<Value = Option<Hints>> {
    let hint = || option::of(proptest::bool::ANY);
    let form = select(vec![HintForm::WellFormed, HintForm::WellFormed, HintForm::Malformed]);
    option::weighted(
        0.9,
        (hint(), hint(), hint(), form).prop_map(|(read_only, destructive, idempotent, form)| Hints {
            read_only,
            destructive,
            idempotent,
            form,
        }),
    )
}

impl Settings {
    fn policy(&self) -> ConservativePolicy {
        let mut policy = ConservativePolicy::default().with_max_replays(self.max_replays);
        if !self.resends_unsent {
            policy = policy.without_resending_unsent();
        }
        if self.believes_refusals {
            policy = policy.accepting_refusals();
        }
        if self.needs_fence {
            policy = policy.requiring_fence();
        }
        for (server, tool) in &self.never {
            policy = match server {
                Some(server) => policy.with_never_on(*server, *tool),
                None => policy.with_never(*tool),
            };
        }
        for (server, tool) in &self.safe {
            policy = match server {
                Some(server) => policy.with_safe_on(*server, *tool),
                None => policy.with_safe(*tool),
            };
        }
        policy
    }
}

impl Facts {
    fn attempt(&self) -> FailedAttempt {
        let [attempts, replays, resends] = self.counts;
        let attempt = FailedAttempt::new(self.tool, self.checkpoint)
            .with_delivery(self.delivery)
            .with_trust(self.trust)
            .with_trust_at_start(self.trust_then)
            .with_hints(self.hints)
            .with_definition(self.definition)
            .with_fence(self.fence)
            .with_attempts(attempts)
            .with_replays(replays)
            .with_resends(resends);
        match self.server {
            Some(server) => attempt.with_server(server),
            None => attempt,
        }
    }
}

/// What the rule says, read from the document, not from the code.
fn rule(policy: &Settings, facts: &Facts) -> Result<(), Reason> {
    let [_, replays, resends] = facts.counts;
    // Nobody knows which server this is: it may be the one that is ruled out, and is not one that is vouched for.
    let never = policy.never.iter().any(|(server, tool)| {
        *tool == facts.tool && (server.is_none() || facts.server.is_none() || *server == facts.server)
    });
    let vouched = policy
        .safe
        .iter()
        .any(|(server, tool)| *tool == facts.tool && (server.is_none() || *server == facts.server));
    let relisted = facts.checkpoint == Checkpoint::BeforeReplay;
    if never {
        return Err(Reason::OperatorNever);
    }
    if facts.definition == Definition::Ambiguous {
        return Err(Reason::AmbiguousTool);
    }
    if facts.delivery == Delivery::Unsent && policy.resends_unsent {
        return match () {
            () if facts.trust_then == Trust::BOTH && facts.trust != Trust::BOTH => {
                Err(Reason::TrustWithdrawn)
            }
            () if relisted && facts.definition != Definition::Same => Err(Reason::ToolChanged),
            () if resends >= 3 => Err(Reason::ResendLimit),
            () => Ok(()),
        };
    }
    if facts.trust != Trust::BOTH {
        let server = facts.trust.server_trusted();
        return Err(if server { Reason::WorkspaceUntrusted } else { Reason::ServerUntrusted });
    }
    let believed = facts.delivery == Delivery::Refused && policy.believes_refusals;
    let verdict = hints_say(facts.hints);
    if !vouched && !believed {
        verdict?;
    }
    if relisted && facts.definition == Definition::SchemaChanged {
        return Err(Reason::ToolChanged);
    }
    let reads = verdict.is_ok() && facts.hints.is_some_and(|hints| hints.read_only == Some(true));
    if policy.needs_fence && relisted && facts.fence == Fence::None && !reads {
        return Err(Reason::NotFenced);
    }
    let spent = u64::from(replays) + if policy.resends_unsent { 0 } else { u64::from(resends) };
    if spent >= u64::from(policy.max_replays) { Err(Reason::ReplayLimit) } else { Ok(()) }
}

fn hints_say(hints: Option<Hints>) -> Result<(), Reason> {
    let hints = hints.ok_or(Reason::Unannotated)?;
    let (reads, destroys, again) = (hints.read_only, hints.destructive, hints.idempotent);
    if hints.form == HintForm::Malformed {
        Err(Reason::MalformedHints)
    } else if [reads, destroys, again] == [None; 3] {
        Err(Reason::Unannotated)
    } else if reads == Some(true) && (destroys == Some(true) || again == Some(false)) {
        Err(Reason::ContradictoryHints)
    } else if reads == Some(true) || again == Some(true) {
        Ok(())
    } else {
        Err(Reason::NotDeclaredSafe)
    }
}

proptest! {
    #![proptest_config(crate::cases(5_000))]

    #[test]
    fn the_policy_decides_as_the_rule_says(settings in settings(), facts in facts()) {
        let expected = match rule(&settings, &facts) {
            Ok(()) => Decision::Replay,
            Err(reason) => Decision::Deny(reason),
        };
        prop_assert_eq!(settings.policy().decide(&facts.attempt()), expected);
    }
}
