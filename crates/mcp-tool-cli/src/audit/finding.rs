use super::{AuditedTool, Rule};

/// How grave a finding is; a graver one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Something to know.
    Note,
    /// Calls are not recovered that could be, or clients are likely to stumble.
    Warning,
    /// Against the protocol, or against the server's own words.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`: also SARIF's words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub rule: Rule,
    /// How grave it is.
    pub severity: Severity,
    /// The tool's name; none for what is about the whole list or the server.
    pub tool: Option<String>,
    /// The tool's place in the listing, counted from 0; the order of the findings.
    pub(crate) index: usize,
    /// What was found, in one line. Names and keys of the server are escaped.
    pub message: String,
    /// Whether a baseline knows it, so that it is not counted.
    pub known: bool,
}

impl Finding {
    pub(super) fn about(tool: &AuditedTool, rule: Rule, message: impl Into<String>) -> Self {
        Self::at(tool.index, Some(tool.name.clone()), rule, message)
    }

    pub(super) fn at(index: usize, tool: Option<String>, rule: Rule, message: impl Into<String>) -> Self {
        Self { rule, severity: rule.severity(), tool, index, message: message.into(), known: false }
    }

    pub(super) fn of_server(rule: Rule, message: impl Into<String>) -> Self {
        Self::at(usize::MAX, None, rule, message)
    }

    pub(super) fn with_severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    /// The tool's place in the listing, counted from 0; none for what is about the whole list or the
    /// server.
    pub fn place(&self) -> Option<usize> {
        (self.index != usize::MAX).then_some(self.index)
    }

    /// What stays the same while the finding does: its rule and its tool.
    pub fn fingerprint(&self) -> (&'static str, Option<&str>) {
        (self.rule.id(), self.tool.as_deref())
    }
}
