//! `mcp-tool drill`: does a client run a write twice when a connection is lost?
//!
//! The [fault server](crate::fault_server) plays a [`DrillFault`] on a client's one call of the tool [`TOOL`], whose hints
//! are [`DrillHints`]. Its ledger says how often the tool ran, the client's exit code what the client [`Said`], and
//! [`Judgement`] compares the two. Whether a repetition was allowed is asked of the policy that every call goes through.
//!
//! Pure, but for [`Subject`], which is written into a ledger and read from it.

mod fault;
mod hints;
mod judgement;
mod said;
mod subject;
mod timeline;

pub use fault::{DrillFault, NoSuchFault, Transport};
pub use hints::{DrillHints, HintsError};
pub use judgement::{Asked, Judgement, Recovery, Verdict};
pub use said::Said;
pub use subject::{LedgerError, Subject};
pub use timeline::timeline;

/// The name of the one tool.
pub const TOOL: &str = "write";

/// The arguments of the one call.
pub const ARGUMENTS: &str = r#"{"key":"drill","value":"1"}"#;
