use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt, io,
    path::PathBuf,
    process::Command,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use rmcp::{ClientHandler, model::ClientConfig, service::ClientLifecycleMode};

use super::{
    connection::{Bounds, StdioTransport, open},
    process::ProcessGroup,
    sink::Sink,
    stderr::StderrTail,
    supervisor::Supervisor,
};
use crate::{
    Connector, ServerIdentity, Transport, TransportError,
    handshake::{default_client, default_lifecycle},
};

/// Starts a server as a child process, in a process group of its own.
///
/// Clones start the same server and share its standard error's tail.
///
/// ```no_run
/// use mcp_transport::{Connector, StdioConnector};
///
/// # async fn f() -> Result<(), mcp_transport::TransportError> {
/// let files = StdioConnector::new("npx").args(["-y", "@modelcontextprotocol/server-filesystem", "."]);
/// let connection = files.connect().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct StdioConnector<H = ClientConfig> {
    program: OsString,
    arguments: Vec<OsString>,
    environment: BTreeMap<OsString, OsString>,
    directory: Option<PathBuf>,
    inherit: Inherit,
    handler: H,
    lifecycle: ClientLifecycleMode,
    bounds: Bounds,
    grace: Duration,
    reach: Reach,
    stderr: StderrTail,
}

/// Where the server runs that the command starts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reach {
    /// In its process group.
    Here,
    /// Behind it: the command only passes on what it reads.
    Behind,
}

#[derive(Clone, Copy, Debug)]
enum Inherit {
    All,
    Nothing,
}

impl StdioConnector {
    /// A server started by this command, looked up in `PATH`. Its environment is ours.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            directory: None,
            inherit: Inherit::All,
            handler: default_client(),
            lifecycle: default_lifecycle(),
            bounds: Bounds::default(),
            grace: Duration::from_secs(2),
            reach: Reach::Here,
            stderr: StderrTail::default(),
        }
    }
}

impl<H> StdioConnector<H> {
    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets one environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Starts the server with nothing but the variables set here.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.inherit = Inherit::Nothing;
        self
    }

    /// The working directory. Default: ours.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// The host's own handler of what the server asks and tells, and its client information. Default:
    /// none but this crate's name and version. Each connection gets a clone.
    #[must_use]
    pub fn with_handler<H2: ClientHandler + Clone>(self, handler: H2) -> StdioConnector<H2> {
        StdioConnector {
            program: self.program,
            arguments: self.arguments,
            environment: self.environment,
            directory: self.directory,
            inherit: self.inherit,
            handler,
            lifecycle: self.lifecycle,
            bounds: self.bounds,
            grace: self.grace,
            reach: self.reach,
            stderr: self.stderr,
        }
    }

    /// Which handshake to use. Default: automatic, `server/discover` (2026-07-28) first, then
    /// `initialize` (2025-11-25 and older). A server that ignores the first is given 10 s by rmcp.
    #[must_use]
    pub fn with_lifecycle(mut self, lifecycle: ClientLifecycleMode) -> Self {
        self.lifecycle = lifecycle;
        self
    }

    /// How long starting and the handshake may take. Default: 60 s.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.bounds.connect = timeout;
        self
    }

    /// How long one page of the tools may take. Default: 30 s.
    #[must_use]
    pub fn with_list_timeout(mut self, timeout: Duration) -> Self {
        self.bounds.list = timeout;
        self
    }

    /// The longest line that is taken, in bytes. A longer answer fails its call. Default: 16 MiB.
    #[must_use]
    pub fn with_max_line(mut self, bytes: usize) -> Self {
        self.bounds.line = bytes;
        self
    }

    /// How many requests of the server's own (a ping, a question to the user) may be without an answer at a
    /// time; their text together has the bound of a line. Further ones are answered with an error, and
    /// dropped where the server reads no answers. Default: 256.
    #[must_use]
    pub fn with_max_unanswered(mut self, requests: usize) -> Self {
        self.bounds.unanswered = requests;
        self
    }

    /// How long the server may take to end after its standard input was closed, and again after
    /// SIGTERM, before it is killed. Default: 2 s.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The command only relays to a server that runs elsewhere (`ssh`, `docker run`, a daemon): ending its
    /// process group says nothing of that server, so no fence is claimed
    /// ([`Fence::None`](crate::Fence::None)). Default: the server is the command, or its descendant.
    #[must_use]
    pub fn relay(mut self) -> Self {
        self.reach = Reach::Behind;
        self
    }

    /// The last 64 KiB that the server wrote to its standard error, over all its starts, for diagnosis.
    ///
    /// The server's own words: they may hold secrets, and nothing here prints them.
    pub fn stderr_tail(&self) -> String {
        self.stderr.text()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        if matches!(self.inherit, Inherit::Nothing) {
            command.env_clear();
        }
        command.envs(&self.environment);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }
}

impl<H: ClientHandler + Clone> StdioConnector<H> {
    /// Starts the server and completes the handshake.
    ///
    /// # Errors
    ///
    /// The command that cannot be run, a server that exits or stays silent, or that speaks no known MCP.
    /// Whatever was started has been ended.
    pub async fn start(&self) -> Result<StdioTransport, TransportError> {
        let (group, (stdin, stdout, stderr)) = ProcessGroup::start(self.command()).map_err(spawn_error)?;
        let (wire, lines) = open(stdout, Sink::Pipe(stdin), &self.bounds);
        let stderr = tokio::spawn(self.stderr.clone().drain(stderr));
        let supervisor = Supervisor::watch(group, wire.clone(), self.grace, self.reach, stderr);
        let (handler, lifecycle) = (self.handler.clone(), self.lifecycle.clone());
        StdioTransport::establish(wire, lines, handler, lifecycle, self.bounds, Some(supervisor)).await
    }
}

#[async_trait]
impl<H: ClientHandler + Clone> Connector for StdioConnector<H> {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        Ok(Arc::new(self.start().await?))
    }

    /// Command, arguments, working directory, and the names of the variables set here.
    fn identity(&self) -> ServerIdentity {
        // Text that is not Unicode is escaped rather than replaced, so that no two become one.
        let text = |text: &OsStr| text.to_str().map_or_else(|| format!("{text:?}"), str::to_owned);
        let mut parts = vec![("command", text(&self.program))];
        parts.extend(self.arguments.iter().map(|argument| ("argument", text(argument))));
        parts.extend(self.directory.iter().map(|directory| ("directory", text(directory.as_os_str()))));
        parts.extend(self.environment.keys().map(|name| ("variable", text(name))));
        ServerIdentity::of(parts.iter().map(|(label, value)| (*label, value.as_str())))
    }
}

fn spawn_error(error: io::Error) -> TransportError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => TransportError::command_not_found(error),
        _ => TransportError::connect(error),
    }
}

impl<H> fmt::Debug for StdioConnector<H> {
    /// Neither the command line nor the environment is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioConnector").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}
