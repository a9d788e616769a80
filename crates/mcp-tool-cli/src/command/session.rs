use std::sync::Arc;

use mcp_tool::{
    CancellationToken, Catalog, CatalogTool, Client, Connector, DiscoveryError, PagingDiscovery, ToolHandle,
    mcp_transport::ErrorKind,
};
use tokio::time::{Instant, sleep_until};

use super::{
    known_tools,
    log::{Log, Logged},
    policy::{LiveTrust, PolicyOptions},
    problem::Problem,
    server::{Reach, Server},
    unavailable::{self, Words},
};

/// The client of one server.
pub(crate) struct Session {
    pub(crate) client: Client,
    /// None for a server that was given on the command line.
    name: Option<String>,
    reach: Reach,
    discovery: PagingDiscovery<Logged<Arc<dyn Connector>>>,
    log: Log,
}

/// What a server lists.
pub(crate) struct Listing {
    pub(crate) tools: Vec<ToolHandle>,
    pub(crate) catalog: Arc<Catalog>,
}

/// Why there is no listing. Nothing was called.
pub(crate) enum Unlisted {
    /// The configuration is wrong.
    Problem(Problem),
    /// The server could not be used, for this reason, as a person reads it.
    Unreached(DiscoveryError, String),
    /// The caller gave up.
    Cancelled,
    /// The time was over.
    DeadlinePassed,
}

impl Session {
    /// A client of this server, which connects when it is first used.
    pub(crate) fn open(server: Server, policy: &PolicyOptions, trust: LiveTrust, log: Log) -> Self {
        let connector = Logged { connector: server.reach.connector(), log: log.clone() };
        let discovery = PagingDiscovery::new(connector);
        let client = Client::with_discovery(server.name.as_deref().unwrap_or("server"), discovery.clone())
            .policy(policy.policy())
            .trust(trust)
            .observer(log.clone())
            .build();
        Self { client, name: server.name, reach: server.reach, discovery, log }
    }

    /// Connects and lists, until then and unless cancelled.
    pub(crate) async fn list(&self, until: Instant, token: &CancellationToken) -> Result<Listing, Unlisted> {
        let listing = async {
            let tools = self.client.tools().await?;
            let catalog = self.client.catalog().await?;
            if let Some(name) = &self.name {
                known_tools::keep(name, catalog.tools().iter().map(CatalogTool::name));
            }
            Ok(Listing { tools, catalog })
        };
        tokio::select! {
            biased;
            listing = listing => listing.map_err(|error| unlisted(error, &self.reach, &self.log)),
            () = token.cancelled() => Err(Unlisted::Cancelled),
            () = sleep_until(until) => Err(Unlisted::DeadlinePassed),
        }
    }

    /// Why the server could not be used again, and what to do.
    pub(crate) fn explained(&self, error: &DiscoveryError) -> String {
        let words = if self.log.tells_decisions() { Words::Kept } else { Words::NotAsked };
        unavailable::why(error, &self.reach, words)
    }

    /// Ends the connection and, on stdio, the server.
    pub(crate) async fn close(self) {
        drop(self.client);
        self.discovery.close().await;
    }
}

/// Why a server has no listing.
pub(crate) fn unlisted(error: DiscoveryError, reach: &Reach, log: &Log) -> Unlisted {
    let kind = error.transport_error().map(mcp_tool::TransportError::kind);
    match reach {
        Reach::Stdio { called, .. } if kind == Some(ErrorKind::CommandNotFound) => {
            return Unlisted::Problem(Problem::new(format!(
                "{called} does not exist or may not be run: install it, or correct its path"
            )));
        }
        Reach::Stdio { .. } | Reach::Http(_) => {}
    }
    let line = unavailable::why(&error, reach, told(reach, log));
    Unlisted::Unreached(error, line)
}

/// Tells what a server wrote to its standard error, where somebody asks for it: these are the server's own
/// words, and may hold secrets.
fn told(reach: &Reach, log: &Log) -> Words {
    match reach {
        Reach::Stdio { connector, .. } if log.tells_decisions() => {
            let tail = connector.stderr_tail();
            let mut words = Words::None;
            for line in unavailable::last_lines(&tail) {
                log.decision(&format!("the server wrote: {line}"));
                words = Words::Shown;
            }
            words
        }
        Reach::Stdio { .. } | Reach::Http(_) => Words::NotAsked,
    }
}
