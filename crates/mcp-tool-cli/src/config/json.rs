use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};

/// A place in a file, counted from 1; columns are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    line: usize,
    column: usize,
}

impl Position {
    /// Where a part of a text begins in it.
    pub(super) fn of(text: &str, part: &RawValue) -> Self {
        let offset = (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let before = text.as_bytes().get(..offset).unwrap_or_default();
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            column: before.len() - line_start + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Where and why a text is no JSON. serde_json's own words may quote it.
pub(super) fn wrong_syntax(error: &serde_json::Error) -> (Position, &'static str) {
    let what = match error.classify() {
        Category::Eof => "the JSON ends too early",
        Category::Io | Category::Syntax | Category::Data => "this is not JSON",
    };
    (Position { line: error.line().max(1), column: error.column().max(1) }, what)
}

/// The members of an object, in their order, those that stand twice included; none for anything else.
pub(super) fn members(value: &RawValue) -> Option<Vec<(String, &RawValue)>> {
    serde_json::from_str(value.get()).ok().map(|Members(members)| members)
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
