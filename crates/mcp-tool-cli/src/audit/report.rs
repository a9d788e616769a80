use std::collections::{BTreeMap, HashMap};

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

    /// The report for a program: one object.
    pub fn json(&self) -> Value {
        let mut of_tools: HashMap<&str, Vec<Value>> =
            self.tools.iter().map(|tool| (&*tool.name, Vec::new())).collect();
        let mut others = Vec::new();
        for found in &self.findings {
            let of_tool = found.tool.as_deref().and_then(|tool| of_tools.get_mut(tool));
            of_tool.unwrap_or(&mut others).push(finding(found));
        }
        let tool = |tool: &AuditedTool| {
            json!({
                "name": tool.name,
                "replayable": tool.is_recovered(),
                "reason": tool.reason().map(|reason| reason.code()),
                "hints": hints(tool.hints),
                "findings": of_tools[&*tool.name],
            })
        };
        let summary = self.summary();
        json!({
            "tools": self.tools.iter().map(tool).collect::<Vec<_>>(),
            "findings": others,
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
