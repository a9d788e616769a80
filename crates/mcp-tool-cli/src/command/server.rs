use std::{env, ffi::OsString, path::PathBuf, process::Command, sync::Arc, time::Duration};

use clap::Args;
use mcp_tool::{
    Connector, HttpConnector, StdioConnector,
    mcp_transport::reqwest::header::{HeaderName, HeaderValue},
};
use mcp_tool_cli::{
    config::{self, Entry, Files, ToolFilter},
    trusted_folders::{TrustedFolders, user_directory},
};

use super::{nearest, policy::Configured, problem::Problem, screen::Screen};

/// Which server. Shared by all commands that reach one.
#[derive(Args)]
#[command(next_help_heading = "Server (one of --server, --url, -- COMMAND)")]
pub(crate) struct ServerOptions {
    /// A configured server, by its name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "command"])]
    server: Option<String>,
    /// The file with the configured servers
    ///
    /// Without it: mcp-tool/mcp.json in $XDG_CONFIG_HOME or ~/.config and, where the folder is trusted,
    /// ./.mcp.json.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "command"])]
    config: Option<PathBuf>,
    /// A server over Streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// A header of every request; repeatable
    #[arg(long, value_name = "NAME: VALUE", conflicts_with_all = ["server", "config", "command"])]
    header: Vec<String>,
    /// A server to start; last on the line
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A server that can be reached: how, and what is configured about it.
pub(crate) struct Server {
    /// None for a server that was given on the command line.
    pub(crate) name: Option<String>,
    pub(crate) tools: ToolFilter,
    pub(crate) trust: Configured,
    pub(crate) timeout: Option<Duration>,
    pub(super) reach: Reach,
}

/// How a server is reached.
pub(crate) enum Reach {
    Stdio {
        connector: Box<StdioConnector>,
        /// What the connector starts.
        launch: Launch,
        /// What its command is called where that is told: not by a text that variables have expanded in.
        called: String,
    },
    Http(Box<HttpConnector>),
}

impl Reach {
    /// What connects to it.
    pub(crate) fn connector(&self) -> Arc<dyn Connector> {
        match self {
            Self::Stdio { connector, .. } => Arc::new((**connector).clone()),
            Self::Http(connector) => Arc::new((**connector).clone()),
        }
    }
}

/// How a process is started.
pub(crate) struct Launch {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(String, String)>,
    folder: Option<PathBuf>,
}

impl Launch {
    fn connector(&self) -> Box<StdioConnector> {
        let mut connector = StdioConnector::new(&self.program).args(&self.arguments);
        for (name, value) in &self.environment {
            connector = connector.env(name, value);
        }
        Box::new(match &self.folder {
            Some(folder) => connector.current_dir(folder),
            None => connector,
        })
    }

    /// The same as a command.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has the probe that starts it"))]
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }
}

/// A server of the configuration, or why it is of no use.
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) server: Result<Server, Problem>,
}

impl ServerOptions {
    /// The one server that is meant.
    pub(crate) fn one(self) -> Result<Server, Problem> {
        match &self.server {
            Some(name) => configured(&self.files(), name),
            None => self.given()?.ok_or_else(|| {
                Problem::new("no server is named: say --server NAME, --url URL, or -- COMMAND at the end")
            }),
        }
    }

    /// The one server that is meant, or every server of the configuration.
    pub(crate) fn one_or_all(self, screen: &Screen) -> Result<Vec<Listed>, Problem> {
        if let Some(name) = &self.server {
            let server = configured(&self.files(), name)?;
            return Ok(vec![Listed { name: name.clone(), server: Ok(server) }]);
        }
        let files = self.files();
        if let Some(server) = self.given()? {
            return Ok(vec![Listed { name: "server".into(), server: Ok(server) }]);
        }
        if let Some(note) = left_out(&files) {
            screen.line(&note);
        }
        let found = files.all()?;
        for entry in &found.hidden {
            screen.line(&format!(
                "`{}` of {} is not used: your own configuration has a server of that name",
                entry.name(),
                entry.file().display()
            ));
        }
        let listed = |entry: &Entry| Listed { name: entry.name().to_owned(), server: Server::of(entry) };
        Ok(found.entries.iter().map(listed).collect())
    }

    fn files(&self) -> Files {
        match &self.config {
            Some(file) => Files::explicit(file),
            None => {
                let folder = env::current_dir().unwrap_or_default();
                Files::implicit(user_directory().as_deref(), &folder, &TrustedFolders::of_user())
            }
        }
    }

    /// What is said where no servers are configured: where they were looked for, and what to do.
    pub(crate) fn none_configured(&self) -> String {
        let searched = match (&self.config, user_directory()) {
            (Some(file), _) => format!("in {}", file.display()),
            (None, Some(directory)) => {
                format!("in {} or a trusted ./.mcp.json", directory.join("mcp.json").display())
            }
            (None, None) => "in a trusted ./.mcp.json, and there is no directory of the user's".into(),
        };
        format!(
            "no servers are configured {searched}; name a server by --url URL, or by -- COMMAND at the end"
        )
    }

