//! The tools a server lists.
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// One tool, as it is listed. Nothing is checked, so that a definition can be wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    name: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    fields: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<Value>,
    #[serde(default, skip_serializing_if = "is_zero")]
    padding: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl ToolSpec {
    /// A tool without annotations, description or properties.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), fields: Map::new(), raw: None, padding: 0 }
    }

    /// Its `annotations`: any JSON, so that hints of the wrong type are possible. Default: absent.
    pub fn annotations(self, annotations: Value) -> Self {
        self.field("annotations", annotations)
    }

    /// Its `description`. Default: absent.
    pub fn description(self, description: impl Into<String>) -> Self {
        self.field("description", Value::String(description.into()))
    }

    /// Its `inputSchema`. Default: an object with any properties.
    pub fn input_schema(self, schema: Value) -> Self {
        self.field("inputSchema", schema)
    }

    /// Any other field of the definition, such as `outputSchema` or `title`.
    pub fn field(mut self, name: impl Into<String>, value: Value) -> Self {
        self.fields.insert(name.into(), value);
        self
    }

    /// A description of this many bytes, made when the tool is listed. Default: 0, no such description.
    pub fn padding(mut self, bytes: usize) -> Self {
        self.padding = bytes;
        self
    }

    /// Lists this JSON in place of a definition; calls still go by [`new`](Self::new)'s name.
    pub fn raw(mut self, definition: Value) -> Self {
        self.raw = Some(definition);
        self
    }

    fn definition(&self) -> Value {
        if let Some(raw) = &self.raw {
            return raw.clone();
        }
        let mut definition = Map::new();
        definition.insert("name".to_owned(), json!(self.name));
        definition.insert("inputSchema".to_owned(), json!({"type": "object"}));
        if self.padding > 0 {
            definition.insert("description".to_owned(), json!("x".repeat(self.padding)));
        }
        definition.extend(self.fields.clone());
        Value::Object(definition)
    }
}

/// A server's tools in the order in which they are listed. A name may occur more than once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tools(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    One(ToolSpec),
    Numbered { prefix: String, count: usize },
}

impl Tools {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one tool.
    pub fn with(mut self, tool: ToolSpec) -> Self {
        self.0.push(Entry::One(tool));
        self
    }

    /// Adds `count` plain tools, named `prefix` and their number from 0 on.
    pub fn with_numbered(mut self, prefix: impl Into<String>, count: usize) -> Self {
        self.0.push(Entry::Numbered { prefix: prefix.into(), count });
        self
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(Entry::len).sum()
    }

    /// The definitions from the `skip`th on, at most `take` of them.
    pub(super) fn definitions(&self, skip: usize, take: usize) -> Vec<Value> {
        let mut skip = skip;
        let mut found = Vec::new();
        for entry in &self.0 {
            let here = skip.min(entry.len());
            let until = entry.len().min(here.saturating_add(take - found.len()));
            found.extend((here..until).map(|index| entry.definition(index)));
            skip -= here;
        }
        found
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|entry| match entry {
            Entry::One(tool) => tool.name == name,
            Entry::Numbered { prefix, count } => name
                .strip_prefix(prefix.as_str())
                .and_then(|number| number.parse::<usize>().ok())
                .is_some_and(|number| number < *count),
        })
    }
}

impl FromIterator<ToolSpec> for Tools {
    fn from_iter<I: IntoIterator<Item = ToolSpec>>(tools: I) -> Self {
        Self(tools.into_iter().map(Entry::One).collect())
    }
}

impl Entry {
    fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Numbered { count, .. } => *count,
        }
    }

    fn definition(&self, index: usize) -> Value {
        match self {
            Self::One(tool) => tool.definition(),
            Self::Numbered { prefix, .. } => ToolSpec::new(format!("{prefix}{index}")).definition(),
        }
    }
}
