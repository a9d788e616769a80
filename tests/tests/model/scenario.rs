//! What one exhaustive run covers: the transport, the tools, the trust, and how often the world may change.

use mcp_tool::{ConservativePolicy, Trust, mcp_transport::Fence, replay_policy::Hints};

/// Everything that does not change within one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) wire: Wire,
    pub(crate) guard: GuardIs,
    pub(crate) callers: [Caller; 2],
    pub(crate) trust: Trust,
    pub(crate) writes: Writes,
    pub(crate) bounds: Bounds,
}

/// How a connection is made, and what its end tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// One process, one stream. Its end ends all that is in flight.
    Stdio {
        /// What closing tells. With `None` some process of the server may live on.
        fence: Fence,
        /// Whether a dead server's pipe tells what was left unread.
        pipe: Pipe,
    },
    /// One session; a lost response ends one call.
    Http,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pipe {
    Tells,
    IsSilent,
}

/// Whether the transport asks the call's guard before the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardIs {
    Obeyed,
    Ignored,
}

/// Who calls what. Each caller has a tool of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Caller {
    pub(crate) tool: Tool,
    pub(crate) holds: Holds,
    pub(crate) sends: Sends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tool {
    /// Declared idempotent.
    Idempotent,
    /// Not annotated.
    Plain,
}

/// What the caller made its call for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holds {
    /// A handle, with the definition that the server listed at first.
    Handle,
    /// A name: the definition that is listed when the call begins.
    Name,
}

/// Whether the call stands for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sends {
    Call,
    /// It continues another one, whose server keeps a state for it: never a second time, whatever is declared.
    Continuation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    NeedNone,
    NeedFence,
}

/// How often what may happen. What a process does with a request, and when a connection ends, is not bounded
/// but by the listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    /// Listings that begin: one for each generation, and for each listing that fails.
    pub(crate) listings: u8,
    /// Times that trust in the server or in the workspace is withdrawn or given.
    pub(crate) trust: u8,
    /// Times that the server comes to list something else.
    pub(crate) contents: u8,
    /// Times that the server's configuration is changed.
    pub(crate) identities: u8,
    /// Calls that are cancelled, dropped, or run out of time.
    pub(crate) leaves: u8,
    /// Times that a server says that its tools changed.
    pub(crate) events: u8,
    /// Times that a supervisor sets out to bring the server back, and times that it gives a connection up.
    pub(crate) recoveries: u8,
    /// Replays beyond the first of an invocation that there is a budget for.
    pub(crate) retries: u8,
}

impl Scenario {
    pub(crate) fn policy(&self) -> ConservativePolicy {
        match self.writes {
            Writes::NeedNone => ConservativePolicy::default(),
            Writes::NeedFence => ConservativePolicy::default().requiring_fence(),
        }
    }

    /// Whether a dead server's pipe tells what it left unread.
    pub(crate) fn pipe_tells(&self) -> bool {
        matches!(self.wire, Wire::Stdio { pipe: Pipe::Tells, .. })
    }
}

/// What a server lists for the tools, compared with what it listed at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Content {
    Original,
    /// Another description.
    Reworded,
    /// The idempotent tool has lost its hints, the other one has got one.
    Flipped,
    /// Another input schema.
    Reshaped,
    /// The tools stand there twice, with different definitions.
    Doubled,
    /// The tools are gone.
    Gone,
}

impl Content {
    pub(crate) const ALL: [Self; 6] =
        [Self::Original, Self::Reworded, Self::Flipped, Self::Reshaped, Self::Doubled, Self::Gone];
}

impl Tool {
    /// The hints that are listed.
    pub(crate) fn hints(self, content: Content) -> Option<Hints> {
        self.is_declared_safe(content).then_some(Hints::idempotent())
    }

    /// Whether the listing declares that a second run does no harm.
    pub(crate) fn is_declared_safe(self, content: Content) -> bool {
        (self == Self::Idempotent) != (content == Content::Flipped)
    }
}
