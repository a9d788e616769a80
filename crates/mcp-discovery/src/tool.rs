use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use mcp_transport::{
    RawTool,
    rmcp::model::{MetaObject, Tool, ToolAnnotations},
};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{DeclaredHints, DefinitionDigest, Hint, QuarantineReason, ToolName, in_order::InOrder, readable};

/// One tool of a catalog: what the server said about it, and nothing of the connection.
///
/// Cheap to clone, and independent of the catalog that it came from, so that a handle can remember the
/// definition that its user saw. `Debug` prints the name, escaped and capped, and the hints.
#[derive(Clone)]
pub struct CatalogTool {
    listed: Arc<Listed>,
    ambiguous: bool,
}

struct Listed {
    name: ToolName,
    hints: Option<DeclaredHints>,
    raw: RawTool,
    digests: OnceLock<Digests>,
    definition: OnceLock<Arc<Tool>>,
}

struct Digests {
    definition: DefinitionDigest,
    input_schema: DefinitionDigest,
}

/// What must be looked at to judge a tool. A key that stands twice is an error.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
}

/// Why a tool was not taken, and what it is called if that could be read.
pub(crate) type Refusal = (Option<ToolName>, QuarantineReason);

impl CatalogTool {
    /// Judges a tool as it came. Taken is what can be called: an object with a name and an input schema.
    pub(crate) fn read(raw: RawTool) -> Result<Self, Refusal> {
        if !raw.json().starts_with('{') {
            return Err((None, QuarantineReason::NotAnObject));
        }
        match InOrder::read(raw.json()) {
            Some(InOrder { name, hints }) => Ok(Self::of(name, hints, raw)),
            None => Self::read_by_parts(raw),
        }
    }

    fn read_by_parts(raw: RawTool) -> Result<Self, Refusal> {
        let shape: Shape<'_> =
            serde_json::from_str(raw.json()).map_err(|_| (None, QuarantineReason::Unreadable))?;
        let name = match shape.name.map(RawValue::get) {
            None => return Err((None, QuarantineReason::NameMissing)),
            Some(text) if !text.starts_with('"') => return Err((None, QuarantineReason::NameNotAString)),
            Some(text) => serde_json::from_str::<String>(text)
                .map(ToolName::from)
                .map_err(|_| (None, QuarantineReason::Unreadable))?,
        };
        match shape.input_schema {
            None => return Err((Some(name), QuarantineReason::SchemaMissing)),
            Some(schema) if !schema.get().starts_with('{') => {
                return Err((Some(name), QuarantineReason::SchemaNotAnObject));
            }
            Some(_) => {}
        }
        if !readable::is_readable(raw.json()) {
            return Err((Some(name), QuarantineReason::Unreadable));
        }
        let hints = shape.annotations.map(DeclaredHints::read);
        Ok(Self::of(name, hints, raw))
    }

    fn of(name: ToolName, hints: Option<DeclaredHints>, raw: RawTool) -> Self {
        let (digests, definition) = (OnceLock::new(), OnceLock::new());
        Self { listed: Arc::new(Listed { name, hints, raw, digests, definition }), ambiguous: false }
    }

    /// The exact name.
    pub fn name(&self) -> &str {
        self.listed.name.as_str()
    }

    /// The hints; none when the tool has no annotations (or `null`).
    pub fn hints(&self) -> Option<DeclaredHints> {
        self.listed.hints
    }

    /// Whether the server listed this name more than once with different definitions. Which of them a
    /// call would reach nobody knows; the first one is shown here.
    pub fn is_ambiguous(&self) -> bool {
        self.ambiguous
    }

    /// The fingerprint of the whole definition. Computed when first asked for.
    pub fn digest(&self) -> DefinitionDigest {
        self.digests().definition
    }

    /// The fingerprint of the input schema alone. Computed when first asked for.
    pub fn schema_digest(&self) -> DefinitionDigest {
        self.digests().input_schema
    }

    /// The tool in rmcp's form. Computed when first asked for.
    ///
    /// What has the wrong JSON type and is not needed for a call (a hint, the title, the description,
    /// the output schema, icons, `_meta`) is left out.
    pub fn definition(&self) -> Arc<Tool> {
        Arc::clone(self.listed.definition.get_or_init(|| Arc::new(typed(self))))
    }

    /// The JSON text as it came.
    pub fn json(&self) -> &str {
        self.listed.raw.json()
    }

    pub(crate) fn tool_name(&self) -> &ToolName {
        &self.listed.name
    }

    pub(crate) fn mark_ambiguous(&mut self) {
        self.ambiguous = true;
    }

    fn digests(&self) -> &Digests {
        self.listed.digests.get_or_init(|| {
            let fields = self.fields();
            Digests {
                definition: DefinitionDigest::of_definition(&fields),
                input_schema: DefinitionDigest::of_input_schema(&fields),
            }
        })
    }

