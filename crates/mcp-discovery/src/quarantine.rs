use crate::ToolName;

/// A tool of a listing that was set aside because it cannot be called; the others live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    index: usize,
    name: Option<ToolName>,
    reason: QuarantineReason,
}

/// Why a tool was set aside.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuarantineReason {
    /// It is no JSON object.
    NotAnObject,
    /// It has no `name`.
    NameMissing,
    /// Its `name` is no string.
    NameNotAString,
    /// It has no `inputSchema`.
    SchemaMissing,
    /// Its `inputSchema` is no object.
    SchemaNotAnObject,
    /// It cannot be read in full: a field stands twice, the nesting is too deep (more than 127), a
    /// number is out of range or a string is no Unicode text.
    Unreadable,
}

impl Quarantined {
    pub(crate) fn new(index: usize, name: Option<ToolName>, reason: QuarantineReason) -> Self {
        Self { index, name, reason }
    }

    /// Its place in the listing, counted from 0 over all pages.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its name, if that could be read.
    pub fn name(&self) -> Option<&ToolName> {
        self.name.as_ref()
    }

    /// Why it was set aside.
    pub fn reason(&self) -> QuarantineReason {
        self.reason
    }
}

impl QuarantineReason {
    /// The stable snake_case code of this reason, for logs and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotAnObject => "tool_not_an_object",
            Self::NameMissing => "tool_name_missing",
            Self::NameNotAString => "tool_name_not_a_string",
            Self::SchemaMissing => "input_schema_missing",
            Self::SchemaNotAnObject => "input_schema_not_an_object",
            Self::Unreadable => "tool_unreadable",
        }
    }
}
