use mcp_tool::{
    mcp_discovery::{DeclaredHints, Hint},
    replay_policy::{Decision, Hints, Reason},
};

/// What an author could do so that lost calls of a tool are recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Declare something: nothing is declared.
    Declare,
    /// Decide on `idempotentHint`, which is absent.
    DecideIdempotent,
    /// Take back `idempotentHint: false`, or that the tool only reads.
    LeaveOutNotIdempotent,
    /// Take back `destructiveHint: true`, or that the tool only reads.
    LeaveOutDestructive,
    /// Give each hint once, as a boolean.
    UseBooleans,
    /// List the name once.
    ListOnce,
    /// Nothing: the tool is declared unsafe to repeat.
    AsDeclared,
}

impl Advice {
    pub(super) fn on(decision: Decision, hints: Option<DeclaredHints>) -> Option<Self> {
        let Decision::Deny(reason) = decision else { return None };
        let hints = hints.unwrap_or_default();
        Some(match reason {
            Reason::Unannotated => Self::Declare,
            Reason::MalformedHints => Self::UseBooleans,
            Reason::AmbiguousTool => Self::ListOnce,
            Reason::ContradictoryHints if hints.destructive == Hint::Declared(true) => {
                Self::LeaveOutDestructive
            }
            Reason::ContradictoryHints => Self::LeaveOutNotIdempotent,
            Reason::NotDeclaredSafe if hints.idempotent == Hint::Absent => Self::DecideIdempotent,
            _ => Self::AsDeclared,
        })
    }

    /// The advice, in one line.
    pub fn text(self) -> &'static str {
        match self {
            Self::Declare => "declare readOnlyHint: true if it only reads, else idempotentHint",
            Self::DecideIdempotent => {
                "declare idempotentHint: true if a second run changes nothing, else false"
            }
            Self::LeaveOutNotIdempotent => "if it only reads, declare idempotentHint: true or leave it out",
            Self::LeaveOutDestructive => {
                "if it only reads, declare readOnlyHint: true alone, else readOnlyHint: false"
            }
            Self::UseBooleans => "give each hint once, as true or false",
            Self::ListOnce => "list the name once",
            Self::AsDeclared => "none: it is declared unsafe to repeat",
        }
    }

    /// The hints that an author who follows it declares, where that makes a lost call recoverable; none
    /// where no hint does.
    pub fn followed(self, hints: Hints) -> Option<Hints> {
        match self {
            Self::Declare => Some(Hints::read_only()),
            Self::DecideIdempotent => Some(Hints { idempotent: Some(true), ..hints }),
            Self::LeaveOutNotIdempotent => Some(Hints { idempotent: None, ..hints }),
            Self::LeaveOutDestructive => Some(Hints::read_only()),
            Self::UseBooleans => Some(Hints::idempotent()),
            Self::ListOnce | Self::AsDeclared => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_tool::replay_policy::Definition;

    use super::{super::tool::verdict, *};

    /// All combinations of the three hints.
    fn all() -> impl Iterator<Item = DeclaredHints> {
        const VALUES: [Hint; 4] =
            [Hint::Absent, Hint::Declared(true), Hint::Declared(false), Hint::Malformed];
        VALUES.into_iter().flat_map(|read_only| {
            VALUES.into_iter().flat_map(move |destructive| {
                VALUES.into_iter().map(move |idempotent| DeclaredHints { read_only, destructive, idempotent })
            })
        })
    }

    #[test]
    fn following_the_advice_makes_a_lost_call_recoverable_and_only_what_is_declared_unsafe_has_none() {
        let mut advised = 0;
        for declared in all() {
            let hints = mcp_tool::policy_hints(Some(declared)).unwrap();
            let decision = verdict("put", Some(hints), Definition::Same);
            let Some(advice) = Advice::on(decision, Some(declared)) else {
                assert_eq!(decision, Decision::Replay);
                continue;
            };
            match advice.followed(hints) {
                Some(better) => {
                    assert_eq!(
                        verdict("put", Some(better), Definition::Same),
                        Decision::Replay,
                        "{declared:?}"
                    );
                    advised += 1;
                }
                None => assert_eq!(declared.idempotent, Hint::Declared(false), "{declared:?}"),
            }
        }
        assert_eq!(advised, 37 + 11, "of 64 combinations, 10 are recovered and 6 are declared unsafe");
    }

    #[test]
    fn a_tool_without_annotations_is_advised_to_declare_something() {
        let decision = verdict("put", None, Definition::Same);
        assert_eq!(Advice::on(decision, None), Some(Advice::Declare));
        let decision = verdict("put", Some(Hints::idempotent()), Definition::Ambiguous);
        assert_eq!(Advice::on(decision, None), Some(Advice::ListOnce));
    }
}