    pub(crate) fn fields(&self) -> Map<String, Value> {
        serde_json::from_str(self.json()).expect("the text was found readable when it was taken")
    }
}

impl fmt::Debug for CatalogTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogTool")
            .field("name", &self.listed.name)
            .field("hints", &self.listed.hints)
            .field("ambiguous", &self.ambiguous)
            .finish_non_exhaustive()
    }
}

fn typed(tool: &CatalogTool) -> Tool {
    let mut fields = tool.fields();
    let mut take = |field: &str| fields.remove(field).unwrap_or_default();
    let mut typed = Tool::default();
    typed.name = tool.name().to_owned().into();
    typed.title = text(take("title"));
    typed.description = text(take("description")).map(Into::into);
    typed.input_schema = object(take("inputSchema")).map(Arc::new).unwrap_or_default();
    typed.output_schema = object(take("outputSchema")).map(Arc::new);
    typed.annotations =
        object(take("annotations")).map(|given| annotations(given, tool.hints().unwrap_or_default()));
    typed.icons = serde_json::from_value(take("icons")).unwrap_or_default();
    typed.meta = object(take("_meta")).map(MetaObject);
    typed
}

fn annotations(mut given: Map<String, Value>, hints: DeclaredHints) -> ToolAnnotations {
    let declared = |hint| match hint {
        Hint::Declared(value) => Some(value),
        Hint::Absent | Hint::Malformed => None,
    };
    let mut annotations = ToolAnnotations::new();
    annotations.title = given.remove("title").and_then(text);
    annotations.read_only_hint = declared(hints.read_only);
    annotations.destructive_hint = declared(hints.destructive);
    annotations.idempotent_hint = declared(hints.idempotent);
    annotations.open_world_hint = given.get("openWorldHint").and_then(Value::as_bool);
    annotations
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn what_is_read_in_one_pass_is_what_the_parts_say() {
        let tool = |rest: &str| format!(r#"{{"name":"put","inputSchema":{{"type":"object"}}{rest}}}"#);
        let in_order = [
            tool(""),
            tool(r#","annotations":null"#),
            tool(r#","annotations":{}"#),
            tool(
                r#","annotations":{"title":"x","readOnlyHint":true,"destructiveHint":false,"idempotentHint":null}"#,
            ),
            tool(r#","annotations":{"idempotent\u0048int":true,"openWorldHint":7}"#),
            tool(r#","name2":1,"title":"twice","title":"twice""#),
            tool(&format!(r#","other":{}"#, nested(126))),
            tool(&format!(r#","annotations":{{"other":{}}}"#, nested(125))),
            r#"{ "n\u0061me" : "p\u0075t" , "inputSchema" : { "$ref" : [1, -1, 1e3, "\n"] } }"#.to_owned(),
        ];
        let others = [
            tool(r#","name":"put""#),
            tool(r#","inputSchema":{}"#),
            tool(r#","annotations":null,"annotations":{}"#),
            tool(r#","annotations":[true,true,true]"#),
            tool(r#","annotations":7"#),
            tool(r#","annotations":{"readOnlyHint":1}"#),
            tool(r#","annotations":{"readOnlyHint":true,"readOnly\u0048int":true}"#),
            tool(r#","annotations":{"other":"\ud800"}"#),
            tool(r#","annotations":{"other":1e999}"#),
            tool(r#","other":"\ud800""#),
            tool(r#","\ud800":1"#),
            tool(&format!(r#","other":{}"#, nested(127))),
            tool(&format!(r#","annotations":{{"other":{}}}"#, nested(126))),
            r#"["put",{}]"#.to_owned(),
            r#"{"inputSchema":{}}"#.to_owned(),
            r#"{"name":null,"inputSchema":{}}"#.to_owned(),
            r#"{"name":1,"inputSchema":{}}"#.to_owned(),
            r#"{"name":"\ud800","inputSchema":{}}"#.to_owned(),
            r#"{"name":"put"}"#.to_owned(),
            r#"{"name":"put","inputSchema":null}"#.to_owned(),
            r#"{"name":"put","inputSchema":7}"#.to_owned(),
            r#"{"name":"put","inputSchema":[]}"#.to_owned(),
            r#"{"name":"put","inputSchema":{"maximum":1e999}}"#.to_owned(),
        ];
        let raw = |json: &str| RawTool::new(RawValue::from_string(json.to_owned()).expect("JSON"));
        for json in &in_order {
            let whole = InOrder::read(json).unwrap_or_else(|| panic!("{json:.80} is in order"));
            let parts = CatalogTool::read_by_parts(raw(json)).unwrap_or_else(|refusal| panic!("{refusal:?}"));
            assert_eq!((&whole.name, whole.hints), (parts.tool_name(), parts.hints()), "{json:.80}");
        }
        for json in &others {
            assert!(InOrder::read(json).is_none(), "{json:.80}");
        }
    }
}
