//! Hints where nobody reads them.

use mcp_tool::{CatalogTool, mcp_discovery::ToolName};
use serde_json::{Map, Value};

use super::{
    AuditedTool, Finding, Rule,
    hints::{HINTS, fields},
};

/// How deep below the tool hints are looked for.
const DEPTH: usize = 4;

/// A hint that stands elsewhere, and is not in `annotations`, where it would count.
pub(super) fn look(tool: &AuditedTool, listed: &CatalogTool, findings: &mut Vec<Finding>) {
    let mut fields = fields(listed);
    // An argument may be called like a hint.
    fields.remove("inputSchema");
    fields.remove("outputSchema");
    let proper = fields.get("annotations").cloned().unwrap_or_default();
    let mut found = Vec::new();
    search(&fields, "", &mut found);
    for (path, hint) in found {
        if proper.get(hint).is_none_or(Value::is_null) {
            let message = format!("{hint} stands at {}, where nobody reads it", ToolName::from(path));
            findings.push(Finding::about(tool, Rule::MisplacedHint, message));
        }
    }
}

/// Collects where something stands that is meant as a hint.
fn search(object: &Map<String, Value>, path: &str, found: &mut Vec<(String, &'static str)>) {
    for (key, value) in object {
        let here = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if let Some(hint) = meant(key, path).filter(|hint| here != format!("annotations.{hint}")) {
            if value.is_boolean() || value.is_string() {
                found.push((here, hint));
            }
        } else if let Value::Object(inner) = value
            && here.matches('.').count() + 1 < DEPTH
        {
            search(inner, &here, found);
        }
    }
}

/// The hint that a key is meant for: spelt with other case, dashes or underscores, and in the tool itself
/// or in its annotations also without the last word.
fn meant(key: &str, path: &str) -> Option<&'static str> {
    let plain = |text: &str| text.replace(['_', '-', ' '], "").to_lowercase();
    let key = plain(key);
    HINTS.into_iter().find(|hint| {
        let hint = plain(hint);
        let short = hint.trim_end_matches("hint");
        key == hint || (key == short && matches!(path, "" | "annotations"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(tool: Value) -> Vec<String> {
        let mut found = Vec::new();
        search(tool.as_object().unwrap(), "", &mut found);
        found.into_iter().map(|(path, hint)| format!("{path} {hint}")).collect()
    }

    #[test]
    fn a_hint_is_found_wherever_it_stands_and_however_it_is_spelt() {
        let rows = [
            (json!({ "readOnlyHint": true }), vec!["readOnlyHint readOnlyHint"]),
            (json!({ "readOnly": true }), vec!["readOnly readOnlyHint"]),
            (json!({ "_meta": { "idempotentHint": true } }), vec!["_meta.idempotentHint idempotentHint"]),
            (
                json!({ "_meta": { "x/y": { "read_only_hint": true } } }),
                vec!["_meta.x/y.read_only_hint readOnlyHint"],
            ),
            (
                json!({ "annotations": { "annotations": { "destructiveHint": false } } }),
                vec!["annotations.annotations.destructiveHint destructiveHint"],
            ),
            (
                json!({ "annotations": { "read_only_hint": true } }),
                vec!["annotations.read_only_hint readOnlyHint"],
            ),
            (
                json!({ "annotations": { "ReadOnlyHint": true } }),
                vec!["annotations.ReadOnlyHint readOnlyHint"],
            ),
            (json!({ "annotations": { "idempotent": true } }), vec!["annotations.idempotent idempotentHint"]),
            (
                json!({ "annotation": { "idempotentHint": true } }),
                vec!["annotation.idempotentHint idempotentHint"],
            ),
            (json!({ "annotations": { "idempotentHint": true, "title": "read only" } }), vec![]),
            (json!({ "_meta": { "idempotent": true, "readOnly": { "a": 1 } } }), vec![]),
            (json!({ "readOnlyHint": null }), vec![]),
        ];
        for (tool, expected) in rows {
            assert_eq!(found(tool.clone()), expected, "{tool}");
        }
    }
}
