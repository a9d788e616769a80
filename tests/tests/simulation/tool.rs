//! What the simulated server lists.

use serde_json::{Value, json};

use crate::numbers::Numbers;

/// The names of the two tools. Each stands on a page of its own.
pub(crate) const NAMES: [&str; 2] = ["put", "get"];

/// How one tool is listed during one life of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) hints: Hints,
    pub(crate) schema: Schema,
    pub(crate) listed: Listed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hints {
    Absent,
    Idempotent,
    ReadOnly,
    NotIdempotent,
    Contradictory,
    WrongType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schema {
    Old,
    New,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    Once,
    /// With two definitions under one name.
    Twice,
    Never,
}

impl Definition {
    pub(crate) fn draw(numbers: &mut Numbers) -> Self {
        let hints = match numbers.below(10) {
            0 | 1 => Hints::Absent,
            2..=4 => Hints::Idempotent,
            5 => Hints::ReadOnly,
            6 | 7 => Hints::NotIdempotent,
            8 => Hints::Contradictory,
            _ => Hints::WrongType,
        };
        Self { hints, schema: Schema::Old, listed: Listed::Once }
    }

    /// What a server lists after it was changed.
    pub(crate) fn changed(self, numbers: &mut Numbers) -> Self {
        match numbers.below(4) {
            0 => Self { schema: Schema::New, ..self },
            1 => Self { listed: [Listed::Never, Listed::Twice][numbers.below(2) as usize], ..self },
            _ => Self::draw(numbers),
        }
    }

    /// Whether running it twice is declared to do no harm. Written from the rule, not from the code.
    pub(crate) fn is_declared_safe(self) -> bool {
        matches!(self.hints, Hints::Idempotent | Hints::ReadOnly) && self.listed == Listed::Once
    }

    /// What stands in the page. The number tells later from which listing a catalog was made.
    pub(crate) fn json(self, name: &str, listing: usize) -> Vec<Value> {
        let annotations = match self.hints {
            Hints::Absent => Value::Null,
            Hints::Idempotent => json!({"idempotentHint": true}),
            Hints::ReadOnly => json!({"readOnlyHint": true, "destructiveHint": false}),
            Hints::NotIdempotent => json!({"idempotentHint": false, "readOnlyHint": false}),
            Hints::Contradictory => json!({"readOnlyHint": true, "destructiveHint": true}),
            Hints::WrongType => json!({"idempotentHint": "yes"}),
        };
        let schema = match self.schema {
            Schema::Old => json!({"type": "object"}),
            Schema::New => json!({"type": "object", "required": ["key"]}),
        };
        let mut tool = json!({"name": name, "inputSchema": schema, "_meta": {"listing": listing}});
        if !annotations.is_null() {
            tool["annotations"] = annotations;
        }
        let mut other = tool.clone();
        other["description"] = "Another of this name".into();
        match self.listed {
            Listed::Once => vec![tool],
            Listed::Twice => vec![tool, other],
            Listed::Never => Vec::new(),
        }
    }
}
