#![doc = include_str!("../README.md")]

mod adopt;
mod answer;
mod call;
mod callable;
mod connector;
#[cfg(feature = "contract")]
pub mod contract;
mod delivery;
mod error;
mod events;
mod guard;
#[cfg(any(feature = "http", feature = "stdio"))]
mod handshake;
#[cfg(feature = "http")]
mod http;
mod identity;
#[cfg(feature = "mock")]
mod mock;
mod page;
mod progress;
mod reply;
#[cfg(any(feature = "http", feature = "stdio"))]
mod request;
#[cfg(feature = "mock")]
mod scripted;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(any(feature = "http", feature = "stdio"))]
mod sync;
mod task;
mod transport;

pub use adopt::AdoptedService;
pub use call::{DEFAULT_DEADLINE, DEFAULT_IDLE_TIMEOUT, ToolCall};
pub use callable::{Callable, callable};
pub use connector::{Connector, ConnectorFn, connector_fn};
pub use delivery::{Delivery, ErrorClass};
pub use error::{ErrorKind, TransportError};
pub use events::{Event, EventSender, Events};
pub use guard::{Guard, Withdrawn};
#[cfg(feature = "http")]
pub use http::{HttpClient, HttpConnector, HttpTransport, InvalidUrl, TokenSource};
pub use identity::ServerIdentity;
#[cfg(feature = "mock")]
pub use mock::{MockConnector, MockTransport};
pub use page::{Cursor, RawTool, ToolPage};
pub use progress::Progress;
pub use reply::CallReply;
#[cfg(feature = "mock")]
pub use scripted::{Gate, ScriptedTransport, Step};
#[cfg(feature = "stdio")]
pub use stdio::{StdioConnector, StdioTransport};
pub use task::{TaskReply, TaskRequest};
pub use transport::{Fence, Transport};

#[cfg(feature = "http")]
pub use reqwest;
pub use rmcp;
pub use tokio_util::sync::CancellationToken;
