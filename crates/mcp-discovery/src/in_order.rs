use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

use crate::{DeclaredHints, Hint, ToolName, readable::Readable};

/// What a tool says that can be called and in which nothing is odd: read in one pass over its text.
///
/// Everything else is an error here, whatever is the matter with it: who looks at the parts one by one
/// finds out.
pub(crate) struct InOrder {
    pub(crate) name: ToolName,
    pub(crate) hints: Option<DeclaredHints>,
}

impl InOrder {
    pub(crate) fn read(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Field {
    Name,
    InputSchema,
    Annotations,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for InOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tool;

        impl<'de> Visitor<'de> for Tool {
            type Value = InOrder;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a tool")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<InOrder, A::Error> {
                let (mut name, mut schema, mut hints) = (None, None, None);
                while let Some(field) = fields.next_key()? {
                    match field {
                        Field::Name => once(&mut name, fields.next_value::<String>()?)?,
                        Field::InputSchema => once(&mut schema, fields.next_value::<Object>()?)?,
                        Field::Annotations => once(&mut hints, fields.next_value::<Option<Hints>>()?)?,
                        Field::Other => {
                            fields.next_value::<Readable>()?;
                        }
                    }
                }
                match (name, schema) {
                    (Some(name), Some(Object)) => {
                        let hints = hints.flatten().map(|Hints(hints)| hints);
                        Ok(InOrder { name: name.into(), hints })
                    }
                    _ => Err(A::Error::custom("no name, or no schema")),
                }
            }
        }

        deserializer.deserialize_map(Tool)
    }
}

/// A readable object, of which nothing is kept.
struct Object;

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not whatever there is: a number can pass for an object then (serde_json's arbitrary_precision).
        deserializer.deserialize_map(Readable).map(|_| Self)
    }
}

/// Annotations that are an object, with hints that are booleans.
struct Hints(DeclaredHints);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum HintField {
    ReadOnlyHint,
    DestructiveHint,
    IdempotentHint,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for Hints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Annotations;

        impl<'de> Visitor<'de> for Annotations {
            type Value = Hints;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("annotations")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Hints, A::Error> {
                let (mut read_only, mut destructive, mut idempotent) = (None, None, None);
                while let Some(field) = fields.next_key()? {
                    let place = match field {
                        HintField::ReadOnlyHint => &mut read_only,
                        HintField::DestructiveHint => &mut destructive,
                        HintField::IdempotentHint => &mut idempotent,
                        HintField::Other => {
                            fields.next_value::<Readable>()?;
                            continue;
                        }
                    };
                    let value = fields.next_value::<Option<bool>>()?;
                    once(place, value.map_or(Hint::Absent, Hint::Declared))?;
                }
                Ok(Hints(DeclaredHints {
                    read_only: read_only.unwrap_or_default(),
                    destructive: destructive.unwrap_or_default(),
                    idempotent: idempotent.unwrap_or_default(),
                }))
            }
        }

        deserializer.deserialize_map(Annotations)
    }
}

fn once<T, E: Error>(place: &mut Option<T>, value: T) -> Result<(), E> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::custom("a field stands twice")),
    }
}
