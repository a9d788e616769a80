use mcp_transport::CallReply;

use crate::TaskHandle;

/// The server's answer, and what it took to get it.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Answer {
    /// What the server answered, unchanged: a result (`isError: true` included), a JSON-RPC error, or a
    /// request for more.
    pub reply: CallReply,
    /// Requests put on the wire, the answered one included.
    pub attempts: u32,
    /// Replays of a request that may have run, those that proved unsent included.
    pub replays: u32,
    /// Tries before it that were proven unsent.
    pub unsent: u32,
    /// Whether an earlier attempt may have run. If so, "already exists" may be that attempt's doing.
    pub earlier_unknown: bool,
    /// The task that the server made of the call, or whose questions these are: what comes of the call is to
    /// be had from it.
    pub task: Option<TaskHandle>,
}
