//! The requests of ours that are under way on one connection: who waits for what, how much of it has
//! left, and what came back. Shared by the transports that run on rmcp.

#[cfg(feature = "http")]
mod answers;
mod asked;
mod envelope;
mod exchange;
mod frame;
mod modest;
mod questions;
mod registry;
mod tap;
mod under_way;

#[cfg(feature = "http")]
pub(crate) use answers::Answers;
#[cfg(feature = "stdio")]
pub(crate) use asked::Admission;
pub(crate) use asked::{Asked, DEFAULT_MAX_UNANSWERED};
pub(crate) use envelope::{Sorted, nothing_for};
pub(crate) use exchange::{call_tool, list_tools, task};
pub(crate) use frame::Outgoing;
pub(crate) use modest::for_rmcp;
#[cfg(feature = "http")]
pub(crate) use modest::is_modest;
pub(crate) use questions::{Host, Questions};
pub(crate) use registry::Requests;
pub(crate) use tap::{Answer, Arrival, Extent, Tap};
pub(crate) use under_way::{Carrier, UnderWay};
