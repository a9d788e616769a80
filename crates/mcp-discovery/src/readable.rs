use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// Whether the text can be read as a JSON value later on.
///
/// Raw JSON is only known to be well-formed. What still cannot be read are lone surrogates, numbers
/// beyond every range, and nesting that would exhaust the stack; they are found here without building
/// anything.
pub(crate) fn is_readable(json: &str) -> bool {
    serde_json::from_str::<Readable>(json).is_ok()
}

/// A value that can be read, of which nothing is kept.
pub(crate) struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        while fields.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, value::RawValue};

    use super::*;

    #[test]
    fn readable_is_exactly_what_a_value_can_be_made_of() {
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let texts = [
            r#"{"a":[1,-1,1.5,1e3,true,null,"x\n\u00e9",{}]}"#.to_owned(),
            r#""\ud83d\ude00""#.to_owned(),
            "18446744073709551616".to_owned(),
            r#""\ud800""#.to_owned(),
            r#"{"\ud800":1}"#.to_owned(),
            "1e999".to_owned(),
            "[-1e999]".to_owned(),
            deep(127),
            deep(128),
            deep(100_000),
        ];
        let mut unreadable = 0;
        for text in texts {
            assert!(serde_json::from_str::<&RawValue>(&text).is_ok(), "{text:.40}");
            let value = serde_json::from_str::<Value>(&text);
            assert_eq!(is_readable(&text), value.is_ok(), "{text:.40}");
            unreadable += usize::from(value.is_err());
        }
        assert_eq!(unreadable, 6);
    }
}
