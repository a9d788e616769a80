use std::{
    error::Error,
    future::ready,
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::FutureExt;
use reqwest::dns::{Name, Resolve, Resolving};

use super::connector::guarded;

/// Whether reqwest speaks TLS in this build: by a feature of this crate, or by one of reqwest's that the
/// host has turned on itself.
///
/// Without TLS reqwest does not refuse `https` in every case: where the environment names a proxy, the
/// request with its token goes to that in plain text.
pub(super) fn is_there() -> bool {
    static REQWEST_SPEAKS_IT: OnceLock<bool> = OnceLock::new();
    cfg!(any(feature = "http-rustls", feature = "http-native-tls"))
        || *REQWEST_SPEAKS_IT.get_or_init(|| resolves("https://tls.invalid/"))
}

/// Whether a request to this URL gets as far as asking for the host's address, which is as far as it goes.
/// A client that does not know the scheme does not ask.
fn resolves(url: &str) -> bool {
    let asked = Asked::default();
    let client = guarded(reqwest::Client::builder().no_proxy().dns_resolver(asked.clone()));
    // What cannot be found out is not held against the URL.
    let Ok(client) = client else { return true };
    // It is refused by then: nothing here waits.
    let _ = client.get(url).send().now_or_never();
    asked.0.load(Ordering::Relaxed)
}

/// Knows no host, and remembers that it was asked.
#[derive(Clone, Default)]
struct Asked(Arc<AtomicBool>);

impl Resolve for Asked {
    fn resolve(&self, _: Name) -> Resolving {
        self.0.store(true, Ordering::Relaxed);
        Box::pin(ready(Err(io::Error::from(io::ErrorKind::NotFound).into())))
    }
}

/// Whether TLS itself has failed, and not the connection below it: a certificate that is not accepted, or
/// a peer that speaks none. Told by the types of the libraries whose features are on.
pub(super) fn failed(error: &(dyn Error + 'static)) -> bool {
    let mut link = Some(error);
    while let Some(error) = link {
        if is_of_tls(error) {
            // OpenSSL wraps what the connection says, too.
            return !error.source().is_some_and(is_of_io);
        }
        link = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            // It leaves out of its chain what it wraps.
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}

fn is_of_tls(error: &(dyn Error + 'static)) -> bool {
    #[cfg(feature = "http-rustls")]
    if error.is::<rustls::Error>() {
        return true;
    }
    #[cfg(feature = "http-native-tls")]
    if error.is::<native_tls::Error>() {
        return true;
    }
    #[cfg(not(any(feature = "http-rustls", feature = "http-native-tls")))]
    let _ = error;
    false
}

fn is_of_io(error: &(dyn Error + 'static)) -> bool {
    error.is::<io::Error>() || error.source().is_some_and(is_of_io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_that_the_client_knows_is_told_from_one_that_it_does_not() {
        assert!(resolves("http://tls.invalid/"));
        assert!(!resolves("ftp://tls.invalid/"));
    }

    #[cfg(any(feature = "http-rustls", feature = "http-native-tls"))]
    #[test]
    fn tls_is_found_where_it_is() {
        assert!(resolves("https://tls.invalid/"));
    }

    #[cfg(feature = "http-rustls")]
    #[test]
    fn an_error_of_tls_is_found_where_an_error_of_the_connection_wraps_it() {
        let refused = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        assert!(failed(&io::Error::new(io::ErrorKind::InvalidData, refused.clone())));
        assert!(failed(&io::Error::other(io::Error::other(refused))));
        assert!(!failed(&io::Error::from(io::ErrorKind::UnexpectedEof)));
    }
}
