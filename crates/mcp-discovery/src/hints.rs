use serde::Deserialize;
use serde_json::value::RawValue;

/// One hint of a tool's annotations, as the server gave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hint {
    /// Not given, or `null`. No default of the specification is filled in.
    #[default]
    Absent,
    /// Given as a boolean.
    Declared(bool),
    /// Given with another JSON type (`"true"`, `1`), or where it cannot be read.
    Malformed,
}

/// The hints of a tool that bear on running it twice, as the server declared them.
///
/// They are the server's own words: nothing here says that they are true, and `openWorldHint` is not
/// looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeclaredHints {
    /// `readOnlyHint`.
    pub read_only: Hint,
    /// `destructiveHint`.
    pub destructive: Hint,
    /// `idempotentHint`.
    pub idempotent: Hint,
}

/// The annotations, as far as they matter here. A key that stands twice is an error.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotations<'a> {
    #[serde(borrow)]
    read_only_hint: Option<&'a RawValue>,
    #[serde(borrow)]
    destructive_hint: Option<&'a RawValue>,
    #[serde(borrow)]
    idempotent_hint: Option<&'a RawValue>,
}

impl DeclaredHints {
    /// What annotations give that cannot be read at all: they are no object, or hold a hint twice.
    const UNREADABLE: Self =
        Self { read_only: Hint::Malformed, destructive: Hint::Malformed, idempotent: Hint::Malformed };

    /// Whether any hint was given in a way that cannot be read. None of the others deserves credit then.
    pub fn is_malformed(self) -> bool {
        [self.read_only, self.destructive, self.idempotent].contains(&Hint::Malformed)
    }

    /// Reads the value of `annotations`.
    pub(crate) fn read(annotations: &RawValue) -> Self {
        // A derived struct would take an array, too.
        if !annotations.get().starts_with('{') {
            return Self::UNREADABLE;
        }
        match serde_json::from_str::<Annotations<'_>>(annotations.get()) {
            Err(_) => Self::UNREADABLE,
            Ok(given) => Self {
                read_only: Hint::read(given.read_only_hint),
                destructive: Hint::read(given.destructive_hint),
                idempotent: Hint::read(given.idempotent_hint),
            },
        }
    }
}

impl Hint {
    fn read(value: Option<&RawValue>) -> Self {
        match value.map(RawValue::get) {
            None => Self::Absent,
            Some("true") => Self::Declared(true),
            Some("false") => Self::Declared(false),
            Some(_) => Self::Malformed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hint_is_read_for_itself_and_a_wrong_type_is_told_apart_from_absence() {
        use Hint::{Absent, Declared, Malformed};
        let rows = [
            (r"{}", Absent, Absent, Absent),
            (r#"{"title":"x","openWorldHint":7}"#, Absent, Absent, Absent),
            (r#"{"readOnlyHint":true}"#, Declared(true), Absent, Absent),
            (r#"{"destructiveHint":false}"#, Absent, Declared(false), Absent),
            (r#"{ "idempotentHint" : true }"#, Absent, Absent, Declared(true)),
            (r#"{"idempotentHint":null}"#, Absent, Absent, Absent),
            (r#"{"idempotentHint":"true","readOnlyHint":true}"#, Declared(true), Absent, Malformed),
            (r#"{"readOnlyHint":1}"#, Malformed, Absent, Absent),
            (r#"{"destructiveHint":[]}"#, Absent, Malformed, Absent),
            (r#"{"idempotentHint":false,"idempotentHint":true}"#, Malformed, Malformed, Malformed),
            (r#"{"idempotentHint":false,"idempotent\u0048int":true}"#, Malformed, Malformed, Malformed),
            (r"[true,true,true]", Malformed, Malformed, Malformed),
            (r#""idempotent""#, Malformed, Malformed, Malformed),
            (r"true", Malformed, Malformed, Malformed),
        ];
        for (json, read_only, destructive, idempotent) in rows {
            let hints = DeclaredHints::read(serde_json::from_str(json).unwrap());
            assert_eq!(hints, DeclaredHints { read_only, destructive, idempotent }, "{json}");
            let malformed = [read_only, destructive, idempotent].contains(&Malformed);
            assert_eq!(hints.is_malformed(), malformed, "{json}");
        }
    }
}
