use std::fmt;

/// Why a policy denied. Its [`code`](Reason::code) is stable and carries no content of the call.
///
/// In the order in which [`ConservativePolicy`](crate::ConservativePolicy) finds them when several
/// apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// `operator_never`: the operator ruled this tool out.
    OperatorNever,
    /// `ambiguous_tool`: the server lists the name with different definitions.
    AmbiguousTool,
    /// `trust_withdrawn`: the call began under double trust, which no longer holds.
    TrustWithdrawn,
    /// `server_untrusted`: the server is not trusted.
    ServerUntrusted,
    /// `workspace_untrusted`: the workspace is not trusted.
    WorkspaceUntrusted,
    /// `malformed_hints`: a hint of the tool has the wrong JSON type.
    MalformedHints,
    /// `unannotated`: the tool has no annotations, or none of the three hints.
    Unannotated,
    /// `contradictory_hints`: read-only, and also destructive or not idempotent.
    ContradictoryHints,
    /// `not_declared_safe`: the hints declare the tool neither idempotent nor read-only.
    NotDeclaredSafe,
    /// `tool_changed`: the tool is no longer the one that the call was made for.
    ToolChanged,
    /// `not_fenced`: a write, and nothing tells that the server that it was sent to has gone.
    NotFenced,
    /// `replay_limit`: the replays of this call are used up.
    ReplayLimit,
    /// `resend_limit`: the resends of this unsent call are used up.
    ResendLimit,
    /// A code of somebody else's policy: `snake_case`, and without content of the call.
    Custom(&'static str),
}

impl Reason {
    const FIXED: [Self; 13] = [
        Self::OperatorNever,
        Self::AmbiguousTool,
        Self::TrustWithdrawn,
        Self::ServerUntrusted,
        Self::WorkspaceUntrusted,
        Self::MalformedHints,
        Self::Unannotated,
        Self::ContradictoryHints,
        Self::NotDeclaredSafe,
        Self::ToolChanged,
        Self::NotFenced,
        Self::ReplayLimit,
        Self::ResendLimit,
    ];

    /// Every reason of this crate, [`Custom`](Reason::Custom) left out, so that documentation and
    /// its tests can walk them.
    pub fn fixed() -> impl Iterator<Item = Self> {
        Self::FIXED.into_iter()
    }

    /// The stable `snake_case` code, for logs, metrics and callers in other languages.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::OperatorNever => "operator_never",
            Self::AmbiguousTool => "ambiguous_tool",
            Self::TrustWithdrawn => "trust_withdrawn",
            Self::ServerUntrusted => "server_untrusted",
            Self::WorkspaceUntrusted => "workspace_untrusted",
            Self::MalformedHints => "malformed_hints",
            Self::Unannotated => "unannotated",
            Self::ContradictoryHints => "contradictory_hints",
            Self::NotDeclaredSafe => "not_declared_safe",
            Self::ToolChanged => "tool_changed",
            Self::NotFenced => "not_fenced",
            Self::ReplayLimit => "replay_limit",
            Self::ResendLimit => "resend_limit",
            Self::Custom(code) => code,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    /// Numbers the variants. Only this crate can match them without a wildcard, so a new one stops
    /// this from compiling and its number shows whether [`Reason::FIXED`] has it.
    fn number(reason: Reason) -> usize {
        match reason {
            Reason::OperatorNever => 0,
            Reason::AmbiguousTool => 1,
            Reason::TrustWithdrawn => 2,
            Reason::ServerUntrusted => 3,
            Reason::WorkspaceUntrusted => 4,
            Reason::MalformedHints => 5,
            Reason::Unannotated => 6,
            Reason::ContradictoryHints => 7,
            Reason::NotDeclaredSafe => 8,
            Reason::ToolChanged => 9,
            Reason::NotFenced => 10,
            Reason::ReplayLimit => 11,
            Reason::ResendLimit => 12,
            Reason::Custom(_) => 13,
        }
    }

    #[test]
    fn fixed_walks_every_variant_but_custom_in_order() {
        let last = number(Reason::Custom("mine"));
        assert!(Reason::fixed().map(number).eq(0..last));
    }
}
