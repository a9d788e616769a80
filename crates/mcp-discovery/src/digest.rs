use std::fmt;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// A fingerprint of what a tool is, for comparing two listings of it: SHA-256 over a canonical form.
///
/// It covers the name, the input schema, the output schema, the annotations and the description (or,
/// from [`CatalogTool::schema_digest`](crate::CatalogTool::schema_digest), the input schema alone).
/// The order of keys, white space and escapes do not matter; the order of arrays does, and an optional
/// field that is `null` equals one that is absent.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DefinitionDigest([u8; 32]);

impl DefinitionDigest {
    pub(crate) fn of_definition(tool: &Map<String, Value>) -> Self {
        let mut form = Canonical::new(b"definition");
        for field in ["name", "inputSchema", "outputSchema", "annotations", "description"] {
            form.value(tool.get(field).unwrap_or(&Value::Null));
        }
        form.finish()
    }

    pub(crate) fn of_input_schema(tool: &Map<String, Value>) -> Self {
        let mut form = Canonical::new(b"input schema");
        form.value(tool.get("inputSchema").unwrap_or(&Value::Null));
        form.finish()
    }
}

impl fmt::Debug for DefinitionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DefinitionDigest(")?;
        for byte in &self.0[..4] {
            write!(f, "{byte:02x}")?;
        }
        f.write_str("…)")
    }
}

/// Feeds JSON values to the hash so that no two different values give the same bytes: each begins with
/// a tag, and everything of variable length with its length.
struct Canonical(Sha256);

impl Canonical {
    fn new(subject: &[u8]) -> Self {
        let mut form = Self(Sha256::new());
        form.bytes(subject);
        form
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.tag(b'n'),
            Value::Bool(false) => self.tag(b'f'),
            Value::Bool(true) => self.tag(b't'),
            Value::Number(number) => {
                self.tag(b'd');
                self.bytes(number.to_string().as_bytes());
            }
            Value::String(text) => {
                self.tag(b's');
                self.bytes(text.as_bytes());
            }
            Value::Array(items) => {
                self.tag(b'a');
                self.length(items.len());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(fields) => {
                self.tag(b'o');
                self.fields(fields.iter().collect());
            }
        }
    }

    /// Sorts the fields itself: a feature of serde_json, which anybody in the build may turn on, keeps
    /// them in the order of the text.
    fn fields(&mut self, mut fields: Vec<(&String, &Value)>) {
        self.length(fields.len());
        fields.sort_unstable_by_key(|(key, _)| *key);
        for (key, value) in fields {
            self.bytes(key.as_bytes());
            self.value(value);
        }
    }

    fn tag(&mut self, tag: u8) {
        self.0.update([tag]);
    }

    fn length(&mut self, length: usize) {
        self.0.update((length as u64).to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.update(bytes);
    }

    fn finish(self) -> DefinitionDigest {
        DefinitionDigest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(json: &str) -> DefinitionDigest {
        DefinitionDigest::of_definition(&serde_json::from_str(json).unwrap())
    }

    const TOOL: &str = r#"{"name":"put","inputSchema":{"type":"object","required":["a","b"]}}"#;

    #[test]
    fn spelling_does_not_matter() {
        let same = [
            r#"{"inputSchema":{"required":["a","b"],"type":"object"},"name":"put"}"#,
            r#"{ "name" : "p\u0075t", "inputSchema" : { "type":"object","required":["a", "b"] } }"#,
            r#"{"name":"put","annotations":null,"inputSchema":{"type":"object","required":["a","b"]}}"#,
            r#"{"name":"put","title":"Put","_meta":{"n":1},"inputSchema":{"type":"object","required":["a","b"]}}"#,
        ];
        for json in same {
            assert_eq!(digest(json), digest(TOOL), "{json}");
        }
    }

    #[test]
    fn the_order_of_keys_does_not_matter_whatever_order_serde_json_keeps() {
        let digest = |keys: [&str; 3]| {
            let (keys, value) = (keys.map(String::from), Value::Null);
            let mut form = Canonical::new(b"test");
            form.fields(keys.iter().map(|key| (key, &value)).collect());
            form.finish()
        };
        assert_eq!(digest(["a", "b", "c"]), digest(["c", "a", "b"]));
        assert_ne!(digest(["a", "b", "c"]), digest(["a", "b", "d"]));
    }

    #[test]
    fn every_field_of_the_definition_counts() {
        let different = [
            r#"{"name":"get","inputSchema":{"type":"object","required":["a","b"]}}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":["b","a"]}}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":["ab"]}}"#,
            // Alike but for the lengths, given how values are tagged.
            r#"{"name":"put","inputSchema":{"type":"object","required":["asb"]}}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":[["a"],"b"]}}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":[["a","b"]]}}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":["a","b"]},"outputSchema":{}}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":["a","b"]},"annotations":{}}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":["a","b"]},"annotations":{"openWorldHint":true}}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":["a","b"]},"annotations":{"idempotentHint":true}}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":["a","b"]},"annotations":{"idempotentHint":1}}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":["a","b"]},"description":""}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":["a","b"]},"description":"1"}"#,
            r#"{"name":"put","inputSchema":{"type":"object","required":["a","b"]},"description":1}"#,
        ];
        let mut seen = std::collections::HashSet::from([digest(TOOL)]);
        for json in different {
            assert!(seen.insert(digest(json)), "{json}");
        }
    }

    #[test]
    fn the_schema_has_a_digest_of_its_own() {
        let of = |json: &str| DefinitionDigest::of_input_schema(&serde_json::from_str(json).unwrap());
        let described =
            r#"{"name":"put","description":"x","inputSchema":{"type":"object","required":["a","b"]}}"#;
        assert_eq!(of(TOOL), of(described));
        assert_ne!(of(TOOL), of(r#"{"name":"put","inputSchema":{"type":"object"}}"#));
        assert_ne!(of(TOOL), digest(TOOL));
    }

    #[test]
    fn debug_shows_a_short_prefix() {
        let text = format!("{:?}", digest(TOOL));
        assert_eq!(text.len(), "DefinitionDigest(00000000…)".len());
    }
}
