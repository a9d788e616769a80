use super::Severity;

/// What a finding is about. Its [`id`](Rule::id) is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// `no-annotations`: the tool has no annotations.
    NoAnnotations,
    /// `undecided-hints`: there are annotations, and none of them says whether repeating the tool is safe.
    UndecidedHints,
    /// `contradictory-hints`: read-only, and also destructive or not idempotent.
    ContradictoryHints,
    /// `serialised-defaults`: contradictions that a library wrote, and no author.
    SerialisedDefaults,
    /// `malformed-hint`: a hint is no boolean, or stands twice.
    MalformedHint,
    /// `misplaced-hint`: a hint stands where nobody reads it.
    MisplacedHint,
    /// `read-only-name`: read-only, with a name that says that it writes.
    ReadOnlyName,
    /// `same-hints`: every tool has the same hints.
    SameHints,
    /// `duplicate-name`: a name is listed more than once.
    DuplicateName,
    /// `uncallable-tool`: a tool is listed in a way that it cannot be called.
    UncallableTool,
    /// `invalid-schema`: a schema is no JSON Schema.
    InvalidSchema,
    /// `schema-root`: an input schema whose root is no object.
    SchemaRoot,
    /// `ignored-cursor`: following the cursors leads in a circle.
    IgnoredCursor,
    /// `repeated-cursor`: a cursor comes again, with new tools.
    RepeatedCursor,
    /// `incomplete-list`: a saved list that is not the whole one.
    IncompleteList,
    /// `very-large-list`: more tools, or more JSON, than a client wants to read again.
    VeryLargeList,
    /// `unstable-list`: two lists, one after the other, differ.
    UnstableList,
    /// `stray-output`: something else than messages on standard output.
    StrayOutput,
    /// `outlives-input`: the server goes on when its standard input is closed.
    OutlivesInput,
    /// `stderr-flood`: more on standard error than fits into a pipe.
    StderrFlood,
}

