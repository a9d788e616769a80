use std::sync::Arc;

use crate::{Definition, Delivery, Fence, Hints, Trust};

/// The two places where a policy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Checkpoint {
    /// The connection is lost. The tool is the one that was listed before.
    BeforeReconnect,
    /// The server is back and its tools have been listed anew. The tool is the one listed now.
    BeforeReplay,
}

/// What is known of a call that failed, at one checkpoint.
///
/// Whatever is not said fails closed: an unknown delivery, no trust, no annotations. The fields
/// are private and set by name, so that a fact added later breaks no policy.
///
/// ```
/// use replay_policy::{Checkpoint, Delivery, FailedAttempt, Hints, Trust};
///
/// let attempt = FailedAttempt::new("put", Checkpoint::BeforeReconnect)
///     .with_trust(Trust::BOTH)
///     .with_hints(Some(Hints::idempotent()));
/// assert_eq!(attempt.delivery(), Delivery::Unknown);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    server: Option<Arc<str>>,
    tool: Arc<str>,
    checkpoint: Checkpoint,
    delivery: Delivery,
    trust: Trust,
    trust_at_start: Trust,
    hints: Option<Hints>,
    definition: Definition,
    fence: Fence,
    attempts: u32,
    replays: u32,
    resends: u32,
}

impl FailedAttempt {
    /// A failed call of the tool with this name, at this checkpoint.
    #[must_use]
    pub fn new(tool: impl Into<Arc<str>>, checkpoint: Checkpoint) -> Self {
        Self {
            server: None,
            tool: tool.into(),
            checkpoint,
            delivery: Delivery::Unknown,
            trust: Trust::NONE,
            trust_at_start: Trust::NONE,
            hints: None,
            definition: Definition::Same,
            fence: Fence::None,
            attempts: 1,
            replays: 0,
            resends: 0,
        }
    }

    /// The server's name in the host's configuration. Default: none.
    #[must_use]
    pub fn with_server(mut self, server: impl Into<Arc<str>>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// The delivery, [joined](Delivery::join) over all attempts of the invocation. Default:
    /// [`Delivery::Unknown`].
    #[must_use]
    pub fn with_delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// The trust as it is now, read at this checkpoint. Default: [`Trust::NONE`].
    #[must_use]
    pub fn with_trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// The trust as it was when the invocation began. Default: [`Trust::NONE`].
    ///
    /// A host that skips confirmations under double trust must say it: a call that nobody
    /// confirmed may be resent only while that trust lasts.
    #[must_use]
    pub fn with_trust_at_start(mut self, trust: Trust) -> Self {
        self.trust_at_start = trust;
        self
    }

    /// The tool's hints, from the listing of this checkpoint; `None` when it has no annotations.
    /// Default: `None`.
    #[must_use]
    pub fn with_hints(mut self, hints: Option<Hints>) -> Self {
        self.hints = hints;
        self
    }

    /// How the tool compares with the one that the call was made for. Default:
    /// [`Definition::Same`].
    #[must_use]
    pub fn with_definition(mut self, definition: Definition) -> Self {
        self.definition = definition;
        self
    }

    /// What is known of the old connection, at [`Checkpoint::BeforeReplay`]. Default:
    /// [`Fence::None`].
    #[must_use]
    pub fn with_fence(mut self, fence: Fence) -> Self {
        self.fence = fence;
        self
    }

    /// How many requests of this invocation may have left so far. Default: 1.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// How many times the invocation was sent again while some earlier attempt was not
    /// proven unsent. Default: 0.
    #[must_use]
    pub fn with_replays(mut self, replays: u32) -> Self {
        self.replays = replays;
        self
    }

    /// How many times the invocation was sent again while every earlier attempt was proven unsent.
    /// Default: 0.
    #[must_use]
    pub fn with_resends(mut self, resends: u32) -> Self {
        self.resends = resends;
        self
    }

    /// The server's name in the host's configuration, if the caller gave it.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// The tool's name, as the server lists it.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The place where the policy is asked.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        self.checkpoint
    }

    /// The delivery, joined over all attempts of the invocation.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The trust as it is now.
    #[must_use]
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// The trust as it was when the invocation began.
    #[must_use]
    pub fn trust_at_start(&self) -> Trust {
        self.trust_at_start
    }

    /// The tool's hints; `None` when it has no annotations.
    #[must_use]
    pub fn hints(&self) -> Option<Hints> {
        self.hints
    }

    /// How the tool compares with the one that the call was made for.
    #[must_use]
    pub fn definition(&self) -> Definition {
        self.definition
    }

    /// What is known of the old connection's ability to act.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// How many requests of this invocation may have left so far.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How many times the invocation was sent again while some earlier attempt was not
    /// proven unsent.
    #[must_use]
    pub fn replays(&self) -> u32 {
        self.replays
    }

    /// How many times the invocation was sent again while every earlier attempt was proven unsent.
    #[must_use]
    pub fn resends(&self) -> u32 {
        self.resends
    }
}
