//! The rules that a decision went through. The policy tells one reason, so it is asked more than once: the
//! fact that fails is put right, and it is asked again, until nothing fails. To see whether a rule is asked
//! at all, its fact is spoilt among good ones.

use mcp_tool::{
    ReplayPolicy, Trust,
    replay_policy::{Checkpoint, Decision, Definition, Delivery, FailedAttempt, Fence, Hints, Reason},
};

use crate::command::policy::PolicyOptions;

/// What the policy is told of a lost call.
#[derive(Clone)]
pub(super) struct Facts {
    pub(super) policy: PolicyOptions,
    pub(super) tool: String,
    pub(super) delivery: Delivery,
    pub(super) trust: Trust,
    pub(super) trust_at_start: Trust,
    pub(super) hints: Option<Hints>,
    pub(super) definition: Definition,
    pub(super) fence: Fence,
    pub(super) replays: u32,
    pub(super) resends: u32,
}

/// One rule on the way to a decision.
pub(super) struct Step {
    /// What it asks for.
    pub(super) rule: &'static str,
    /// The reasons that it can give.
    pub(super) reasons: &'static [Reason],
    /// What became of it before reconnecting.
    pub(super) before_reconnect: Status,
    /// What became of it before sending again.
    pub(super) before_replay: Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Passed,
    Failed(Reason),
    NotAsked,
}

/// The rules and what they can answer, in the order of [`Reason::fixed`].
const RULES: [(&str, &[Reason]); 10] = [
    ("the operator has not ruled the tool out", &[Reason::OperatorNever]),
    ("the name is listed once", &[Reason::AmbiguousTool]),
    ("a double trust that the call began under still holds", &[Reason::TrustWithdrawn]),
    ("the server is trusted", &[Reason::ServerUntrusted]),
    ("the workspace is trusted", &[Reason::WorkspaceUntrusted]),
    (
        "the hints declare that repeating it is safe",
        &[Reason::MalformedHints, Reason::Unannotated, Reason::ContradictoryHints, Reason::NotDeclaredSafe],
    ),
    ("the tool is still the same", &[Reason::ToolChanged]),
    ("the old server has gone, or the tool only reads", &[Reason::NotFenced]),
    ("replays are left", &[Reason::ReplayLimit]),
    ("resends are left", &[Reason::ResendLimit]),
];

impl Facts {
    /// What the policy says, asked at both checkpoints with these facts.
    pub(super) fn decide(&self) -> Decision {
        match self.decide_at(Checkpoint::BeforeReconnect) {
            Decision::Replay => self.decide_at(Checkpoint::BeforeReplay),
            denied => denied,
        }
    }

    fn decide_at(&self, checkpoint: Checkpoint) -> Decision {
        let attempt = FailedAttempt::new(self.tool.as_str(), checkpoint)
            .with_delivery(self.delivery)
            .with_trust(self.trust)
            .with_trust_at_start(self.trust_at_start)
            .with_hints(self.hints)
            .with_definition(self.definition)
            .with_fence(self.fence)
            .with_attempts(self.replays.saturating_add(1))
            .with_replays(self.replays)
            .with_resends(self.resends);
        self.policy.policy().decide(&attempt)
    }

    /// Every rule, in order, and what became of it at both checkpoints.
    pub(super) fn path(&self) -> Vec<Step> {
        let before_reconnect = self.statuses(Checkpoint::BeforeReconnect);
        let before_replay = self.statuses(Checkpoint::BeforeReplay);
        let statuses = before_reconnect.into_iter().zip(before_replay);
        let steps = RULES.into_iter().zip(statuses);
        steps
            .map(|((rule, reasons), (before_reconnect, before_replay))| Step {
                rule,
                reasons,
                before_reconnect,
                before_replay,
            })
            .collect()
    }

    fn statuses(&self, checkpoint: Checkpoint) -> [Status; RULES.len()] {
        let (mut good, mut failures) = (self.clone(), Vec::new());
        while let Decision::Deny(reason) = good.decide_at(checkpoint) {
            // A reason that cannot be put right is told once.
            if failures.contains(&reason) {
                break;
            }
            failures.push(reason);
            good = good.repaired(reason);
        }
        let asks =
            |reason: &Reason| good.clone().spoilt(*reason).decide_at(checkpoint) == Decision::Deny(*reason);
        RULES.map(|(_, reasons)| match reasons.iter().find(|reason| failures.contains(reason)) {
            Some(reason) => Status::Failed(*reason),
            None if reasons.iter().any(asks) => Status::Passed,
            None => Status::NotAsked,
        })
    }