    /// A server that is given on the command line.
    fn given(self) -> Result<Option<Server>, Problem> {
        let reach = if let Some(url) = &self.url {
            http(url, &self.header)?
        } else if !self.header.is_empty() {
            return Err(Problem::new("--header is for a server that is given by --url"));
        } else {
            let mut command = self.command.into_iter();
            let Some(program) = command.next() else { return Ok(None) };
            let called = format!("the server's command `{}`", program.to_string_lossy());
            let launch =
                Launch { program, arguments: command.collect(), environment: Vec::new(), folder: None };
            Reach::Stdio { connector: launch.connector(), launch, called }
        };
        let (tools, trust) = (ToolFilter::default(), Configured::Untrusted);
        Ok(Some(Server { name: None, tools, trust, timeout: None, reach }))
    }
}

/// The names of the servers that are configured where that may be read. What is wrong is passed over.
pub(crate) fn names() -> Vec<String> {
    let folder = env::current_dir().unwrap_or_default();
    let files = Files::implicit(user_directory().as_deref(), &folder, &TrustedFolders::of_user());
    let found = files.all().map(|found| found.entries).unwrap_or_default();
    found.iter().map(|entry| entry.name().to_owned()).collect()
}

fn configured(files: &Files, name: &str) -> Result<Server, Problem> {
    if let Some(entry) = files.find(name)? {
        return Server::of(&entry);
    }
    let found = files.all()?;
    let meant = nearest::suggestion(name, found.entries.iter().map(Entry::name));
    let left_out = left_out(files).map(|note| format!("; {note}")).unwrap_or_default();
    Err(Problem::new(format!("no server `{name}` is configured{meant}{left_out}")))
}

/// What is said of a file that is not read.
fn left_out(files: &Files) -> Option<String> {
    let file = files.left_out()?;
    Some(format!(
        "{} is left out, because its folder is not trusted: look at it, then run `mcp-tool trust add`, or name it \
         by --config",
        file.display()
    ))
}

fn http(url: &str, headers: &[String]) -> Result<Reach, Problem> {
    let mut pairs = Vec::new();
    for header in headers {
        let pair = header.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        // Its value may be a secret, so a header that is wrong is not shown.
        pairs.push(pair.ok_or_else(|| Problem::new("a --header is not of the form 'Name: value'"))?);
    }
    http_with(url, pairs)
}

fn http_with<'a>(url: &str, headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Reach, Problem> {
    /// What the protocol itself sets, and what says where a request ends.
    const RESERVED: [&str; 5] =
        ["accept", "content-length", "last-event-id", "mcp-session-id", "transfer-encoding"];
    let mut connector = HttpConnector::new(url)
        .map_err(|wrong| Problem::new(format!("what is given as the URL is {wrong}")))?;
    let mut names: Vec<HeaderName> = Vec::new();
    for (name, value) in headers {
        let header: HeaderName =
            name.parse().map_err(|_| Problem::new("the name of a header is not one that HTTP allows"))?;
        let value: HeaderValue = value.parse().map_err(|_| {
            Problem::new(format!("the value of the header {header} is not one that HTTP allows"))
        })?;
        if RESERVED.contains(&header.as_str()) {
            return Err(Problem::new(format!("the header {header} is the protocol's own and cannot be set")));
        }
        if names.contains(&header) {
            return Err(Problem::new(format!("the header {header} is given more than once")));
        }
        names.push(header.clone());
        connector = connector.with_header(header, value);
    }
    Ok(Reach::Http(Box::new(connector)))
}

impl Server {
    /// The server of an entry, its variables expanded.
    fn of(entry: &Entry) -> Result<Self, Problem> {
        let settings = entry.settings(|name| env::var(name).ok())?;
        let about = |problem: Problem| Problem::new(format!("server `{}`: {problem}", entry.name()));
        let reach = match settings.reach {
            config::Reach::Http { url, headers } => {
                let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                http_with(&url, headers).map_err(about)?
            }
            config::Reach::Stdio { command, args, env, cwd } => {
                if cwd.as_ref().is_some_and(|cwd| !cwd.is_dir()) {
                    return Err(about(Problem::new("its `cwd` is no folder")));
                }
                let launch = Launch {
                    program: command.into(),
                    arguments: args.into_iter().map(Into::into).collect(),
                    environment: env.into_iter().collect(),
                    folder: cwd,
                };
                let called = format!("the `command` of server `{}`", entry.name());
                Reach::Stdio { connector: launch.connector(), launch, called }
            }
        };
        Ok(Self {
            name: Some(entry.name().to_owned()),
            tools: settings.tools,
            trust: if settings.trust { Configured::Trusted } else { Configured::Untrusted },
            timeout: settings.timeout,
            reach,
        })
    }
}
