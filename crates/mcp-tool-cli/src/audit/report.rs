use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{AuditedTool, Finding, Severity};
use mcp_tool::mcp_discovery::{DeclaredHints, Hint};

/// What an audit has found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The tools that can be called, in the server's order.
    pub tools: Vec<AuditedTool>,
    /// What was found: tool by tool in the server's order, then about the whole list and the server.
    pub findings: Vec<Finding>,
}

/// The numbers of a report. Findings that a baseline knows are counted apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Tools that can be called.
    pub tools: usize,
    /// Those of them whose lost calls are recovered.
    pub recovered: usize,
    /// Why those of the others are not, by the code of the reason.
    pub reasons: BTreeMap<&'static str, usize>,
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity note.
    pub notes: usize,
    /// Findings that a baseline knows.
    pub known: usize,
}

impl Report {
    /// The numbers.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary { tools: self.tools.len(), ..Summary::default() };
        for tool in &self.tools {
            match tool.reason() {
                None => summary.recovered += 1,
                Some(reason) => *summary.reasons.entry(reason.code()).or_default() += 1,
            }
        }
        for finding in &self.findings {
            match finding.severity {
                _ if finding.known => summary.known += 1,
                Severity::Error => summary.errors += 1,
                Severity::Warning => summary.warnings += 1,
                Severity::Note => summary.notes += 1,
            }
        }
        summary
    }

    /// The gravest severity among the findings that count.
    pub fn gravest(&self) -> Option<Severity> {
        self.findings.iter().filter(|finding| !finding.known).map(|finding| finding.severity).max()
    }

    /// The findings about a tool that can be called.
    pub fn of_tool<'a>(&'a self, tool: &'a AuditedTool) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(|finding| finding.tool.as_deref() == Some(&*tool.name))
    }

    /// The findings about everything else: the list, the server, and tools that cannot be called.
    pub fn of_server(&self) -> impl Iterator<Item = &Finding> {
        let callable = |name: &String| self.tools.iter().any(|tool| tool.name == *name);
        self.findings.iter().filter(move |finding| !finding.tool.as_ref().is_some_and(callable))
    }

    /// The report for a program: one object.
    pub fn json(&self) -> Value {
        let tool = |tool: &AuditedTool| {
            json!({
                "name": tool.name,
                "replayable": tool.is_recovered(),
                "reason": tool.reason().map(|reason| reason.code()),
                "hints": hints(tool.hints),
                "findings": self.of_tool(tool).map(finding).collect::<Vec<_>>(),
            })
        };
        let summary = self.summary();
        json!({
            "tools": self.tools.iter().map(tool).collect::<Vec<_>>(),
            "findings": self.of_server().map(finding).collect::<Vec<_>>(),
            "summary": {
                "tools": summary.tools,
                "replayable": summary.recovered,
                "reasons": summary.reasons,
                "errors": summary.errors,
                "warnings": summary.warnings,
                "notes": summary.notes,
                "known": summary.known,
            },
        })
    }
}

fn finding(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule.id(),
        "severity": finding.severity.word(),
        "tool": finding.tool,
        "message": finding.message,
        "known": finding.known,
    })
}

/// As the server declares them: null where it does not.
fn hints(hints: Option<DeclaredHints>) -> Value {
    let hint = |hint| match hint {
        Hint::Absent => Value::Null,
        Hint::Declared(value) => value.into(),
        Hint::Malformed => "malformed".into(),
    };
    match hints {
        None => json!({}),
        Some(hints) => json!({
            "readOnlyHint": hint(hints.read_only),
            "destructiveHint": hint(hints.destructive),
            "idempotentHint": hint(hints.idempotent),
        }),
    }
}
