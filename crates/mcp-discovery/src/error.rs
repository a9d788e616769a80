use std::{error::Error, fmt};

use mcp_transport::{ErrorKind, TransportError};

/// Why there is no catalog.
///
/// `Clone`, since all who waited for one discovery get the same error. `Display` and `Debug` print
/// fixed words only; the [`source`](Error::source), if there is one, is the [`TransportError`], which
/// does the same.
#[derive(Clone, Debug)]
pub struct DiscoveryError {
    kind: DiscoveryErrorKind,
    transport: Option<TransportError>,
}

/// What went wrong, as a stable word without content.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiscoveryErrorKind {
    /// The server could not be reached, after every try.
    Connect,
    /// A page of the tools could not be had, after a second try.
    Listing,
    /// The listing has more pages than allowed.
    TooManyPages,
    /// The listing has more tools than allowed.
    TooManyTools,
    /// The listing is larger than allowed.
    TooManyBytes,
    /// A page, or the whole listing, took longer than allowed.
    TooSlow,
    /// The server's configuration changed while it was being reached, on every try.
    IdentityChanged,
    /// The discovery was stopped or closed, or code that it was given panicked.
    Stopped,
    /// The server was started too often, and is not started again yet.
    Parked,
}

impl DiscoveryErrorKind {
    /// The stable snake_case code of this kind, for logs and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::Connect => "not_connected",
            Self::Listing => "listing_failed",
            Self::TooManyPages => "too_many_pages",
            Self::TooManyTools => "too_many_tools",
            Self::TooManyBytes => "too_many_bytes",
            Self::TooSlow => "listing_too_slow",
            Self::IdentityChanged => "identity_changed",
            Self::Stopped => "discovery_stopped",
            Self::Parked => "server_parked",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Connect => "the server could not be reached",
            Self::Listing => "the server's tools could not be listed",
            Self::TooManyPages => "the server's list of tools has too many pages",
            Self::TooManyTools => "the server's list of tools is too long",
            Self::TooManyBytes => "the server's list of tools is too large",
            Self::TooSlow => "the server's tools were not listed in time",
            Self::IdentityChanged => "the server's configuration changed while connecting",
            Self::Stopped => "the discovery was stopped",
            Self::Parked => "the server was started too often",
        }
    }
}

impl DiscoveryError {
    /// The server could not be reached.
    pub fn connect(error: TransportError) -> Self {
        Self { kind: DiscoveryErrorKind::Connect, transport: Some(error) }
    }

    /// The server's tools could not be listed.
    pub fn listing(error: TransportError) -> Self {
        Self { kind: DiscoveryErrorKind::Listing, transport: Some(error) }
    }

    /// What went wrong, as a stable word.
    pub fn kind(&self) -> DiscoveryErrorKind {
        self.kind
    }

    /// What the connection said, if that was the cause.
    pub fn transport_error(&self) -> Option<&TransportError> {
        self.transport.as_ref()
    }
}

impl From<DiscoveryErrorKind> for DiscoveryError {
    fn from(kind: DiscoveryErrorKind) -> Self {
        Self { kind, transport: None }
    }
}

/// A failure to start or reach a server is [`DiscoveryErrorKind::Connect`], every other one
/// [`DiscoveryErrorKind::Listing`].
impl From<TransportError> for DiscoveryError {
    fn from(error: TransportError) -> Self {
        match error.kind() {
            ErrorKind::CommandNotFound
            | ErrorKind::Connect
            | ErrorKind::Tls
            | ErrorKind::ConnectTimeout
            | ErrorKind::Handshake => Self::connect(error),
            _ => Self::listing(error),
        }
    }
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.text())
    }
}

impl Error for DiscoveryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.transport.as_ref().map(|error| error as _)
    }
}
