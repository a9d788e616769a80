use std::sync::Arc;

use crate::gate::{declared_safe, fenced, relisted_as, trust_kept, trusted};
use crate::overrides::{Overrides, Tool};
use crate::{Decision, Definition, Delivery, FailedAttempt, Reason, ReplayPolicy};

/// The default policy: what cannot be shown to be harmless is not sent twice.
///
/// An unsent call is still in its first delivery and may go to any tool, trusted or not. A call
/// that may have run goes out again only to a tool that is declared idempotent or read-only,
/// without contradiction, by a trusted server, in a trusted workspace.
///
/// # Order of the reasons
///
/// The first of these that applies is the reason of the denial.
///
/// 1. `operator_never`, `ambiguous_tool`: whatever the delivery.
/// 2. For a call proven unsent: `trust_withdrawn`, `tool_changed`, `resend_limit`.
/// 3. For any other: `server_untrusted`, `workspace_untrusted`; one verdict on the hints
///    (`malformed_hints`, else `unannotated`, `contradictory_hints` or `not_declared_safe`);
///    `tool_changed`, `not_fenced`, `replay_limit`.
///
/// `tool_changed` is found only at [`Checkpoint::BeforeReplay`](crate::Checkpoint::BeforeReplay), since no listing is new before
/// that. It takes any difference for an unsent call, and a different input schema for another.
#[derive(Clone, Debug)]
pub struct ConservativePolicy {
    max_replays: u32,
    unsent: UnsentCalls,
    refused: RefusedCalls,
    writes: Writes,
    overrides: Overrides,
}

#[derive(Clone, Copy, Debug)]
enum UnsentCalls {
    Resend,
    TreatAsUnknown,
}

#[derive(Clone, Copy, Debug)]
enum RefusedCalls {
    Accept,
    TreatAsUnknown,
}

#[derive(Clone, Copy, Debug)]
enum Writes {
    NeedFence,
    NeedNone,
}

/// What stands for the claim that a second run does no harm.
enum Grounds {
    HintsOrOperator,
    WordOfThePeer,
}

impl Default for ConservativePolicy {
    fn default() -> Self {
        Self {
            max_replays: Self::DEFAULT_MAX_REPLAYS,
            unsent: UnsentCalls::Resend,
            refused: RefusedCalls::TreatAsUnknown,
            writes: Writes::NeedNone,
            overrides: Overrides::default(),
        }
    }
}

impl ConservativePolicy {
    /// Replays of one invocation, unless [`with_max_replays`](Self::with_max_replays) says
    /// otherwise.
    pub const DEFAULT_MAX_REPLAYS: u32 = 3;

    /// Resends of one unsent invocation. They do not count as replays.
    pub const MAX_RESENDS: u32 = 3;

    /// How many times one invocation may be replayed. Default: 3. With 0 nothing that may have run
    /// is sent again.
    #[must_use]
    pub fn with_max_replays(mut self, replays: u32) -> Self {
        self.max_replays = replays;
        self
    }

    /// Treats an unsent call like one that may have run. Default: it is resent.
    ///
    /// Resends then count towards the limit of the replays.
    #[must_use]
    pub fn without_resending_unsent(mut self) -> Self {
        self.unsent = UnsentCalls::TreatAsUnknown;
        self
    }

    /// Takes a peer at its word that it did not process a call, so that the hints are waived: trust
    /// in server and workspace, the unchanged input schema and the limit are not. Default: off, a
    /// refused call is treated like one that may have run.
    ///
    /// This leaves it to the peer that a call runs at most once: a gateway can report a lost
    /// session after the server has run the call.
    #[must_use]
    pub fn accepting_refusals(mut self) -> Self {
        self.refused = RefusedCalls::Accept;
        self
    }

    /// Replays a write only when the server that it was sent to is known to have gone
    /// ([`Fence::GroupGone`](crate::Fence)). Default: off.
    ///
    /// Without a fence the old server may still be at work on the lost call while its replay runs, and
    /// after that: harmless for what is idempotent on its own, not where another write comes between. A
    /// tool that is declared read-only needs no fence. Over HTTP there is none, so nothing that writes is
    /// replayed there.
    #[must_use]
    pub fn requiring_fence(mut self) -> Self {
        self.writes = Writes::NeedFence;
        self
    }

