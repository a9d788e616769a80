use std::{fmt, sync::Arc};

use sha2::{Digest, Sha256};

/// The fingerprint of a server's configuration: what it is reached by, not what it is called.
///
/// Trust and invocations are bound to it, so that an entry that was edited while a call reconnects
/// never lets the call reach another server. It is a digest: neither a command line nor a URL can be
/// read from it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerIdentity(Arc<str>);

impl ServerIdentity {
    /// For connectors that cannot tell: all of them share this one identity.
    pub fn unspecified() -> Self {
        Self(Arc::from("unspecified"))
    }

    /// The fingerprint of labelled parts, in the given order. Values of environment variables and
    /// headers do not belong in it; their names do.
    ///
    /// ```
    /// use mcp_transport::ServerIdentity;
    /// let a = ServerIdentity::of([("command", "node"), ("arg", "server.js")]);
    /// let b = ServerIdentity::of([("command", "node"), ("arg", "other.js")]);
    /// assert_ne!(a, b);
    /// ```
    pub fn of<'a>(parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut digest = Sha256::new();
        for (label, value) in parts {
            // Lengths keep ("a", "bc") and ("ab", "c") apart.
            digest.update((label.len() as u64).to_be_bytes());
            digest.update(label);
            digest.update((value.len() as u64).to_be_bytes());
            digest.update(value);
        }
        let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Self(Arc::from(hex))
    }

    /// The fingerprint as text, stable over restarts.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ServerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerIdentity({})", self.0.get(..12).unwrap_or(&self.0))
    }
}
