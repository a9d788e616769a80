//! JSON Schema, as the tools of a server use it: draft 2020-12, or the one that `$schema` names. Nothing is
//! fetched for a schema.

use std::{error::Error, fmt::Write as _};

use boon::{CompileError, Compiler, Draft, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use mcp_tool::rmcp::model::JsonObject;
use serde_json::Value;

/// How arguments compare with a tool's input schema.
#[derive(Debug, PartialEq, Eq)]
pub enum Fit {
    /// They fit.
    Fits,
    /// They do not, for this reason.
    Misfit(String),
    /// The schema is none, or refers to something outside itself, which is never fetched.
    NoSchema,
}

/// Compares arguments with an input schema.
pub fn compare(schema: &JsonObject, arguments: &JsonObject) -> Fit {
    let Ok(compiled) = Compiled::of(Value::Object(schema.clone())) else {
        return Fit::NoSchema;
    };
    let arguments = Value::Object(arguments.clone());
    match compiled.schemas.validate(&arguments, compiled.index) {
        Ok(()) => Fit::Fits,
        Err(error) if runs_in_a_circle(&error) => Fit::NoSchema,
        Err(error) => Fit::Misfit(reasons(&error)),
    }
}

/// A schema that is one.
pub(crate) struct Compiled {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Compiled {
    /// Takes a schema, unless it is none or leads outside.
    pub(crate) fn of(schema: Value) -> Result<Self, Box<CompileError>> {
        const URL: &str = "http://input-schema.invalid/";
        let mut compiler = Compiler::new();
        compiler.set_default_draft(Draft::V2020_12);
        compiler.use_loader(Box::new(Nothing));
        let mut schemas = Schemas::new();
        compiler.add_resource(URL, schema)?;
        let index = compiler.compile(URL, &mut schemas)?;
        Ok(Self { schemas, index })
    }
}

/// Whether the schema refers to itself without end, which no arguments can help.
fn runs_in_a_circle(error: &ValidationError<'_, '_>) -> bool {
    matches!(error.kind, ErrorKind::RefCycle { .. }) || error.causes.iter().any(runs_in_a_circle)
}

/// Fetches nothing, from nowhere.
struct Nothing;

impl UrlLoader for Nothing {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("references out of the schema are not followed".into())
    }
}

/// What is wrong, in the innermost words, the first few of them.
fn reasons(error: &ValidationError<'_, '_>) -> String {
    const SHOWN: usize = 3;
    let mut leaves = Vec::new();
    collect(error, &mut leaves);
    let mut text = String::new();
    for (number, leaf) in leaves.iter().take(SHOWN).enumerate() {
        let place = leaf.instance_location.to_string();
        let place = if place.is_empty() { "the arguments".to_owned() } else { format!("`{place}`") };
        let separator = if number == 0 { "" } else { "; " };
        let _ = write!(text, "{separator}{place}: {}", reason(&leaf.kind));
    }
    if leaves.len() > SHOWN {
        let _ = write!(text, "; and {} more", leaves.len() - SHOWN);
    }
    text
}

fn collect<'e, 's, 'v>(error: &'e ValidationError<'s, 'v>, leaves: &mut Vec<&'e ValidationError<'s, 'v>>) {
    if error.causes.is_empty() {
        leaves.push(error);
    }
    for cause in &error.causes {
        collect(cause, leaves);
    }
}

/// boon's words, but those that would quote an argument.
pub(crate) fn reason(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
        ErrorKind::Pattern { want, .. } => format!("does not match the pattern '{want}'"),
        ErrorKind::Format { want, .. } => format!("is no {want}"),
        ErrorKind::ContentEncoding { want, .. } => format!("is not encoded as {want}"),
        ErrorKind::ContentMediaType { want, .. } => format!("is not of the media type {want}"),
        ErrorKind::Minimum { want, .. } => format!("must be >={want}"),
        ErrorKind::Maximum { want, .. } => format!("must be <={want}"),
        ErrorKind::ExclusiveMinimum { want, .. } => format!("must be >{want}"),
        ErrorKind::ExclusiveMaximum { want, .. } => format!("must be <{want}"),
        ErrorKind::MultipleOf { want, .. } => format!("is not a multiple of {want}"),
        kind => kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compared(schema: Value, arguments: Value) -> Fit {
        let (Value::Object(schema), Value::Object(arguments)) = (schema, arguments) else {
            panic!("both are objects");
        };
        compare(&schema, &arguments)
    }

    #[test]
    fn arguments_are_compared_and_never_quoted() {
        let schema = json!({ "type": "object", "required": ["n"], "additionalProperties": false, "properties": {
            "n": { "type": "number", "maximum": 9 },
            "of": { "enum": ["a", "b"] },
            "s": { "type": "string", "pattern": "^x" },
            "many": { "type": "array", "items": { "$ref": "#/properties/s" } },
        }});
        let rows = [
            (json!({ "n": 1, "of": "a", "s": "x", "many": ["x"] }), None),
            (json!({}), Some("the arguments: missing properties 'n'")),
            (json!({ "n": "secret" }), Some("`/n`: want number, but got string")),
            (json!({ "n": 10 }), Some("`/n`: must be <=9")),
            (json!({ "n": 1, "of": "secret" }), Some("`/of`: value must be one of 'a', 'b'")),
            (json!({ "n": 1, "s": "secret" }), Some("`/s`: does not match the pattern '^x'")),
            (json!({ "n": 1, "many": ["x", 5] }), Some("`/many/1`: want string, but got number")),
            (json!({ "n": 1, "z": 1 }), Some("the arguments: additionalProperties 'z' not allowed")),
        ];
        for (arguments, misfit) in rows {
            let expected = misfit.map_or(Fit::Fits, |misfit| Fit::Misfit(misfit.into()));
            assert_eq!(compared(schema.clone(), arguments.clone()), expected, "{arguments}");
        }
        let Fit::Misfit(all) = compared(schema, json!({ "n": "", "of": 1, "s": 2, "many": 3 })) else {
            panic!("none fits");
        };
        assert!(all.ends_with("; and 1 more"), "{all}");
    }

    #[test]
    fn older_drafts_are_taken_by_their_name() {
        let tuple = json!({ "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": { "a": { "items": [{ "type": "string" }] } } });
        assert!(matches!(compared(tuple, json!({ "a": [1] })), Fit::Misfit(_)));
    }

    #[test]
    fn a_schema_that_is_none_or_leads_outside_is_no_obstacle() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"type": "object"}"#).unwrap();
        for schema in [
            json!({ "type": 5 }),
            json!({ "$ref": "#/nowhere" }),
            json!({ "$ref": "http://127.0.0.1:9/schema.json" }),
            json!({ "$ref": format!("file://{}", file.path().display()) }),
            json!({ "$schema": "http://127.0.0.1:9/draft" }),
            json!({ "properties": { "a": { "pattern": "(" } } }),
            json!({ "$ref": "#" }),
            json!({ "allOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "$ref": "#/$defs/a" } } }),
        ] {
            assert_eq!(compared(schema.clone(), json!({})), Fit::NoSchema, "{schema}");
        }
    }
}
