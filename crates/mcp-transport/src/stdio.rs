//! The stdio transport: a server that runs as a child process (MCP, basic/transports, stdio).

mod connection;
mod connector;
#[cfg(all(test, shuttle))]
mod interleavings;
mod last_words;
mod line_transport;
mod lines;
#[cfg(any(not(unix), lone_process))]
mod lone_process;
mod outbox;
#[cfg(all(unix, not(lone_process)))]
mod process_group;
mod sink;
mod stderr;
mod supervisor;
mod wire;

#[cfg(any(not(unix), lone_process))]
use lone_process as process;
#[cfg(all(unix, not(lone_process)))]
use process_group as process;

pub use connection::StdioTransport;
pub use connector::StdioConnector;
