//! A server as a child process that answers no call, but tells this program of each by a datagram, with
//! the time at which it had read it.

use std::{
    io::{self, BufRead, Write},
    os::unix::net::UnixDatagram,
    path::Path,
    process,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Given to this program as its first argument, makes it this server; the second one is the socket.
pub(crate) const SERVE: &str = "serve-watched";

const LISTED: &str = concat!(
    r#""result":{"tools":[{"name":"wait","inputSchema":{"type":"object"},"#,
    r#""annotations":{"idempotentHint":true}}]}"#
);
const NO_SUCH_METHOD: &str = r#""error":{"code":-32601,"message":"method not found"}"#;

/// A call has been read.
#[derive(Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) process: u32,
    pub(crate) at: Duration,
}

#[derive(Deserialize)]
struct Request<'a> {
    /// Absent from a notification.
    id: Option<u64>,
    method: &'a str,
}

pub(crate) fn serve(socket: &Path) -> io::Result<()> {
    let watching = UnixDatagram::unbound()?;
    watching.connect(socket)?;
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let request: Request<'_> = serde_json::from_str(&line)?;
        let Some(id) = request.id else { continue };
        let body = match request.method {
            "initialize" => crate::line_server::INITIALIZED,
            "tools/list" => LISTED,
            "tools/call" => {
                let told = Told { process: process::id(), at: now() };
                watching.send(&serde_json::to_vec(&told)?)?;
                continue;
            }
            _ => NO_SUCH_METHOD,
        };
        // Ends with a newline, so it leaves at once.
        writeln!(output, "{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}")?;
    }
    Ok(())
}

/// The time that all processes of the machine share.
pub(crate) fn now() -> Duration {
    clock_gettime(ClockId::Monotonic).try_into().expect("time is not negative")
}
