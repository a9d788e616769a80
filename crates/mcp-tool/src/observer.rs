use std::fmt;

use mcp_discovery::{ConnectionId, Generation};
use mcp_transport::ErrorKind;
use replay_policy::{Checkpoint, Decision, Delivery};

use crate::{Outcome, Reason, machine::AttemptKind};

/// Is told what happens to invocations, for hosts that count.
///
/// # Contract
///
/// Called from within the call's own task, and when a call's future is dropped. It must be quick, must
/// not block and must not panic. For one invocation the events come in order, and the last one is
/// [`Happening::Ended`].
pub trait Observer: Send + Sync {
    /// Something happened.
    fn observe(&self, invocation: &InvocationInfo<'_>, happening: &Happening);
}

/// Which invocation an event belongs to.
#[non_exhaustive]
#[derive(Clone, Copy)]
pub struct InvocationInfo<'a> {
    /// One number for all attempts of one invocation, unique in this process.
    pub id: u64,
    /// The server's name, as the host chose it.
    pub server: &'a str,
    /// The tool's exact name, which may be any text that the server chose.
    pub tool: &'a str,
}

impl<'a> InvocationInfo<'a> {
    pub(crate) fn new(id: u64, server: &'a str, tool: &'a str) -> Self {
        Self { id, server, tool }
    }
}

impl fmt::Debug for InvocationInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = mcp_discovery::ToolName::from(self.tool);
        f.debug_struct("InvocationInfo")
            .field("id", &self.id)
            .field("server", &self.server)
            .field("tool", &tool)
            .finish()
    }
}

/// What happened to an invocation.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The listing that the invocation goes by from now on.
    #[non_exhaustive]
    Listed {
        /// Which listing it is.
        generation: Generation,
        /// Over which connection.
        connection: ConnectionId,
        /// How many tools can be called.
        tools: usize,
        /// How many were set aside as malformed.
        quarantined: usize,
    },
    /// An attempt is handed to the transport.
    #[non_exhaustive]
    Attempting {
        /// Why it is made.
        kind: AttemptKind,
        /// On which listing.
        generation: Generation,
    },
    /// An attempt failed.
    #[non_exhaustive]
    Failed {
        /// What went wrong.
        kind: ErrorKind,
        /// What is known of this attempt.
        delivery: Delivery,
    },
    /// The policy decided.
    #[non_exhaustive]
    Decided {
        /// Where it was asked.
        checkpoint: Checkpoint,
        /// What it said.
        decision: Decision,
    },
    /// The invocation ended.
    #[non_exhaustive]
    Ended {
        /// None when the server answered.
        outcome: Option<Outcome>,
        /// None when the server answered.
        reason: Option<Reason>,
        /// Requests put on the wire.
        attempts: u32,
        /// Replays of a request that may have run, those that proved unsent included.
        replays: u32,
    },
}

impl<O: Observer + ?Sized> Observer for std::sync::Arc<O> {
    fn observe(&self, invocation: &InvocationInfo<'_>, happening: &Happening) {
        (**self).observe(invocation, happening);
    }
}

/// Both are told, the left one first.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn observe(&self, invocation: &InvocationInfo<'_>, happening: &Happening) {
        self.0.observe(invocation, happening);
        self.1.observe(invocation, happening);
    }
}
