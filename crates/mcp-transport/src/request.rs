//! The requests of ours that are under way on one connection: who waits for what, how much of it has
//! left, and what came back. Shared by the transports that run on rmcp.

mod asked;
mod attentive;
mod envelope;
mod exchange;
mod frame;
mod modest;
mod registry;
mod tap;
mod under_way;

pub(crate) use asked::{Admission, Asked, DEFAULT_MAX_UNANSWERED};
#[cfg(feature = "http")]
pub(crate) use attentive::Answers;
pub(crate) use attentive::Attentive;
pub(crate) use envelope::{Sorted, nothing_for};
pub(crate) use exchange::{call_tool, list_tools, task};
pub(crate) use frame::Outgoing;
pub(crate) use modest::for_rmcp;
#[cfg(feature = "http")]
pub(crate) use modest::is_modest;
pub(crate) use registry::Requests;
pub(crate) use tap::{Answer, Arrival, Extent, Tap};
pub(crate) use under_way::{Carrier, UnderWay};
