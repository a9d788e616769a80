//! The Streamable HTTP transport (MCP, basic/transports, streamable HTTP), on rmcp's client worker.

mod answer_stream;
mod body;
mod client;
mod connection;
mod connector;
mod response;
mod retry_after;
mod tls;

pub use client::{HttpClient, TokenSource};
pub use connection::HttpTransport;
pub use connector::{HttpConnector, InvalidUrl};
