//! The stdio transport: a server that runs as a child process (MCP, basic/transports, stdio).

#[cfg(not(unix))]
compile_error!("the feature `stdio` needs process groups, so far it is written for Unix only");

mod connection;
mod connector;
mod last_words;
mod line_transport;
mod lines;
mod outbox;
mod process_group;
mod sink;
mod stderr;
mod supervisor;
mod wire;

pub use connection::StdioTransport;
pub use connector::StdioConnector;
