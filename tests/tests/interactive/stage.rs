//! One fault server and one client of it, over pipes or over HTTP.

use mcp_tool::{
    Client, Connector, HttpConnector, PagingDiscovery, StdioConnector, Trust,
    rmcp::{ClientHandler, model::ClientConfig},
};
use mcp_tool_cli::fault_server::{Record, Scenario};
use rustix::process::Signal;

use crate::{
    bench::{Bench, gone, process::signal},
    server::Server,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    Pipes,
    Http,
}

impl Front {
    pub(crate) const BOTH: [Self; 2] = [Self::Pipes, Self::Http];
}

pub(crate) struct Stage {
    at: At,
    pub(crate) client: Client,
    discovery: PagingDiscovery<Box<dyn Connector>>,
}

enum At {
    Pipes(Bench),
    Http(Server),
}

impl Stage {
    pub(crate) async fn open(front: Front, scenario: &Scenario) -> Self {
        Self::with_handler(front, scenario, ClientConfig::default()).await
    }

    /// The host answers what the server asks with this handler.
    pub(crate) async fn with_handler<H: ClientHandler + Clone>(
        front: Front,
        scenario: &Scenario,
        handler: H,
    ) -> Self {
        match front {
            Front::Pipes => {
                let bench = Bench::new("interactive");
                let connector: StdioConnector<H> = bench.connector(scenario).with_handler(handler);
                Self::of(At::Pipes(bench), Box::new(connector))
            }
            Front::Http => {
                let server = Server::start(scenario).await;
                let connector: HttpConnector<H> = server.connector().with_handler(handler);
                Self::of(At::Http(server), Box::new(connector))
            }
        }
    }

    fn of(at: At, connector: Box<dyn Connector>) -> Self {
        let discovery = PagingDiscovery::new(connector);
        let client = Client::with_discovery("notes", discovery.clone()).trust(Trust::BOTH).build();
        Self { at, client, discovery }
    }

    pub(crate) fn record(&self) -> Record {
        match &self.at {
            At::Pipes(bench) => bench.record(),
            At::Http(server) => server.record(),
        }
    }

    /// Waits until the ledger looks as wanted.
    pub(crate) async fn wait(&self, wanted: impl Fn(&Record) -> bool + Send + 'static) -> Record {
        match &self.at {
            At::Pipes(bench) => bench.wait(wanted).await,
            At::Http(server) => server.wait_for(wanted).await,
        }
    }

    /// Kills the process that was started last; over HTTP another one takes its place.
    pub(crate) async fn kill(&self) {
        let pid = *self.record().starts().last().expect("it was started");
        signal(pid, Signal::KILL);
        gone(pid).await;
    }

    /// Ends everything, and sees that it has ended.
    pub(crate) async fn close(self) {
        self.discovery.close().await;
        match self.at {
            At::Pipes(bench) => bench.all_gone().await,
            At::Http(server) => server.stop().await,
        }
    }
}
