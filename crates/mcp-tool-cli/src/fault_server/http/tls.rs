//! What a server shows over TLS.
use super::socket::Acceptor;
use serde::{Deserialize, Serialize};
use std::{
    io,
    path::{Path, PathBuf},
};

/// TLS, with a certificate that a test authority issues at each start.
///
/// The authority lives in a file: the first start that finds none makes it and writes its certificate
/// there (PEM, for the client) and its key beside it; further starts issue theirs from the same. It needs
/// the feature `fault-server-tls`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    authority: PathBuf,
    #[serde(default)]
    certificate: Certificate,
    subject: Option<String>,
    client: Option<PathBuf>,
}

/// Which certificate a server shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Certificate {
    /// One for `127.0.0.1` and `localhost`.
    #[default]
    Good,
    /// One for another host.
    OfAnotherHost,
    /// One whose time was over long ago.
    Expired,
}

impl Tls {
    /// TLS by the authority whose certificate is in this file, or will be.
    pub fn new(authority: impl Into<PathBuf>) -> Self {
        Self { authority: authority.into(), certificate: Certificate::Good, subject: None, client: None }
    }

    /// Which certificate is shown. Default: [`Certificate::Good`].
    pub fn certificate(mut self, certificate: Certificate) -> Self {
        self.certificate = certificate;
        self
    }

    /// The common name of the certificate's subject. Default: `fault server`.
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Clients must show a certificate by the authority, too. One, with its key, is written to this file
    /// (PEM). Default: they need none.
    pub fn for_clients_with(mut self, certificate: impl Into<PathBuf>) -> Self {
        self.client = Some(certificate.into());
        self
    }

    pub(super) fn authority(&self) -> &Path {
        &self.authority
    }

    #[cfg(feature = "fault-server-tls")]
    pub(super) fn shown(&self) -> (Certificate, &str) {
        (self.certificate, self.subject.as_deref().unwrap_or("fault server"))
    }

    #[cfg(feature = "fault-server-tls")]
    pub(super) fn client(&self) -> Option<&Path> {
        self.client.as_deref()
    }

    #[cfg(feature = "fault-server-tls")]
    pub(super) fn acceptor(&self) -> io::Result<Acceptor> {
        super::authority::issue(self).map(|config| Acceptor { tls: Some(config.into()) })
    }

    #[cfg(not(feature = "fault-server-tls"))]
    pub(super) fn acceptor(&self) -> io::Result<Acceptor> {
        let needed = format!("{} needs the feature fault-server-tls", self.authority().display());
        Err(io::Error::new(io::ErrorKind::Unsupported, needed))
    }
}
