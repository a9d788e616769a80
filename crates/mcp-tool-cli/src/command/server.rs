use std::{ffi::OsString, sync::Arc};

use clap::Args;
use mcp_tool::{
    Client, Connector, HttpConnector, PagingDiscovery, StdioConnector, TrustSource,
    mcp_transport::reqwest::header::{HeaderName, HeaderValue},
};

use super::{
    log::{Log, Logged},
    policy::PolicyOptions,
    problem::Problem,
};

/// Which server. Shared by all commands that reach one.
#[derive(Args)]
#[command(next_help_heading = "Server (one of --server, --url, -- COMMAND)")]
pub(crate) struct ServerOptions {
    /// A server over Streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// A header of every request to it; repeatable
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,
    /// A server over standard input and output, last on the line
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A server that can be reached: how, and what is configured about it.
pub(crate) struct Server {
    /// None for a server that was given on the command line.
    pub(crate) name: Option<String>,
    pub(crate) reach: Reach,
}

/// How a server is reached.
pub(crate) enum Reach {
    Stdio { connector: StdioConnector, command: String },
    Http(Box<HttpConnector>),
}

/// Which kind of server an explanation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Stdio,
    Http,
}

/// The client of one server.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) reach: Reach,
    discovery: PagingDiscovery<Logged<Arc<dyn Connector>>>,
}

impl ServerOptions {
    /// The one server that is meant.
    pub(crate) fn one(self) -> Result<Server, Problem> {
        if let Some(url) = &self.url {
            return Ok(Server { name: None, reach: http(url, &self.header)? });
        }
        let mut command = self.command.into_iter();
        let Some(program) = command.next() else {
            return Err(Problem::new("no server is named: --server NAME, --url URL, or -- COMMAND ARG…"));
        };
        let shown = program.to_string_lossy().into_owned();
        let connector = StdioConnector::new(program).args(command);
        Ok(Server { name: None, reach: Reach::Stdio { connector, command: shown } })
    }
}

fn http(url: &str, headers: &[String]) -> Result<Reach, Problem> {
    let mut connector =
        HttpConnector::new(url).map_err(|wrong| Problem::new(format!("the value of --url is {wrong}")))?;
    let mut names: Vec<HeaderName> = Vec::new();
    for header in headers {
        // Its value may be a secret, so a header that is wrong is not shown.
        let wrong = || Problem::new("a --header is not of the form 'Name: value'");
        let (name, value) = header.split_once(':').ok_or_else(wrong)?;
        let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
        let value: HeaderValue = value.trim().parse().map_err(|_| wrong())?;
        if names.contains(&name) {
            return Err(Problem::new(format!("--header {name} is given more than once")));
        }
        names.push(name.clone());
        connector = connector.with_header(name, value);
    }
    Ok(Reach::Http(Box::new(connector)))
}

impl Server {
    /// A client of this server, which connects when it is first used.
    pub(crate) fn open(self, policy: &PolicyOptions, trust: impl TrustSource + 'static, log: Log) -> Session {
        let connector: Arc<dyn Connector> = match &self.reach {
            Reach::Stdio { connector, .. } => Arc::new(connector.clone()),
            Reach::Http(connector) => Arc::new((**connector).clone()),
        };
        let discovery = PagingDiscovery::new(Logged { connector, log: log.clone() });
        let client = Client::with_discovery(self.name.as_deref().unwrap_or("server"), discovery.clone())
            .policy(policy.policy())
            .trust(trust)
            .observer(log)
            .build();
        Session { client, reach: self.reach, discovery }
    }
}

impl Reach {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Stdio { .. } => Kind::Stdio,
            Self::Http(_) => Kind::Http,
        }
    }

    /// The end of what the server wrote to its standard error: its own words, which may hold secrets.
    pub(crate) fn last_words(&self) -> String {
        match self {
            Self::Stdio { connector, .. } => connector.stderr_tail(),
            Self::Http(_) => String::new(),
        }
    }
}

impl Session {
    /// Ends the connection and, on stdio, the server.
    pub(crate) async fn close(self) {
        drop(self.client);
        self.discovery.close().await;
    }
}
