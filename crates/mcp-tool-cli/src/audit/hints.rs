//! What stands in `annotations`.

use mcp_tool::{
    CatalogTool,
    mcp_discovery::{DeclaredHints, Hint},
    replay_policy::Reason,
};
use serde_json::{Map, Value};

use super::{AuditedTool, Finding, Rule, Severity};

/// The hints of the protocol; the last one never decides.
pub(super) const HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

pub(super) fn look(tool: &AuditedTool, listed: &CatalogTool, findings: &mut Vec<Finding>) {
    let annotations = match fields(listed).remove("annotations") {
        None | Some(Value::Null) => {
            findings.push(Finding::about(tool, Rule::NoAnnotations, "no annotations"));
            return;
        }
        Some(annotations) => annotations,
    };
    let before = findings.len();
    malformed(tool, &annotations, findings);
    if tool.hints.is_some_and(DeclaredHints::is_malformed) && findings.len() == before {
        findings.push(Finding::about(tool, Rule::MalformedHint, "a hint stands twice"));
    }
    let hints = tool.hints.unwrap_or_default();
    match tool.reason() {
        Some(Reason::Unannotated) => findings.push(Finding::about(
            tool,
            Rule::UndecidedHints,
            "annotations without readOnlyHint, destructiveHint and idempotentHint",
        )),
        Some(Reason::NotDeclaredSafe) if hints.idempotent == Hint::Absent => {
            findings.push(Finding::about(tool, Rule::UndecidedHints, "not read-only, and no idempotentHint"));
        }
        Some(Reason::ContradictoryHints) => {
            findings.push(Finding::about(tool, Rule::ContradictoryHints, contradiction(hints)));
        }
        _ => {}
    }
}

fn malformed(tool: &AuditedTool, annotations: &Value, findings: &mut Vec<Finding>) {
    let Value::Object(annotations) = annotations else {
        let message = format!("annotations is {}, not an object", kind(annotations));
        findings.push(Finding::about(tool, Rule::MalformedHint, message));
        return;
    };
    for name in HINTS {
        let Some(value) = annotations.get(name).filter(|value| !value.is_boolean() && !value.is_null())
        else {
            continue;
        };
        let finding =
            Finding::about(tool, Rule::MalformedHint, format!("{name} is {}, not a boolean", kind(value)));
        // It decides nothing here, but strict clients drop the tool for it.
        let decides = name != "openWorldHint";
        findings.push(if decides { finding } else { finding.with_severity(Severity::Warning) });
    }
}

fn contradiction(hints: DeclaredHints) -> &'static str {
    match (hints.destructive, hints.idempotent) {
        (Hint::Declared(true), Hint::Declared(false)) => {
            "readOnlyHint: true beside destructiveHint: true and idempotentHint: false"
        }
        (Hint::Declared(true), _) => "readOnlyHint: true beside destructiveHint: true",
        _ => "readOnlyHint: true beside idempotentHint: false",
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The tool as JSON. What stands twice is there once, the last one.
pub(super) fn fields(listed: &CatalogTool) -> Map<String, Value> {
    serde_json::from_str(listed.json()).unwrap_or_default()
}
