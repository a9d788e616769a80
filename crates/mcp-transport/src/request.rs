//! The requests of ours that are under way on one connection: who waits for what, how much of it has
//! left, and what came back. Shared by the transports that run on rmcp.

mod envelope;
mod exchange;
mod frame;
mod registry;
mod tap;
mod under_way;

pub(crate) use envelope::{Sorted, nothing_for};
pub(crate) use exchange::{call_tool, list_tools, task};
pub(crate) use frame::Outgoing;
pub(crate) use registry::Requests;
pub(crate) use tap::{Answer, Arrival, Extent, Tap};
pub(crate) use under_way::{Carrier, UnderWay};
