//! What somebody outside the workspace builds on each crate, and how they test it.

#[cfg(feature = "mcp-discovery")]
pub mod discovery;
#[cfg(feature = "mcp-tool")]
pub mod host;
#[cfg(feature = "replay-policy")]
pub mod policy;
#[cfg(feature = "mcp-transport")]
pub mod transport;
