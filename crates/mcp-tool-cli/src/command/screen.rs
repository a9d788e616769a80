use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    sync::{Mutex, PoisonError},
};

/// Standard error: whole lines, and on a terminal one status below them that is written over.
///
/// What a server or a file wrote must not act on the terminal, so there everything goes through
/// [`visible`]. Errors are dropped: nobody is left to be told.
pub(crate) struct Screen {
    terminal: bool,
    /// Whether a status stands in the last line.
    status: Mutex<bool>,
}

impl Screen {
    pub(crate) fn stderr() -> Self {
        Self { terminal: io::stderr().is_terminal(), status: Mutex::new(false) }
    }

    /// One line, whatever is in the text: a line of its own would pass for one of ours.
    pub(crate) fn line(&self, text: &str) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let text = text.replace(['\n', '\r'], " ");
        let text = if self.terminal { visible(&text) } else { Cow::Borrowed(&*text) };
        let clear = if std::mem::take(&mut *status) { CLEAR } else { "" };
        let _ = io::stderr().lock().write_all(format!("{clear}mcp-tool: {text}\n").as_bytes());
    }

    /// Writes the status over the former one; nothing where there is no terminal.
    pub(crate) fn status(&self, text: &str) {
        if self.terminal {
            let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
            *status = true;
            let _ = io::stderr().lock().write_all(format!("{CLEAR}{}", visible(text)).as_bytes());
        }
    }

    /// Takes the status away.
    pub(crate) fn clear(&self) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *status) {
            let _ = io::stderr().lock().write_all(CLEAR.as_bytes());
        }
    }
}

/// Back to the beginning of the line, and clear it.
const CLEAR: &str = "\r\x1b[K";

/// The text with every character that could act on a terminal, or make it show something else than is
/// there, as a JSON escape. Lines and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let acts = |char: char| {
        (char.is_control() && !matches!(char, '\n' | '\t'))
            || matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if acts(char) {
            let _ = write!(shown, "\\u{:04x}", u32::from(char));
        } else {
            shown.push(char);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_act_on_a_terminal_is_made_visible() {
        let rows = [
            ("plain, with ümlaut and\ttab\n", "plain, with ümlaut and\ttab\n"),
            ("\u{1b}[2J", "\\u001b[2J"),
            ("a\rb", "a\\u000db"),
            ("\u{9b}31m", "\\u009b31m"),
            ("\u{7f}\u{8}\u{7}", "\\u007f\\u0008\\u0007"),
            ("abc\u{202e}cba\u{2066}", "abc\\u202ecba\\u2066"),
        ];
        for (text, shown) in rows {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn json_that_was_made_visible_is_the_same_json() {
        let value = serde_json::json!({ "text": "\u{9b}31m\u{202e}\u{1b}" });
        let shown = visible(&value.to_string()).into_owned();
        assert!(!shown.contains(['\u{9b}', '\u{202e}', '\u{1b}']));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