    /// Rules the tool out on every server: it is neither replayed nor resent. Wins over every
    /// other rule.
    #[must_use]
    pub fn with_never(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.overrides.add_never(Tool { server: None, name: tool.into() });
        self
    }

    /// Rules the tool out on this server. An attempt that names no server is taken for this one.
    #[must_use]
    pub fn with_never_on(mut self, server: impl Into<Arc<str>>, tool: impl Into<Arc<str>>) -> Self {
        self.overrides.add_never(Tool { server: Some(server.into()), name: tool.into() });
        self
    }

    /// Vouches for the tool on every server: stands in for hints that are missing, malformed,
    /// contradictory or declare nothing. Still needs trust in server and workspace, and an
    /// unchanged input schema.
    #[must_use]
    pub fn with_safe(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.overrides.add_safe(Tool { server: None, name: tool.into() });
        self
    }

    /// Vouches for the tool on this server. An attempt that names no server is not this one.
    #[must_use]
    pub fn with_safe_on(mut self, server: impl Into<Arc<str>>, tool: impl Into<Arc<str>>) -> Self {
        self.overrides.add_safe(Tool { server: Some(server.into()), name: tool.into() });
        self
    }

    fn gate(&self, attempt: &FailedAttempt) -> Result<(), Reason> {
        if self.overrides.never(attempt) {
            return Err(Reason::OperatorNever);
        }
        if attempt.definition() == Definition::Ambiguous {
            return Err(Reason::AmbiguousTool);
        }
        match attempt.delivery() {
            Delivery::Unsent => match self.unsent {
                UnsentCalls::Resend => Self::resend(attempt),
                UnsentCalls::TreatAsUnknown => self.replay(attempt, Grounds::HintsOrOperator),
            },
            Delivery::Refused => match self.refused {
                RefusedCalls::Accept => self.replay(attempt, Grounds::WordOfThePeer),
                RefusedCalls::TreatAsUnknown => self.replay(attempt, Grounds::HintsOrOperator),
            },
            Delivery::Unknown => self.replay(attempt, Grounds::HintsOrOperator),
        }
    }

    /// The first delivery, once more: of the very call that was confirmed, on the same terms.
    fn resend(attempt: &FailedAttempt) -> Result<(), Reason> {
        trust_kept(attempt)?;
        relisted_as(attempt, &[Definition::Same])?;
        if attempt.resends() >= Self::MAX_RESENDS {
            return Err(Reason::ResendLimit);
        }
        Ok(())
    }

    fn replay(&self, attempt: &FailedAttempt, grounds: Grounds) -> Result<(), Reason> {
        trusted(attempt.trust())?;
        match grounds {
            Grounds::HintsOrOperator if self.overrides.safe(attempt) => {}
            Grounds::HintsOrOperator => declared_safe(attempt.hints())?,
            Grounds::WordOfThePeer => {}
        }
        relisted_as(attempt, &[Definition::Same, Definition::Changed])?;
        match self.writes {
            Writes::NeedFence => fenced(attempt)?,
            Writes::NeedNone => {}
        }
        if self.spent(attempt) >= self.max_replays {
            return Err(Reason::ReplayLimit);
        }
        Ok(())
    }

    /// Where an unsent call is treated like an unknown one, so is what was spent on it.
    fn spent(&self, attempt: &FailedAttempt) -> u32 {
        match self.unsent {
            UnsentCalls::Resend => attempt.replays(),
            UnsentCalls::TreatAsUnknown => attempt.replays().saturating_add(attempt.resends()),
        }
    }
}

impl ReplayPolicy for ConservativePolicy {
    fn decide(&self, attempt: &FailedAttempt) -> Decision {
        match self.gate(attempt) {
            Ok(()) => Decision::Replay,
            Err(reason) => Decision::Deny(reason),
        }
    }
}
