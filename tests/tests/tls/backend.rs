use mcp_tool::mcp_transport::reqwest;

/// A library that speaks TLS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Backend {
    Rustls,
    #[cfg(feature = "native-tls")]
    Native,
}

/// All that this build has.
pub(crate) const BACKENDS: &[Backend] = &[
    Backend::Rustls,
    #[cfg(feature = "native-tls")]
    Backend::Native,
];

impl Backend {
    pub(crate) fn client(self) -> reqwest::ClientBuilder {
        let client = reqwest::Client::builder().no_proxy();
        match self {
            Self::Rustls => client.tls_backend_rustls(),
            #[cfg(feature = "native-tls")]
            Self::Native => client.tls_backend_native(),
        }
    }

    /// A client certificate with its key, from PEM.
    pub(crate) fn identity(self, pem: &str) -> reqwest::Identity {
        match self {
            Self::Rustls => reqwest::Identity::from_pem(pem.as_bytes()),
            #[cfg(feature = "native-tls")]
            Self::Native => {
                let (certificate, key) = pem.split_at(pem.find("-----BEGIN PRIVATE").unwrap());
                reqwest::Identity::from_pkcs8_pem(certificate.as_bytes(), key.as_bytes())
            }
        }
        .unwrap()
    }
}
