use mcp_tool::{
    CatalogTool, ConservativePolicy, ReplayPolicy, Trust,
    mcp_discovery::DeclaredHints,
    policy_hints,
    replay_policy::{Checkpoint, Decision, Definition, FailedAttempt, Hints, Reason},
};

use super::Advice;

/// One tool, and what becomes of a lost call of it.
#[derive(Clone, Debug)]
pub struct AuditedTool {
    /// Its exact name.
    pub name: String,
    /// Its hints, as the server declares them; none when it has no annotations.
    pub hints: Option<DeclaredHints>,
    /// What the policy says of a call that may have run, under double trust.
    pub decision: Decision,
    /// What its author could declare; none where a lost call is recovered.
    pub advice: Option<Advice>,
    /// Its place in the listing, counted from 0.
    pub(super) index: usize,
}

impl AuditedTool {
    pub(super) fn of(tool: &CatalogTool, place: usize) -> Self {
        let definition = if tool.is_ambiguous() { Definition::Ambiguous } else { Definition::Same };
        let decision = verdict(tool.name(), policy_hints(tool.hints()), definition);
        Self {
            name: tool.name().to_owned(),
            hints: tool.hints(),
            decision,
            advice: Advice::on(decision, tool.hints()),
            index: place,
        }
    }

    /// Whether a lost call that may have run is sent again, under double trust.
    pub fn is_recovered(&self) -> bool {
        self.decision == Decision::Replay
    }

    /// Why it is not; none where it is.
    pub fn reason(&self) -> Option<Reason> {
        match self.decision {
            Decision::Replay => None,
            Decision::Deny(reason) => Some(reason),
        }
    }

    /// Its place in the listing, counted from 0.
    pub fn place(&self) -> usize {
        self.index
    }
}

/// Asks the default policy what it is asked of a lost call, at both checkpoints, with the same facts at
/// both.
pub(crate) fn verdict(tool: &str, hints: Option<Hints>, definition: Definition) -> Decision {
    let policy = ConservativePolicy::default();
    let at = |checkpoint| {
        let attempt = FailedAttempt::new(tool, checkpoint)
            .with_trust(Trust::BOTH)
            .with_trust_at_start(Trust::BOTH)
            .with_hints(hints)
            .with_definition(definition);
        policy.decide(&attempt)
    };
    match at(Checkpoint::BeforeReconnect) {
        Decision::Replay => at(Checkpoint::BeforeReplay),
        denied => denied,
    }
}