    /// The same, with what stands behind this reason put right.
    fn repaired(mut self, reason: Reason) -> Self {
        match reason {
            Reason::OperatorNever => self.policy = self.policy.without_never(),
            Reason::AmbiguousTool | Reason::ToolChanged => self.definition = Definition::Same,
            Reason::TrustWithdrawn => self.trust = Trust::BOTH,
            Reason::ServerUntrusted => self.trust = self.trust.with_trusted_server(),
            Reason::WorkspaceUntrusted => self.trust = self.trust.with_trusted_workspace(),
            Reason::MalformedHints
            | Reason::Unannotated
            | Reason::ContradictoryHints
            | Reason::NotDeclaredSafe => self.hints = Some(Hints::idempotent()),
            Reason::NotFenced => self.fence = Fence::GroupGone,
            Reason::ReplayLimit => {
                (self.replays, self.resends) = (0, 0);
                self.policy = self.policy.with_a_replay();
            }
            Reason::ResendLimit => self.resends = 0,
            _ => {}
        }
        self
    }

    /// The same, with what stands behind this reason gone wrong.
    fn spoilt(mut self, reason: Reason) -> Self {
        match reason {
            Reason::OperatorNever => self.policy = self.policy.with_never(&self.tool),
            Reason::AmbiguousTool => self.definition = Definition::Ambiguous,
            Reason::TrustWithdrawn => (self.trust_at_start, self.trust) = (Trust::BOTH, Trust::NONE),
            Reason::ServerUntrusted => self.trust = Trust::NONE,
            Reason::WorkspaceUntrusted => self.trust = Trust::NONE.with_trusted_server(),
            Reason::MalformedHints => self.hints = Some(Hints::idempotent().with_malformed_hint()),
            Reason::Unannotated => self.hints = None,
            Reason::ContradictoryHints => {
                self.hints = Some(Hints { destructive: Some(true), ..Hints::read_only() });
            }
            Reason::NotDeclaredSafe => self.hints = Some(Hints { idempotent: Some(false), ..Hints::NONE }),
            Reason::ToolChanged => self.definition = Definition::SchemaChanged,
            Reason::NotFenced => (self.fence, self.hints) = (Fence::None, Some(Hints::idempotent())),
            Reason::ReplayLimit => self.replays = u32::MAX,
            Reason::ResendLimit => self.resends = u32::MAX,
            _ => {}
        }
        self
    }
}

impl Step {
    /// The reason that it gives, if it fails at one of them.
    pub(super) fn failed(&self) -> Option<Reason> {
        [self.before_reconnect, self.before_replay].into_iter().find_map(|status| match status {
            Status::Failed(reason) => Some(reason),
            Status::Passed | Status::NotAsked => None,
        })
    }

    /// What would have to change so that it passes.
    pub(super) fn change(&self) -> Option<&'static str> {
        Some(match self.failed()? {
            Reason::OperatorNever => "leave out --never",
            Reason::AmbiguousTool => "the server lists the name once",
            Reason::TrustWithdrawn => "trust both again, or confirm the call and make it anew",
            Reason::ServerUntrusted => "--trust-server, or \"trust\": true of the configured server",
            Reason::WorkspaceUntrusted => "--trust-workspace, or `mcp-tool trust add` in the folder",
            Reason::MalformedHints => "every hint is a boolean; or --safe",
            Reason::Unannotated => "the tool declares readOnlyHint or idempotentHint: true; or --safe",
            Reason::ContradictoryHints => {
                "a read-only tool is neither destructive nor not idempotent; or --safe"
            }
            Reason::NotDeclaredSafe => "the tool declares readOnlyHint or idempotentHint: true; or --safe",
            Reason::ToolChanged => "the call is made anew, for the tool as it is now",
            Reason::NotFenced => "the old server is known to have gone",
            Reason::ReplayLimit => "a higher --max-replays",
            Reason::ResendLimit => "the call is made anew",
            _ => "what the policy asks for",
        })
    }
}

