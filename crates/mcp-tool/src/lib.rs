#![doc = include_str!("../README.md")]

mod answer;
mod bridge;
mod client;
mod driver;
mod error;
mod handle;
pub mod machine;
#[cfg(feature = "metrics")]
mod metrics;
mod observer;
mod reason;
mod retry_budget;
mod servers;
mod sync;
mod task;
mod trust;

pub use answer::Answer;
pub use bridge::policy_hints;
pub use client::{Client, ClientBuilder};
pub use error::{Outcome, ToolError};
pub use handle::ToolHandle;
#[cfg(feature = "metrics")]
pub use metrics::MetricsObserver;
pub use observer::{Happening, InvocationInfo, Observer};
pub use reason::Reason;
pub use retry_budget::RetryBudget;
pub use servers::{Applied, Server, ServerEntry, Servers, ServersBuilder};
pub use task::{DEFAULT_TASK_DEADLINE, TaskHandle};
pub use trust::{TrustFn, TrustSource, trust_fn};

// The words that a host needs besides, from the layers below.
pub use mcp_discovery::{
    Catalog, CatalogTool, Discovery, DiscoveryError, PagingDiscovery, SupervisedDiscovery, ToolFilter,
};
pub use mcp_transport::{
    CallReply, CancellationToken, Connector, ToolCall, Transport, TransportError, connector_fn,
};
#[cfg(feature = "http")]
pub use mcp_transport::{HttpConnector, HttpTransport, TokenSource};
#[cfg(feature = "stdio")]
pub use mcp_transport::{StdioConnector, StdioTransport};
pub use replay_policy::{ConservativePolicy, ReplayPolicy, Trust};

pub use mcp_discovery;
pub use mcp_transport;
pub use mcp_transport::rmcp;
pub use replay_policy;
