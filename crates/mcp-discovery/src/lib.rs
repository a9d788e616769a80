#![doc = include_str!("../README.md")]

mod catalog;
mod digest;
mod discovery;
mod error;
mod generation;
mod hints;
mod listing;
mod name;
mod quarantine;
mod readable;
mod tool;

pub use catalog::Catalog;
pub use digest::DefinitionDigest;
pub use discovery::Discovery;
#[cfg(feature = "mock")]
pub use discovery::MockDiscovery;
pub use error::{DiscoveryError, DiscoveryErrorKind};
pub use generation::{ConnectionId, Generation};
pub use hints::{DeclaredHints, Hint};
pub use listing::Warning;
pub use name::ToolName;
pub use quarantine::{QuarantineReason, Quarantined};
pub use tool::CatalogTool;
