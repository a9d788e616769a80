use std::{fs, ops::Deref, path::PathBuf};

use mcp_tool::{HttpConnector, mcp_transport::reqwest};
use mcp_tool_cli::fault_server::{Http, Scenario, Tls};

use crate::{backend::Backend, server::Server};

/// A folder for certificate authorities.
pub(crate) struct Authorities(tempfile::TempDir);

/// A fault server that speaks TLS.
pub(crate) struct Secure {
    server: Server,
    authority: PathBuf,
    _authorities: Authorities,
}

impl Authorities {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A certificate by the authority of this name.
    pub(crate) fn tls(&self, name: &str) -> Tls {
        Tls::new(self.file(name))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name).with_extension("pem")
    }

    /// Starts a server, for clients that trust the authority of this name.
    pub(crate) async fn start(self, scenario: &Scenario, name: &str) -> Secure {
        let server = Server::start(scenario).await;
        Secure { server, authority: self.file(name), _authorities: self }
    }
}

impl Secure {
    pub(crate) async fn start(scenario: Scenario, http: Http) -> Self {
        let authorities = Authorities::new();
        let scenario = scenario.http(http.tls(authorities.tls("ours")));
        authorities.start(&scenario, "ours").await
    }

    /// A client that trusts the server's authority, and no other.
    pub(crate) fn client(&self, backend: Backend) -> reqwest::ClientBuilder {
        let pem = fs::read(&self.authority).unwrap();
        backend.client().tls_certs_only([reqwest::Certificate::from_pem(&pem).unwrap()])
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}/mcp", self.server.port())
    }

    pub(crate) fn over(&self, backend: Backend) -> HttpConnector {
        HttpConnector::new(&self.url()).unwrap().with_client(self.client(backend)).unwrap()
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }
}

impl Deref for Secure {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
