//! Schemas, and tools that cannot be called for want of one.

use boon::{CompileError, ErrorKind, ValidationError};
use mcp_tool::{Catalog, CatalogTool, mcp_discovery::ToolName};
use serde_json::Value;

use super::{AuditedTool, Finding, Rule, Severity, hints::fields};
use crate::json_schema::{self, Compiled};

pub(super) fn look(tool: &AuditedTool, listed: &CatalogTool, findings: &mut Vec<Finding>) {
    let fields = fields(listed);
    for name in ["inputSchema", "outputSchema"] {
        let Some(schema) = fields.get(name).filter(|schema| !schema.is_null()) else { continue };
        let found = |rule, message: String| Finding::about(tool, rule, message);
        match Compiled::of(schema.clone()).err().map(|error| judged(&error)) {
            Some(Judged::Wrong(what)) => {
                findings.push(found(Rule::InvalidSchema, format!("{name} is no JSON Schema: {what}")));
            }
            Some(Judged::LeadsOutside) => {
                let message = format!(
                    "{name} leads outside itself, where nothing is fetched: arguments are not checked"
                );
                findings.push(found(Rule::InvalidSchema, message).with_severity(Severity::Warning));
            }
            Some(Judged::OtherDialect) | None => {}
        }
        if name == "inputSchema" && schema.get("type") != Some(&Value::from("object")) {
            findings
                .push(found(Rule::SchemaRoot, "the root of inputSchema has not \"type\": \"object\"".into()));
        }
    }
}

pub(super) fn look_at_uncallable(catalog: &Catalog, findings: &mut Vec<Finding>) {
    for tool in catalog.quarantined() {
        let name = tool.name().map(|name| name.as_str().to_owned());
        let message = format!("number {} cannot be called: {}", tool.index() + 1, tool.reason().code());
        findings.push(Finding::at(tool.index(), name, Rule::UncallableTool, message));
    }
}

enum Judged {
    /// For this reason.
    Wrong(String),
    LeadsOutside,
    /// A pattern in a dialect of regular expressions that is not ours, which is no fault.
    OtherDialect,
}

fn judged(error: &CompileError) -> Judged {
    match error {
        CompileError::ValidationError { src, .. } => match fault(src) {
            Some(fault) => Judged::Wrong(place(fault)),
            None => Judged::OtherDialect,
        },
        CompileError::InvalidRegex { .. } => Judged::OtherDialect,
        CompileError::LoadUrlError { .. }
        | CompileError::UnsupportedUrlScheme { .. }
        | CompileError::UnsupportedDraft { .. }
        | CompileError::UnsupportedVocabulary { .. } => Judged::LeadsOutside,
        CompileError::JsonPointerNotFound(_)
        | CompileError::InvalidJsonPointer(_)
        | CompileError::AnchorNotFound { .. } => Judged::Wrong("a $ref leads nowhere".into()),
        _ => Judged::Wrong("an identifier or an anchor in it is not as it must be".into()),
    }
}

/// The first thing that is wrong with a schema, but for patterns.
fn fault<'e, 's, 'v>(error: &'e ValidationError<'s, 'v>) -> Option<&'e ValidationError<'s, 'v>> {
    match (&error.kind, &error.causes[..]) {
        (ErrorKind::Format { .. }, []) => None,
        (_, []) => Some(error),
        (_, causes) => causes.iter().find_map(fault),
    }
}

fn place(fault: &ValidationError<'_, '_>) -> String {
    let place = fault.instance_location.to_string();
    let place = if place.is_empty() { "its root".to_owned() } else { ToolName::from(place).to_string() };
    format!("at {place}, {}", json_schema::reason(&fault.kind))
}