impl Status {
    /// The word for programs.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::NotAsked => "not_asked",
        }
    }

    /// The word for people.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "FAILED",
            Self::NotAsked => "-",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    fn policy(line: &str) -> PolicyOptions {
        let command = PolicyOptions::augment_args(clap::Command::new("policy").no_binary_name(true));
        PolicyOptions::from_arg_matches(&command.get_matches_from(line.split_whitespace())).unwrap()
    }

    /// Many combinations of facts.
    fn all() -> Vec<Facts> {
        let mut all = Vec::new();
        let hints = [
            None,
            Some(Hints::NONE),
            Some(Hints::read_only()),
            Some(Hints { destructive: Some(true), ..Hints::read_only() }),
            Some(Hints { idempotent: Some(false), ..Hints::NONE }),
            Some(Hints::idempotent()),
            Some(Hints::idempotent().with_malformed_hint()),
        ];
        let trusts = [
            Trust::NONE,
            Trust::NONE.with_trusted_server(),
            Trust::NONE.with_trusted_workspace(),
            Trust::BOTH,
        ];
        let definitions =
            [Definition::Same, Definition::Changed, Definition::SchemaChanged, Definition::Ambiguous];
        let lines =
            ["", "--never=put", "--safe=put", "--accept-refusals", "--no-resend-unsent", "--max-replays=0"];
        for policy in lines.map(policy) {
            for delivery in [Delivery::Unknown, Delivery::Unsent, Delivery::Refused] {
                for (trust, trust_at_start) in trusts.iter().flat_map(|now| trusts.map(|then| (*now, then))) {
                    for (hints, definition) in hints.iter().flat_map(|h| definitions.map(|d| (*h, d))) {
                        for replays in [0, 3] {
                            all.push(Facts {
                                policy: policy.clone(),
                                tool: "put".into(),
                                delivery,
                                trust,
                                trust_at_start,
                                hints,
                                definition,
                                fence: Fence::None,
                                replays,
                                resends: replays,
                            });
                        }
                    }
                }
            }
        }
        all
    }

    /// The reasons of the rules that fail at one checkpoint.
    fn failures(steps: &[Step], at: impl Fn(&Step) -> Status) -> Vec<Reason> {
        let failed = |step: &Step| match at(step) {
            Status::Failed(reason) => Some(reason),
            Status::Passed | Status::NotAsked => None,
        };
        steps.iter().filter_map(failed).collect()
    }

    #[test]
    fn the_first_rule_that_fails_is_the_reason_of_the_decision_and_without_one_it_is_a_replay() {
        for facts in all() {
            let steps = facts.path();
            let before = failures(&steps, |step| step.before_reconnect);
            let after = failures(&steps, |step| step.before_replay);
            let first = before.iter().chain(&after).next();
            let decision = first.map_or(Decision::Replay, |reason| Decision::Deny(*reason));
            assert_eq!(facts.decide(), decision);
        }
    }

    #[test]
    fn putting_right_what_fails_leads_to_a_replay() {
        for facts in all() {
            let mut good = facts.clone();
            for reason in facts.path().iter().filter_map(Step::failed) {
                good = good.repaired(reason);
            }
            assert_eq!(good.decide(), Decision::Replay);
        }
    }

    #[test]
    fn putting_right_all_but_one_leads_to_a_denial() {
        for facts in all() {
            let failed: Vec<_> = facts.path().iter().filter_map(Step::failed).collect();
            for left in &failed {
                let mut others = facts.clone();
                for reason in failed.iter().filter(|reason| *reason != left) {
                    others = others.repaired(*reason);
                }
                // A trust that is put right for one reason is put right for the other.
                let trusts = [Reason::ServerUntrusted, Reason::WorkspaceUntrusted, Reason::TrustWithdrawn];
                let definitions = [Reason::AmbiguousTool, Reason::ToolChanged];
                let alike =
                    |reasons: &[Reason]| failed.iter().filter(|reason| reasons.contains(reason)).count() > 1;
                if !alike(&trusts) && !alike(&definitions) {
                    assert_eq!(others.decide(), Decision::Deny(*left));
                }
            }
        }
    }

    #[test]
    fn the_rules_that_are_asked_are_those_of_the_delivery_and_the_switches() {
        let good = |line: &str, delivery| Facts {
            policy: policy(line),
            tool: "put".into(),
            delivery,
            trust: Trust::BOTH,
            trust_at_start: Trust::BOTH,
            hints: Some(Hints::idempotent()),
            definition: Definition::Same,
            fence: Fence::None,
            replays: 0,
            resends: 0,
        };
        // One letter a rule, in their order: + passed, - not asked.
        #[rustfmt::skip]
        let rows = [
            ("",                   Delivery::Unknown, "++-+++--+-", "++-++++-+-"),
            ("--safe=put",         Delivery::Unknown, "++-++---+-", "++-++-+-+-"),
            ("",                   Delivery::Refused, "++-+++--+-", "++-++++-+-"),
            ("--accept-refusals",  Delivery::Refused, "++-++---+-", "++-++-+-+-"),
            ("",                   Delivery::Unsent,  "+++------+", "+++---+--+"),
            ("--no-resend-unsent", Delivery::Unsent,  "++-+++--+-", "++-++++-+-"),
        ];
        let letter = |status| match status {
            Status::Passed => '+',
            Status::NotAsked => '-',
            Status::Failed(_) => 'x',
        };
        for (line, delivery, before_reconnect, before_replay) in rows {
            let steps = good(line, delivery).path();
            let before: String = steps.iter().map(|step| letter(step.before_reconnect)).collect();
            let after: String = steps.iter().map(|step| letter(step.before_replay)).collect();
            assert_eq!((&*before, &*after), (before_reconnect, before_replay), "{line} {delivery:?}");
        }
    }

    #[test]
    fn every_reason_of_the_policy_belongs_to_one_rule_in_its_order() {
        assert!(RULES.iter().flat_map(|(_, reasons)| *reasons).copied().eq(Reason::fixed()));
    }
}
