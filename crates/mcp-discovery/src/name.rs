use std::{fmt, sync::Arc};

/// The most bytes of a tool's name that are printed.
const SHOWN: usize = 128;

/// A tool's name, chosen by the server: `Display` and `Debug` escape it and stop after 128 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// The name exactly as the server gave it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl<T: Into<Arc<str>>> From<T> for ToolName {
    fn from(name: T) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut room = SHOWN;
        for char in self.0.chars() {
            let escaped = char.escape_debug();
            let bytes: usize = escaped.clone().map(char::len_utf8).sum();
            if bytes > room {
                return f.write_str("…");
            }
            room -= bytes;
            write!(f, "{escaped}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_name_is_escaped_and_capped() {
        assert_eq!(ToolName::from("put").to_string(), "put");
        assert_eq!(ToolName::from("a\n\u{1b}[31m\u{202e}\"").to_string(), r#"a\n\u{1b}[31m\u{202e}\""#);
        assert_eq!(ToolName::from("ü".repeat(64)).to_string(), "ü".repeat(64));
        assert_eq!(ToolName::from("ü".repeat(65)).to_string(), format!("{}…", "ü".repeat(64)));
        // An escape is never cut in the middle.
        assert_eq!(
            ToolName::from(format!("{}\n", "x".repeat(127))).to_string(),
            format!("{}…", "x".repeat(127))
        );
        assert_eq!(format!("{:?}", ToolName::from("put")), "\"put\"");
    }
}
