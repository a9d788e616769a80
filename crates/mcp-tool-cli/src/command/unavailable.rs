use mcp_tool::{DiscoveryError, TransportError, mcp_discovery::DiscoveryErrorKind, mcp_transport::ErrorKind};

use super::server::Reach;

/// What was told already of what a server wrote to its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// Nobody asked for it.
    NotAsked,
    /// They are not shown, whoever asks: they may be of the time of a call.
    Kept,
    /// It wrote nothing.
    None,
    /// It was shown.
    Shown,
}

/// Why a server could not be used, and what to do: one line, without a word of the server's.
pub(crate) fn why(error: &DiscoveryError, reach: &Reach, words: Words) -> String {
    match (error.kind(), error.transport_error()) {
        (DiscoveryErrorKind::Connect, Some(error)) => not_connected(error, reach, words),
        (_, Some(cause)) => format!("{error}: {cause}"),
        (_, None) => error.to_string(),
    }
}

fn not_connected(error: &TransportError, reach: &Reach, words: Words) -> String {
    match (error.kind(), reach) {
        (ErrorKind::Connect, Reach::Stdio { .. }) => {
            let then = match words {
                Words::NotAsked => {
                    "run it by hand, or run this again with -v to see what it wrote to its standard error"
                }
                Words::Kept => "run it by hand to see why",
                Words::None => "run it by hand; to its standard error it wrote nothing",
                Words::Shown => "see above what it wrote to its standard error",
            };
            format!("the server ended before its handshake was complete: {then}")
        }
        (ErrorKind::Connect, Reach::Http(_)) => {
            "the server cannot be reached: see that it is running, and check host and port of its URL".into()
        }
        (ErrorKind::Tls, _) => format!(
            "{error}: check the scheme, host and port of its URL; SSL_CERT_FILE may name a file with further \
             certificate authorities"
        ),
        (ErrorKind::ConnectTimeout, _) => format!("{error}: it is stuck, or it is no MCP server"),
        (ErrorKind::Handshake, Reach::Stdio { .. }) => {
            format!("{error}: check that the command is an MCP server that uses standard input and output")
        }
        (ErrorKind::Handshake, Reach::Http(_)) => {
            format!(
                "{error}: check that the URL is that of its MCP endpoint, not of a page, and whether it wants an \
                 authorisation (--header)"
            )
        }
        (ErrorKind::HttpStatus(_) | ErrorKind::SessionLost, _) => {
            format!("{error}: check that the path of the URL is that of its MCP endpoint")
        }
        (ErrorKind::AuthorisationRequired, _) => {
            format!(
                "{error}: give it with --header 'Authorization: …', or as `headers` of a configured server"
            )
        }
        _ => format!("the server could not be used: {error}"),
    }
}

/// The end of what a server wrote, as lines to show.
pub(crate) fn last_lines(words: &str) -> impl Iterator<Item = &str> {
    const SHOWN: usize = 20;
    let lines: Vec<_> = words.lines().filter(|line| !line.trim().is_empty()).collect();
    let skipped = lines.len().saturating_sub(SHOWN);
    lines.into_iter().skip(skipped)
}