impl Rule {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 20] = [
        Self::NoAnnotations,
        Self::UndecidedHints,
        Self::ContradictoryHints,
        Self::SerialisedDefaults,
        Self::MalformedHint,
        Self::MisplacedHint,
        Self::ReadOnlyName,
        Self::SameHints,
        Self::DuplicateName,
        Self::UncallableTool,
        Self::InvalidSchema,
        Self::SchemaRoot,
        Self::IgnoredCursor,
        Self::RepeatedCursor,
        Self::IncompleteList,
        Self::VeryLargeList,
        Self::UnstableList,
        Self::StrayOutput,
        Self::OutlivesInput,
        Self::StderrFlood,
    ];

    /// The stable id, in kebab case: never a reason's code, which is in snake case.
    pub const fn id(self) -> &'static str {
        match self {
            Self::NoAnnotations => "no-annotations",
            Self::UndecidedHints => "undecided-hints",
            Self::ContradictoryHints => "contradictory-hints",
            Self::SerialisedDefaults => "serialised-defaults",
            Self::MalformedHint => "malformed-hint",
            Self::MisplacedHint => "misplaced-hint",
            Self::ReadOnlyName => "read-only-name",
            Self::SameHints => "same-hints",
            Self::DuplicateName => "duplicate-name",
            Self::UncallableTool => "uncallable-tool",
            Self::InvalidSchema => "invalid-schema",
            Self::SchemaRoot => "schema-root",
            Self::IgnoredCursor => "ignored-cursor",
            Self::RepeatedCursor => "repeated-cursor",
            Self::IncompleteList => "incomplete-list",
            Self::VeryLargeList => "very-large-list",
            Self::UnstableList => "unstable-list",
            Self::StrayOutput => "stray-output",
            Self::OutlivesInput => "outlives-input",
            Self::StderrFlood => "stderr-flood",
        }
    }

    /// The severity of its findings, unless one says otherwise: an error is what a server does against the
    /// protocol or against its own words.
    pub const fn severity(self) -> Severity {
        match self {
            Self::ContradictoryHints
            | Self::MalformedHint
            | Self::MisplacedHint
            | Self::DuplicateName
            | Self::UncallableTool
            | Self::InvalidSchema
            | Self::SchemaRoot
            | Self::IgnoredCursor
            | Self::StrayOutput => Severity::Error,
            Self::NoAnnotations
            | Self::UndecidedHints
            | Self::ReadOnlyName
            | Self::RepeatedCursor
            | Self::IncompleteList
            | Self::VeryLargeList
            | Self::UnstableList
            | Self::OutlivesInput
            | Self::StderrFlood => Severity::Warning,
            Self::SerialisedDefaults | Self::SameHints => Severity::Note,
        }
    }

    /// What it finds, in one line.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::NoAnnotations => "the tool has no annotations",
            Self::UndecidedHints => {
                "the annotations do not say whether the tool may run again: it is not read-only, and \
                 `idempotentHint` is absent"
            }
            Self::ContradictoryHints => "read-only, and also destructive or not idempotent",
            Self::SerialisedDefaults => {
                "contradictions that an SDK wrote and no author chose, such as Go SDKs do: `readOnlyHint: true` \
                 beside `idempotentHint: false`, nearly every tool has both hints, and no read-only tool \
                 declares `idempotentHint: true`"
            }
            Self::MalformedHint => "a hint is no boolean, or stands twice",
            Self::MisplacedHint => {
                "a hint stands where nobody reads it: beside `annotations`, below another key, or misspelt"
            }
            Self::ReadOnlyName => "read-only, with a name that says that the tool writes",
            Self::SameHints => "every tool of the server has the same hints",
            Self::DuplicateName => {
                "a name is listed more than once; a warning where the definitions are equal"
            }
            Self::UncallableTool => "a tool is listed in a way that it cannot be called",
            Self::InvalidSchema => {
                "a schema is no JSON Schema; a warning where it leads outside, and so cannot be looked at"
            }
            Self::SchemaRoot => "an input schema whose root is not `\"type\": \"object\"`",
            Self::IgnoredCursor => "following the cursors leads in a circle",
            Self::RepeatedCursor => {
                "a cursor comes again with new tools: clients that guard against circles stop early"
            }
            Self::IncompleteList => "a saved list that has a further page",
            Self::VeryLargeList => {
                "more than 128 tools or 1 MiB of JSON, which is read again after every lost connection; an \
                 error where the list has no end"
            }
            Self::UnstableList => {
                "two lists differ in names, order or definitions: a call is not sent again to a tool that changed"
            }
            Self::StrayOutput => "something else than messages on standard output",
            Self::OutlivesInput => {
                "the server runs on for 2 s after its standard input was closed: it may be at work on a lost \
                 call while the next one runs"
            }
            Self::StderrFlood => {
                "more than 64 KiB on standard error before the first call: a client that does not read it \
                 blocks the server"
            }
        }
    }

    /// What the author can do.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::NoAnnotations => "declare `readOnlyHint: true`, or `idempotentHint` as true or false",
            Self::UndecidedHints => "declare `idempotentHint` as true or false",
            Self::ContradictoryHints => {
                "of a tool that only reads, declare `readOnlyHint: true` alone; of another, `readOnlyHint: false`"
            }
            Self::SerialisedDefaults => "declare `idempotentHint: true` on the tools that only read",
            Self::MalformedHint => "give each hint once, as true or false",
            Self::MisplacedHint => {
                "put it into `annotations`, as `readOnlyHint`, `destructiveHint`, `idempotentHint` or \
                 `openWorldHint`"
            }
            Self::ReadOnlyName => {
                "look whether the hint is true: a tool that is said to only read runs again"
            }
            Self::SameHints => "declare the hints tool by tool",
            Self::DuplicateName => "list each name once",
            Self::UncallableTool => "list objects that have a `name` and an `inputSchema`, once each",
            Self::InvalidSchema => "write plain JSON Schema, complete in itself",
            Self::SchemaRoot => "give the root `\"type\": \"object\"`",
            Self::IgnoredCursor => "answer a cursor with what follows it, and the last page without one",
            Self::RepeatedCursor => "give each page a cursor of its own",
            Self::IncompleteList => "save all pages, their tools in one array",
            Self::VeryLargeList => "offer fewer tools at a time",
            Self::UnstableList => "list the tools in a fixed order, with fixed definitions",
            Self::StrayOutput => "write everything else to standard error",
            Self::OutlivesInput => "end at the end of standard input",
            Self::StderrFlood => "log less by default",
        }
    }
}
