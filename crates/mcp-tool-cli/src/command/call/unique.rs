use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

/// The first key that stands twice in one object of this JSON text, with the keys above it. A server may
/// take the one or the other.
pub(super) fn repeated_key(json: &str) -> Option<String> {
    serde_json::from_str::<Unique>(json).ok()?.0
}

/// Any JSON value, looked at for a key that stands twice.
struct Unique(Option<String>);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let (mut keys, mut found) = (Vec::new(), None);
        while let Some((key, value)) = map.next_entry::<String, Unique>()? {
            if found.is_none() {
                found = if keys.contains(&key) {
                    Some(key.clone())
                } else {
                    value.0.map(|below| format!("{key}.{below}"))
                };
            }
            keys.push(key);
        }
        Ok(Unique(found))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        let (mut place, mut found) = (0, None);
        while let Some(Unique(below)) = items.next_element()? {
            found = found.or_else(|| below.map(|below| format!("{place}.{below}")));
            place += 1;
        }
        Ok(Unique(found))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique(None))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique(None))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique(None))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique(None))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique(None))
    }

    fn visit_unit<E: Error>(self) -> Result<Unique, E> {
        Ok(Unique(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_found_at_any_depth() {
        let rows = [
            (r#"{"a": 1, "b": {"a": [true, null, -1, 1.5, "a"]}}"#, None),
            (r#"{"a": 1, "a": 1}"#, Some("a")),
            (r#"{"a": 1, "\u0061": 1}"#, Some("a")),
            (r#"{"a": {"b": [0, {"c": 1, "d": 2, "c": 3}]}}"#, Some("a.b.1.c")),
            ("5", None),
            ("{", None),
        ];
        for (json, key) in rows {
            assert_eq!(repeated_key(json).as_deref(), key, "{json}");
        }
    }
}
