//! The client's command, and what stands in it for what a row knows.

use std::{ffi::OsString, path::Path};

use mcp_tool_cli::drill::{ARGUMENTS, TOOL, Transport};
use serde_json::json;

use crate::command::nearest;

/// A command for `sh`, with placeholders.
#[derive(Clone, Debug)]
pub(super) struct Template(String);

/// How a client reaches the server of one row.
pub(super) enum Reach<'a> {
    /// The words of the command that starts it.
    Stdio(&'a [String]),
    /// Its URL.
    Http(&'a str),
}

/// A command that is ready, and its environment.
pub(super) struct Ready {
    pub(super) line: String,
    pub(super) environment: Vec<(&'static str, OsString)>,
}

const PLACEHOLDERS: [&str; 5] = ["server", "url", "config", "tool", "arguments"];

impl Template {
    pub(super) fn new(command: impl Into<String>) -> Self {
        Self(command.into())
    }

    /// The transports that its placeholders lead to.
    pub(super) fn transports(&self) -> Vec<Transport> {
        match (self.has("server"), self.has("url"), self.has("config")) {
            (true, false, _) => vec![Transport::Stdio],
            (false, true, _) => vec![Transport::Http],
            (true, true, _) | (false, false, true) => vec![Transport::Stdio, Transport::Http],
            // A script that takes all from its environment.
            (false, false, false) => vec![Transport::Stdio],
        }
    }

    /// Whether something in it tells the client where the server is.
    pub(super) fn leads_to_a_server(&self) -> bool {
        ["server", "url", "config"].into_iter().any(|name| self.has(name))
    }

    /// What was meant by something in braces that is no placeholder, perhaps.
    pub(super) fn suggestion(&self) -> String {
        let in_braces = self.0.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
        let unknown = in_braces.filter(|word| !PLACEHOLDERS.contains(word));
        let mut meant = unknown.map(|word| nearest::suggestion(word, PLACEHOLDERS));
        meant.find(|meant| !meant.is_empty()).unwrap_or_default()
    }

    /// The command for one row. `config` is where its `mcpServers` file is.
    pub(super) fn fill(&self, reach: &Reach<'_>, config: &Path) -> Ready {
        let (server, url) = match reach {
            Reach::Stdio(words) => (words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "), ""),
            Reach::Http(url) => (String::new(), *url),
        };
        let config_text = config.to_string_lossy();
        let values = [server.clone(), quoted(url), quoted(&config_text), quoted(TOOL), quoted(ARGUMENTS)];
        let mut environment: Vec<(&'static str, OsString)> = vec![
            ("MCP_DRILL_CONFIG", config.into()),
            ("MCP_DRILL_TOOL", TOOL.into()),
            ("MCP_DRILL_ARGUMENTS", ARGUMENTS.into()),
        ];
        environment.push(match reach {
            Reach::Stdio(_) => ("MCP_DRILL_SERVER", server.into()),
            Reach::Http(url) => ("MCP_DRILL_URL", (*url).into()),
        });
        Ready { line: self.with(&values), environment }
    }

    fn has(&self, name: &str) -> bool {
        self.0.match_indices(&format!("{{{name}}}")).any(|(place, _)| !self.is_of_the_shell(place))
    }

    /// `${url}` is a variable of the shell's.
    fn is_of_the_shell(&self, place: usize) -> bool {
        self.0[..place].ends_with('$')
    }

    fn with(&self, values: &[String; 5]) -> String {
        let (mut line, mut rest) = (String::new(), 0);
        while let Some(found) = self.0[rest..].find('{') {
            let place = rest + found;
            line.push_str(&self.0[rest..place]);
            let after = &self.0[place + 1..];
            let name = after.split_once('}').map(|(name, _)| name);
            let known = name.and_then(|name| PLACEHOLDERS.iter().position(|known| *known == name));
            match known.filter(|_| !self.is_of_the_shell(place)) {
                Some(index) => {
                    line.push_str(&values[index]);
                    rest = place + PLACEHOLDERS[index].len() + 2;
                }
                None => {
                    line.push('{');
                    rest = place + 1;
                }
            }
        }
        line + &self.0[rest..]
    }
}

impl Reach<'_> {
    /// The `mcpServers` file that names the server `drill`.
    pub(super) fn config(&self) -> String {
        let server = match self {
            Self::Stdio(words) => json!({"command": words[0], "args": words[1..]}),
            Self::Http(url) => json!({"type": "http", "url": url}),
        };
        json!({"mcpServers": {"drill": server}}).to_string()
    }
}

/// One word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_-./:=,@%+".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(command: &str, reach: &Reach<'_>) -> String {
        Template::new(command).fill(reach, Path::new("/a b/c.json")).line
    }

    #[test]
    fn a_placeholder_becomes_words_of_the_shell_and_everything_else_stays() {
        let words = ["a b".to_owned(), "--it's".to_owned(), "c".to_owned()];
        let (stdio, http) = (Reach::Stdio(&words), Reach::Http("http://127.0.0.1:1/mcp"));
        let rows = [
            ("x {server} y", r"x 'a b' '--it'\''s' c y"),
            ("x {url}", "x ''"),
            ("{config}", "'/a b/c.json'"),
            ("{tool} {arguments}", r#"write '{"key":"drill","value":"1"}'"#),
            ("${url} {a,b} {\"x\":{tool}} {", "${url} {a,b} {\"x\":write} {"),
            ("ü{tool}ü", "üwriteü"),
        ];
        for (command, line) in rows {
            assert_eq!(filled(command, &stdio), line);
        }
        assert_eq!(filled("x {url} {server}", &http), "x http://127.0.0.1:1/mcp ");
    }

    #[test]
    fn the_placeholders_say_which_transports_are_meant() {
        let (stdio, http) = (Transport::Stdio, Transport::Http);
        let rows = [
            ("x {server}", vec![stdio]),
            ("x {url}", vec![http]),
            ("x {config}", vec![stdio, http]),
            ("x {server} {url}", vec![stdio, http]),
            ("x ${url}", vec![stdio]),
        ];
        for (command, transports) in rows {
            assert_eq!(Template::new(command).transports(), transports, "{command}");
        }
    }

    #[test]
    fn a_mistyped_placeholder_is_recognised() {
        assert_eq!(Template::new("x {sever}").suggestion(), " (did you mean `server`?)");
        assert_eq!(Template::new("x {a,b} ${HOME}").suggestion(), "");
    }
}
