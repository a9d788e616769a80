use std::str::FromStr;

use mcp_tool::{
    policy_hints,
    replay_policy::{Decision, Definition, Hints},
};
use serde_json::{Value, json};

use super::TOOL;
use crate::audit::{declared_hints, verdict};

/// What the tool declares of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct DrillHints {
    name: String,
    annotations: Option<Value>,
    decision: Decision,
}

/// Neither a name of hints nor the JSON of annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "hints are none, read-only, idempotent, destructive, contradictory, or the JSON of a tool's annotations"
)]
pub struct HintsError;

impl DrillHints {
    /// The names that stand for hints.
    pub const NAMES: [&str; 5] = ["none", "read-only", "idempotent", "destructive", "contradictory"];

    /// The name, or the JSON that was given, in one line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tool's annotations; none for a tool without.
    pub fn annotations(&self) -> Option<&Value> {
        self.annotations.as_ref()
    }

    /// What the policy says of a call that may have run, under double trust.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// Whether they allow to run the tool again, under double trust.
    pub fn allow_repeating(&self) -> bool {
        self.decision == Decision::Replay
    }

    fn new(name: &str, annotations: Option<Value>) -> Result<Self, HintsError> {
        let hints: Option<Hints> = match &annotations {
            Some(annotations) => {
                policy_hints(declared_hints(&annotations.to_string()).map_err(|_| HintsError)?)
            }
            None => None,
        };
        let decision = verdict(TOOL, hints, Definition::Same);
        Ok(Self { name: name.to_owned(), annotations, decision })
    }
}

impl FromStr for DrillHints {
    type Err = HintsError;

    fn from_str(text: &str) -> Result<Self, HintsError> {
        let name = text.trim();
        let annotations = match name {
            "none" => None,
            "read-only" => Some(json!({"readOnlyHint": true})),
            "idempotent" => Some(json!({"idempotentHint": true})),
            "destructive" => {
                Some(json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false}))
            }
            "contradictory" => Some(json!({"readOnlyHint": true, "destructiveHint": true})),
            other => Some(
                serde_json::from_str(other).ok().filter(|json: &Value| json.is_object()).ok_or(HintsError)?,
            ),
        };
        match &annotations {
            Some(json) if !Self::NAMES.contains(&name) => Self::new(&json.to_string(), annotations.clone()),
            _ => Self::new(name, annotations),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_allow_a_repetition_where_the_policy_does() {
        let rows = [
            ("none", false),
            ("read-only", true),
            ("idempotent", true),
            ("destructive", false),
            ("contradictory", false),
            (r#"{"idempotentHint": true, "destructiveHint": true}"#, true),
            (r#"{"idempotentHint": "true"}"#, false),
            ("{}", false),
        ];
        for (text, allowed) in rows {
            assert_eq!(text.parse::<DrillHints>().unwrap().allow_repeating(), allowed, "{text}");
        }
    }

    #[test]
    fn json_is_the_same_hints_however_it_is_laid_out() {
        let spread: DrillHints = "{\n  \"readOnlyHint\" : true\n}".parse().unwrap();
        assert_eq!(spread.name(), r#"{"readOnlyHint":true}"#);
        assert_eq!(r#"{"readOnlyHint":true}"#.parse(), Ok(spread));
    }

    #[test]
    fn every_name_is_known_and_nothing_else_but_json() {
        for name in DrillHints::NAMES {
            assert_eq!(name.parse::<DrillHints>().unwrap().name(), name);
        }
        for text in ["", "readOnly", "[]", "null", "{"] {
            assert_eq!(text.parse::<DrillHints>(), Err(HintsError), "{text}");
        }
    }
}
