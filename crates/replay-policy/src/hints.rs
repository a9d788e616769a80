/// The annotations of a tool that say whether running it again is harmless.
///
/// `None` is a hint that the server did not give. The defaults that the MCP specification assigns
/// to absent hints (`destructiveHint: true`, the others `false`) are not filled in: a guess is not
/// a declaration. `openWorldHint` says nothing about repetition and is not represented.
///
/// The fields are open, so that a host fills them from its own annotations type:
///
/// ```
/// use replay_policy::Hints;
///
/// let hints = Hints { destructive: Some(false), ..Hints::idempotent() };
/// assert_eq!(hints.read_only, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hints {
    /// `readOnlyHint`: the tool does not modify its environment.
    pub read_only: Option<bool>,
    /// `destructiveHint`: the tool may destroy, rather than only add.
    pub destructive: Option<bool>,
    /// `idempotentHint`: the same call again has no further effect.
    pub idempotent: Option<bool>,
    /// Whether each hint that was given had the JSON type of a hint. Default:
    /// [`HintForm::WellFormed`].
    pub form: HintForm,
}

/// Whether the hints of a tool came as the booleans that the protocol asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HintForm {
    /// Every hint that was given is a boolean.
    #[default]
    WellFormed,
    /// At least one hint had another JSON type (`"true"`, `1`). It counts as absent, and the
    /// hints beside it lose their credit.
    Malformed,
}

impl Hints {
    /// No hint at all: annotations that hold, say, only a title.
    pub const NONE: Self =
        Self { read_only: None, destructive: None, idempotent: None, form: HintForm::WellFormed };

    /// `idempotentHint: true` and nothing else.
    #[must_use]
    pub const fn idempotent() -> Self {
        Self { idempotent: Some(true), ..Self::NONE }
    }

    /// `readOnlyHint: true` and nothing else.
    #[must_use]
    pub const fn read_only() -> Self {
        Self { read_only: Some(true), ..Self::NONE }
    }

    /// Records that a hint had the wrong JSON type; leave its field `None`.
    #[must_use]
    pub const fn with_malformed_hint(self) -> Self {
        Self { form: HintForm::Malformed, ..self }
    }
}
