#![doc = include_str!("../README.md")]

mod backoff;
mod catalog;
mod digest;
mod discovery;
mod error;
mod filter;
mod flight;
mod generation;
pub mod generations;
mod hints;
mod hold;
mod in_order;
#[cfg(all(test, shuttle))]
mod interleavings;
mod limits;
mod listener;
mod listing;
#[cfg(feature = "mock")]
mod mock;
mod name;
mod oversight;
mod paging;
mod quarantine;
mod readable;
mod run;
mod sleep;
mod state;
mod supervised;
mod sync;
mod tool;
mod walk;

pub use backoff::Reconnect;
pub use catalog::Catalog;
pub use digest::DefinitionDigest;
pub use discovery::Discovery;
pub use error::{DiscoveryError, DiscoveryErrorKind};
pub use filter::ToolFilter;
pub use generation::{ConnectionId, Generation};
pub use hints::{DeclaredHints, Hint};
pub use limits::ListLimits;
pub use listing::Warning;
#[cfg(feature = "mock")]
pub use mock::MockDiscovery;
pub use name::ToolName;
pub use paging::PagingDiscovery;
pub use quarantine::{QuarantineReason, Quarantined};
pub use supervised::{
    CatalogChange, CatalogChanges, DefinitionChange, DownReason, State, Status, SupervisedBuilder,
    SupervisedDiscovery, Supervision,
};
pub use tool::CatalogTool;
