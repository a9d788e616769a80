use std::str::FromStr;

use mcp_tool::{policy_hints, replay_policy::Hints};
use mcp_tool_cli::audit::declared_hints;
use serde_json::{Map, Value};

/// Hints given by hand, as the policy takes them; none for a tool without annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Given(pub(super) Option<Hints>);

const FORM: &str = "hints are names such as `readOnly,destructive=false,idempotent`, the JSON of a tool's \
                    annotations, `none`, or `-` for no annotations";

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let annotations = match text.trim() {
            "-" => return Ok(Self(None)),
            "none" => "{}".to_owned(),
            json if json.starts_with('{') || json == "null" => json.to_owned(),
            names => annotations(names)?,
        };
        declared_hints(&annotations).map(|declared| Self(policy_hints(declared))).map_err(|_| FORM.to_owned())
    }
}

/// Names as the JSON that they stand for.
fn annotations(names: &str) -> Result<String, String> {
    let mut hints = Map::new();
    for given in names.split(',').map(str::trim) {
        let (name, value) = given.split_once('=').unwrap_or((given, "true"));
        let name = name.strip_suffix("Hint").unwrap_or(name);
        if !["readOnly", "destructive", "idempotent", "openWorld"].contains(&name) {
            return Err(FORM.to_owned());
        }
        let value = match value {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            // What an audit shows of a hint that is no boolean.
            "?" => Value::from("?"),
            _ => return Err(FORM.to_owned()),
        };
        if hints.insert(format!("{name}Hint"), value).is_some() {
            return Err(format!("the hint {name} is given twice"));
        }
    }
    Ok(Value::Object(hints).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_given_by_their_names_or_as_json() {
        let all = Hints { read_only: Some(true), destructive: Some(false), ..Hints::idempotent() };
        let rows = [
            ("-", None),
            ("null", None),
            ("none", Some(Hints::NONE)),
            ("{}", Some(Hints::NONE)),
            ("readOnly", Some(Hints::read_only())),
            ("readOnlyHint=true", Some(Hints::read_only())),
            ("readOnly, destructive=false, idempotent", Some(all)),
            ("openWorld", Some(Hints::NONE)),
            (r#"{"idempotentHint": true, "title": "x"}"#, Some(Hints::idempotent())),
            ("readOnly=?", Some(Hints::NONE.with_malformed_hint())),
            (r#"{"readOnlyHint": 1}"#, Some(Hints::NONE.with_malformed_hint())),
        ];
        for (text, hints) in rows {
            assert_eq!(text.parse(), Ok(Given(hints)), "{text}");
        }
    }

    #[test]
    fn what_is_no_hint_is_refused() {
        for text in ["", "readonly", "readOnly=yes", "readOnly destructive", "{", "{\"a\":}", "readOnly,"] {
            assert_eq!(text.parse::<Given>(), Err(FORM.into()), "{text}");
        }
        assert_eq!(
            "readOnly,readOnly=false".parse::<Given>(),
            Err("the hint readOnly is given twice".into())
        );
    }
}
