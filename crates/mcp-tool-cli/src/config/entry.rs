use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mcp_tool::ToolFilter;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    expand::{Unexpandable, expand},
    json::{Position, members},
    settings::{Reach, Settings},
};

/// One server of a file. `Debug` shows its name only.
#[derive(Clone)]
pub struct Entry {
    file: Arc<Path>,
    name: String,
    at: Position,
    fields: Result<Fields, Wrong>,
}

/// Why an entry is of no use. Quotes no value of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{at}: server `{name}`: {what}", file.display())]
pub struct EntryError {
    file: PathBuf,
    at: Position,
    name: String,
    what: String,
}

/// What is wrong with an entry, and where.
#[derive(Clone)]
struct Wrong {
    at: Position,
    what: String,
}

/// The fields that are known here, as they stand there.
#[derive(Clone, Default)]
struct Fields {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    http_url: Option<String>,
    headers: BTreeMap<String, String>,
    kind: Option<String>,
    timeout: Option<Duration>,
    trust: bool,
    tools: ToolFilter,
}

impl Entry {
    pub(super) fn read(file: Arc<Path>, name: String, text: &str, value: &RawValue) -> Self {
        let at = Position::of(text, value);
        Self { file, name, at, fields: Fields::read(text, value) }
    }

    pub(super) fn stands_twice(&mut self, at: Position) {
        self.fields = Err(Wrong { at, what: "the name stands here for the second time".into() });
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that it stands in.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What the entry says, with variables from where the caller says: [`std::env::var`], usually.
    ///
    /// `$NAME` and `${NAME}` expand in `command`, `args`, the values of `env` and `headers`, `cwd` and
    /// the URL; `$$` is a dollar sign.
    ///
    /// # Errors
    ///
    /// When a field has the wrong type, a variable is not set, or the entry does not say how the server
    /// is reached.
    pub fn settings(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Settings, EntryError> {
        let error =
            |at, what| EntryError { file: self.file.to_path_buf(), at, name: self.name.clone(), what };
        let fields = self.fields.as_ref().map_err(|wrong| error(wrong.at, wrong.what.clone()))?;
        let reach = fields.reach(&variable).map_err(|what| error(self.at, what))?;
        Ok(Settings { reach, timeout: fields.timeout, trust: fields.trust, tools: fields.tools.clone() })
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Fields {
    fn read(text: &str, value: &RawValue) -> Result<Self, Wrong> {
        let wrong = |value: &RawValue, what: &str| Wrong { at: Position::of(text, value), what: what.into() };
        let members = members(value).ok_or_else(|| wrong(value, "the entry must be an object"))?;
        let mut fields = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for (name, value) in &members {
            if value.get() == "null" {
                continue;
            }
            let must_be = |what: &str| wrong(value, &format!("`{name}` must be {what}"));
            let string = || read_as(value).ok_or_else(|| must_be("a string"));
            let strings = || read_as(value).ok_or_else(|| must_be("an array of strings"));
            let map = || read_as(value).ok_or_else(|| must_be("an object whose values are strings"));
            match name.as_str() {
                "command" => fields.command = Some(string()?),
                "args" => fields.args = strings()?,
                "env" => fields.env = map()?,
                "cwd" => fields.cwd = Some(string()?),
                "url" => fields.url = Some(string()?),
                "httpUrl" => fields.http_url = Some(string()?),
                "headers" => fields.headers = map()?,
                "type" => fields.kind = Some(string()?),
                "timeout" => {
                    let millis = read_as(value).filter(|millis| *millis > 0);
                    let millis =
                        millis.ok_or_else(|| must_be("a whole number of milliseconds, above zero"))?;
                    fields.timeout = Some(Duration::from_millis(millis));
                }
                "trust" => fields.trust = read_as(value).ok_or_else(|| must_be("true or false"))?,
                "includeTools" => fields.tools = fields.tools.including(strings()?),
                "excludeTools" => fields.tools = fields.tools.excluding(strings()?),
                _ => continue,
            }
            if seen.contains(&name.as_str()) {
                return Err(wrong(value, &format!("`{name}` stands here for the second time")));
            }
            seen.push(name);
        }
        Ok(fields)
    }

    fn reach(&self, variable: &impl Fn(&str) -> Option<String>) -> Result<Reach, String> {
        let expanded = |field: &str, text: &str| {
            expand(text, variable).map_err(|error| match error {
                Unexpandable::Unset(name) => {
                    format!("`{field}` refers to the environment variable `{name}`, which is not set")
                }
                Unexpandable::NoName => {
                    format!("`{field}` has a `${{` without a name and `}}` after it; `$$` is a dollar sign")
                }
            })
        };
        let all = |field: &str, map: &BTreeMap<String, String>| {
            let pair = |(name, value): (&String, &String)| {
                Ok((name.clone(), expanded(&format!("{field}.{name}"), value)?))
            };
            map.iter().map(pair).collect::<Result<BTreeMap<_, _>, String>>()
        };
        let http = |field: &str, url: &str| {
            Ok(Reach::Http { url: expanded(field, url)?, headers: all("headers", &self.headers)? })
        };
        let stdio = |command: &str| {
            Ok(Reach::Stdio {
                command: expanded("command", command)?,
                args: self.args.iter().map(|arg| expanded("args", arg)).collect::<Result<_, _>>()?,
                env: all("env", &self.env)?,
                cwd: self.cwd.as_deref().map(|cwd| expanded("cwd", cwd).map(PathBuf::from)).transpose()?,
            })
        };
        let url = self.http_url.as_deref().map(|url| ("httpUrl", url));
        let url = url.or(self.url.as_deref().map(|url| ("url", url)));
        match (self.kind.as_deref(), url, &self.command) {
            (Some("sse"), ..) => Err("`type` is the SSE transport of 2024, which is not supported: use the \
                                      server's Streamable HTTP URL, with the type \"http\""
                .into()),
            (Some("stdio"), _, Some(command)) | (None, None, Some(command)) => stdio(command),
            (Some("stdio"), _, None) => Err("a server of type \"stdio\" needs a `command`".into()),
            (Some("http" | "streamable-http" | "streamableHttp"), Some((field, url)), _)
            | (None, Some((field, url)), None) => http(field, url),
            (Some("http" | "streamable-http" | "streamableHttp"), None, _) => {
                Err("a server of type \"http\" needs a `url`".into())
            }
            (Some(_), ..) => Err("`type` must be \"stdio\" or \"http\"".into()),
            (None, Some(_), Some(_)) => {
                Err("there are both `command` and a URL: say by `type` which of them is meant".into())
            }
            (None, None, None) => Err("there is neither a `command` nor a `url`".into()),
        }
    }
}

/// A value of this type; none for any other, whose content an error of serde's would quote.
fn read_as<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    const SECRET: &str = "hunter2";

    fn settings(entry: &str) -> Result<Settings, String> {
        let text = format!("{{\"mcpServers\": {{\"it\":\n  {entry}}}}}");
        let config = Config::parse("mcp.json", &text).unwrap();
        let entry = config.entry("it").unwrap();
        assert!(!format!("{config:?}").contains(SECRET));
        let variable = |name: &str| (name == "SET").then(|| "value".to_owned());
        entry.settings(variable).map_err(|error| error.to_string())
    }

    fn strings<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn a_process_with_everything() {
        let read = settings(
            r#"{"command": "$SET/bin", "args": ["-y", "${SET}", "$$SET"], "env": {"A": "$SET", "$SET": "b"},
                "cwd": "/srv/$SET", "timeout": 1500, "trust": true, "includeTools": ["a", "b"],
                "excludeTools": ["b"], "type": "stdio", "description": {"unknown": [1]}, "url": null}"#,
        )
        .unwrap();
        let reach = Reach::Stdio {
            command: "value/bin".into(),
            args: ["-y", "value", "$SET"].map(str::to_owned).into(),
            env: strings([("A", "value"), ("$SET", "b")]),
            cwd: Some("/srv/value".into()),
        };
        assert_eq!(read.reach, reach);
        assert_eq!((read.timeout, read.trust), (Some(Duration::from_millis(1500)), true));
        let allowed = ["a", "b", "c"].map(|tool| read.tools.allows(tool));
        assert_eq!(allowed, [true, false, false], "what is excluded wins");
    }

    #[test]
    fn the_defaults_trust_nothing_and_allow_every_tool() {
        let read = settings(r#"{"command": "server"}"#).unwrap();
        let reach =
            Reach::Stdio { command: "server".into(), args: Vec::new(), env: BTreeMap::new(), cwd: None };
        let expected = Settings { reach, timeout: None, trust: false, tools: ToolFilter::default() };
        assert_eq!(read, expected);
        assert!(read.tools.allows("anything"));
    }

    #[test]
    fn a_url_in_its_forms() {
        let http = |url: &str, headers| Reach::Http { url: url.into(), headers };
        let none = BTreeMap::new;
        let rows = [
            (r#"{"url": "http://$SET/"}"#, http("http://value/", none())),
            (r#"{"httpUrl": "http://b", "url": "http://a"}"#, http("http://b", none())),
            (r#"{"type": "streamable-http", "url": "http://a"}"#, http("http://a", none())),
            (r#"{"type": "streamableHttp", "url": "http://a"}"#, http("http://a", none())),
            (r#"{"type": "http", "url": "http://a", "command": "x"}"#, http("http://a", none())),
            (
                r#"{"url": "http://a", "headers": {"Authorization": "Bearer $SET"}}"#,
                http("http://a", strings([("Authorization", "Bearer value")])),
            ),
        ];
        for (entry, reach) in rows {
            assert_eq!(settings(entry).unwrap().reach, reach, "{entry}");
        }
    }

    #[test]
    fn what_is_wrong_with_an_entry_is_told_with_its_place_and_without_its_values() {
        let here = |at: &str, what: &str| format!("mcp.json:{at}: server `it`: {what}");
        let rows = [
            (r#""hunter2""#, "2:3", "the entry must be an object"),
            (r#"{"command": ["hunter2"]}"#, "2:15", "`command` must be a string"),
            (r#"{"command": "x", "args": "hunter2"}"#, "2:28", "`args` must be an array of strings"),
            (r#"{"command": "x", "args": ["a", 1]}"#, "2:28", "`args` must be an array of strings"),
            (
                r#"{"command": "x", "env": {"A": 1}}"#,
                "2:27",
                "`env` must be an object whose values are strings",
            ),
            (
                r#"{"url": "x", "headers": ["hunter2"]}"#,
                "2:27",
                "`headers` must be an object whose values are strings",
            ),
            (
                r#"{"command": "x", "timeout": "hunter2"}"#,
                "2:31",
                "`timeout` must be a whole number of milliseconds, above zero",
            ),
            (
                r#"{"command": "x", "timeout": 0}"#,
                "2:31",
                "`timeout` must be a whole number of milliseconds, above zero",
            ),
            (
                r#"{"command": "x", "timeout": -5}"#,
                "2:31",
                "`timeout` must be a whole number of milliseconds, above zero",
            ),
            (r#"{"command": "x", "trust": "true"}"#, "2:29", "`trust` must be true or false"),
            (r#"{"command": "x", "command": "y"}"#, "2:31", "`command` stands here for the second time"),
            (
                r#"{"command": "$NOT"}"#,
                "2:3",
                "`command` refers to the environment variable `NOT`, which is not set",
            ),
            (
                r#"{"command": "x", "env": {"T": "hunter2${NOT}"}}"#,
                "2:3",
                "`env.T` refers to the environment variable `NOT`, which is not set",
            ),
            (
                r#"{"url": "http://a/${"}"#,
                "2:3",
                "`url` has a `${` without a name and `}` after it; `$$` is a dollar sign",
            ),
            (
                r#"{"type": "stdio", "url": "http://a"}"#,
                "2:3",
                "a server of type \"stdio\" needs a `command`",
            ),
            (r#"{"type": "http", "command": "x"}"#, "2:3", "a server of type \"http\" needs a `url`"),
            (r#"{"type": "hunter2", "command": "x"}"#, "2:3", "`type` must be \"stdio\" or \"http\""),
            (
                r#"{"url": "http://a", "command": "x"}"#,
                "2:3",
                "there are both `command` and a URL: say by `type` which of them is meant",
            ),
            (r#"{"args": []}"#, "2:3", "there is neither a `command` nor a `url`"),
        ];
        for (entry, at, what) in rows {
            let error = settings(entry).unwrap_err();
            assert_eq!(error, here(at, what), "{entry}");
            assert!(!error.contains(SECRET), "{error}");
        }
        let sse = settings(r#"{"type": "sse", "url": "http://a/sse"}"#).unwrap_err();
        assert!(sse.contains("SSE transport of 2024, which is not supported"), "{sse}");
    }

    #[test]
    fn secrets_are_not_in_what_is_printed_for_debugging() {
        for entry in [
            r#"{"command": "x", "args": ["--token=hunter2"], "env": {"TOKEN": "hunter2"}}"#,
            r#"{"url": "http://a/?key=hunter2", "headers": {"X": "hunter2"}}"#,
        ] {
            let shown = format!("{:?}", settings(entry).unwrap());
            assert!(!shown.contains(SECRET), "{shown}");
        }
    }
}
