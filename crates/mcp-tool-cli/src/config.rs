//! The `mcpServers` JSON that MCP hosts share, and which files it is read from.
//!
//! ```
//! use mcp_tool_cli::config::{Config, Reach};
//!
//! let text = r#"{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "server", "$ROOT"] } } }"#;
//! let config = Config::parse("mcp.json", text)?;
//! let files = config.entry("files").expect("it stands there");
//! let settings = files.settings(|name| (name == "ROOT").then(|| "/srv".to_owned()))?;
//! assert!(matches!(settings.reach, Reach::Stdio { args, .. } if args[2] == "/srv"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod entry;
mod expand;
mod files;
mod json;
mod settings;

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::value::RawValue;

use self::json::{Position, members, wrong_syntax};

pub use entry::{Entry, EntryError};
pub use files::{Files, Found};
pub use mcp_tool::ToolFilter;
pub use settings::{Reach, Settings};

/// The servers of one file. An entry that is of no use leaves the others usable.
///
/// Only what is asked for is read: fields that are not known here are ignored, and nothing is expanded
/// until [`Entry::settings`]. The file is never written, so nothing of it is lost either.
pub struct Config {
    file: Arc<Path>,
    entries: Vec<Entry>,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or as [`parse`](Self::parse).
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(file)
            .map_err(|error| ConfigError::Unreadable { file: file.to_owned(), error })?;
        Self::parse(file, &text)
    }

    /// Reads the text of a file; its name is for messages.
    ///
    /// # Errors
    ///
    /// When it is no JSON, or holds no object `mcpServers`. What is wrong within an entry is told by
    /// [`Entry::settings`].
    pub fn parse(file: impl AsRef<Path>, text: &str) -> Result<Self, ConfigError> {
        let file: Arc<Path> = file.as_ref().into();
        // Some editors begin a file with a mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let malformed = |at, what| ConfigError::Malformed { file: file.to_path_buf(), at, what };
        let whole: &RawValue = serde_json::from_str(text).map_err(|error| {
            let (at, what) = wrong_syntax(&error);
            malformed(at, what)
        })?;
        let top = members(whole)
            .ok_or_else(|| malformed(Position::of(text, whole), "this is not a JSON object"))?;
        let mut servers = top.iter().filter(|(name, _)| name == "mcpServers").map(|(_, value)| *value);
        let first = servers
            .next()
            .ok_or_else(|| malformed(Position::of(text, whole), "there is no `mcpServers` in this object"))?;
        if let Some(second) = servers.next() {
            return Err(malformed(
                Position::of(text, second),
                "`mcpServers` stands here for the second time",
            ));
        }
        let servers = members(first)
            .ok_or_else(|| malformed(Position::of(text, first), "`mcpServers` must be an object"))?;
        let mut entries: Vec<Entry> = Vec::new();
        for (name, value) in servers {
            let at = Position::of(text, value);
            match entries.iter_mut().find(|entry| entry.name() == name) {
                Some(former) => former.stands_twice(at),
                None => entries.push(Entry::read(file.clone(), name, text, value)),
            }
        }
        Ok(Self { file, entries })
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The entries, in their order in the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of exactly this name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name() == name)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("file", &self.file).field("entries", &self.entries).finish()
    }
}

/// Why a file is of no use. Quotes nothing of its content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{}: {error}", file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no JSON, or has another shape.
    #[error("{}:{at}: {what}", file.display())]
    Malformed {
        /// Which file.
        file: PathBuf,
        /// Where in it.
        at: Position,
        /// What is wrong there.
        what: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        Config::parse("mcp.json", text).unwrap_err().to_string()
    }

    #[test]
    fn a_malformed_file_is_told_with_line_and_column_and_nothing_of_its_content() {
        let rows = [
            ("", "mcp.json:1:1: the JSON ends too early"),
            ("{\n  \"mcpServers\": {\n    \"a\": secret\n", "mcp.json:3:10: this is not JSON"),
            ("{\"mcpServers\": {\"a\": {}}", "mcp.json:1:24: the JSON ends too early"),
            ("{\"mcpServers\": {}, }", "mcp.json:1:20: this is not JSON"),
            ("[]", "mcp.json:1:1: this is not a JSON object"),
            ("\n  {\"servers\": {}}", "mcp.json:2:3: there is no `mcpServers` in this object"),
            ("{\n\"mcpServers\": [\"secret\"]}", "mcp.json:2:15: `mcpServers` must be an object"),
            (
                "{\"mcpServers\": {},\n \"mcpServers\": {}}",
                "mcp.json:2:16: `mcpServers` stands here for the second time",
            ),
        ];
        for (text, said) in rows {
            assert_eq!(wrong(text), said, "{text}");
        }
    }

    #[test]
    fn entries_keep_their_order_and_a_name_that_stands_twice_is_of_no_use() {
        let text = "\u{feff}{\"other\": 1, \"mcpServers\": {\"b\": {\"command\": \"b\"}, \"a\": {\"command\": \"a\"},\n\
                    \"b\": {\"command\": \"c\"}}}";
        let config = Config::parse("mcp.json", text).unwrap();
        let names: Vec<_> = config.entries().iter().map(Entry::name).collect();
        assert_eq!(names, ["b", "a"]);
        assert!(config.entry("a").unwrap().settings(|_| None).is_ok());
        let error = config.entry("b").unwrap().settings(|_| None).unwrap_err();
        assert_eq!(error.to_string(), "mcp.json:2:6: server `b`: the name stands here for the second time");
        assert!(config.entry("c").is_none());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = Config::read(Path::new("/no/such/file.json")).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/file.json: "), "{error}");
    }
}
