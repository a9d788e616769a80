/// Why a text cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unexpandable {
    /// The environment has no variable of this name.
    Unset(String),
    /// `${` is not followed by a name and `}`.
    NoName,
}

/// Replaces `$NAME` and `${NAME}` by the variable's value and `$$` by `$`. Any other `$` stays, and what
/// was put in is not expanded again. A name is letters, digits and `_`, and does not begin with a digit.
pub(super) fn expand(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, Unexpandable> {
    let value = |name: &str| variable(name).ok_or_else(|| Unexpandable::Unset(name.to_owned()));
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        if let Some(braced) = after.strip_prefix('{') {
            let (name, after) = braced.split_once('}').ok_or(Unexpandable::NoName)?;
            if name.is_empty() || name_length(name) != name.len() {
                return Err(Unexpandable::NoName);
            }
            expanded.push_str(&value(name)?);
            rest = after;
        } else if let Some(after) = after.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else {
            let (name, after) = after.split_at(name_length(after));
            if name.is_empty() {
                expanded.push('$');
            } else {
                expanded.push_str(&value(name)?);
            }
            rest = after;
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// How much of the beginning of a text is a variable's name.
fn name_length(text: &str) -> usize {
    if text.starts_with(|char: char| char.is_ascii_digit()) {
        return 0;
    }
    text.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_expand_in_both_forms_and_everything_else_stays() {
        let variable = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "A_b2" => Some("$A".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let unset = |name: &str| Err(Unexpandable::Unset(name.to_owned()));
        let ok = |text: &str| Ok(text.to_owned());
        let rows = [
            ("", ok("")),
            ("plain", ok("plain")),
            ("$A", ok("1")),
            ("${A}", ok("1")),
            ("x${A}y$A/z", ok("x1y1/z")),
            ("$A_b2", ok("$A")),
            ("${A}_b2", ok("1_b2")),
            ("[$EMPTY]", ok("[]")),
            ("$$A $$", ok("$A $")),
            ("$$$A", ok("$1")),
            ("$", ok("$")),
            ("5$ or $5, $ä", ok("5$ or $5, $ä")),
            ("ü$A", ok("ü1")),
            ("$MISSING", unset("MISSING")),
            ("a ${MISSING} b", unset("MISSING")),
            ("${A", Err(Unexpandable::NoName)),
            ("${}", Err(Unexpandable::NoName)),
            ("${A:-x}", Err(Unexpandable::NoName)),
            ("${1}", Err(Unexpandable::NoName)),
        ];
        for (text, expanded) in rows {
            assert_eq!(expand(text, &variable), expanded, "{text}");
        }
    }
}
