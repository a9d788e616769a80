//! An MCP server that fails on demand and keeps a ledger of what it has really done.
//!
//! A [`Scenario`] says which tools a server has and what goes wrong, per call, per page and per start; it
//! travels in the arguments of a real process ([`Scenario::to_args`], [`main_with_args`]). A [`Ledger`]
//! is the judge: the server appends a line for each start, call and side effect, and whatever a client
//! claims about a call can be held against it.
//!
//! It speaks raw JSON-RPC, over standard input and output or over hand-written HTTP, so that it can
//! misbehave in ways that no library lets it.

mod call;
mod event;
mod fault;
mod http;
mod journal;
mod ledger;
mod paging;
mod process;
mod protocol;
mod scenario;
mod start;
mod stdio;
mod step;
mod task;
mod tools;

pub use event::{Cancellation, Event, Execution, Exit, Listing, Receipt};
pub use fault::{Ask, Fault, Kept, Stray, When};
pub use http::{Certificate, Http, HttpFault, Moment, Reply, Response, Resumed, Sessions, Standalone, Tls};
pub use ledger::{Ledger, Record};
pub use paging::{Cursors, PageFault};
pub use process::DEATH;
pub use scenario::{Ending, Era, Holds, Scenario, Startup};
pub use start::main_with_args;
pub use tools::{ToolSpec, Tools};
