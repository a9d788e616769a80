//! The rules that the default policy is made of: each one permits, or names its reason.

use crate::{Checkpoint, Definition, FailedAttempt, Fence, HintForm, Hints, Reason, Trust};

/// Server and workspace are trusted now.
pub(crate) fn trusted(trust: Trust) -> Result<(), Reason> {
    if trust.is_trusted_server_in_trusted_workspace() {
        Ok(())
    } else if trust.server_trusted() {
        Err(Reason::WorkspaceUntrusted)
    } else {
        Err(Reason::ServerUntrusted)
    }
}

/// A double trust that held at the start, and may have stood in for a confirmation, holds still.
pub(crate) fn trust_kept(attempt: &FailedAttempt) -> Result<(), Reason> {
    let then = attempt.trust_at_start();
    let now = attempt.trust();
    if then.is_trusted_server_in_trusted_workspace() && !now.is_trusted_server_in_trusted_workspace() {
        return Err(Reason::TrustWithdrawn);
    }
    Ok(())
}

/// The hints declare that a second run does no harm, and do not contradict themselves.
pub(crate) fn declared_safe(hints: Option<Hints>) -> Result<(), Reason> {
    let Some(hints) = hints else {
        return Err(Reason::Unannotated);
    };
    if hints.form == HintForm::Malformed {
        return Err(Reason::MalformedHints);
    }
    match (hints.read_only, hints.destructive, hints.idempotent) {
        (None, None, None) => Err(Reason::Unannotated),

        (Some(true), Some(true), None | Some(true | false))
        | (Some(true), None | Some(false), Some(false)) => Err(Reason::ContradictoryHints),

        (Some(true), None | Some(false), None | Some(true))
        | (None | Some(false), None | Some(true | false), Some(true)) => Ok(()),

        (Some(false), None | Some(true | false), None | Some(false))
        | (None, Some(true | false), None | Some(false))
        | (None, None, Some(false)) => Err(Reason::NotDeclaredSafe),
    }
}

/// The new listing has the tool in an accepted state. Before there is one, nothing is compared.
pub(crate) fn relisted_as(attempt: &FailedAttempt, accepted: &[Definition]) -> Result<(), Reason> {
    match attempt.checkpoint() {
        Checkpoint::BeforeReconnect => Ok(()),
        Checkpoint::BeforeReplay if accepted.contains(&attempt.definition()) => Ok(()),
        Checkpoint::BeforeReplay => Err(Reason::ToolChanged),
    }
}

/// The server that the call was sent to is known to have gone, or the tool only reads. Before the old
/// connection was ended, nothing is asked.
pub(crate) fn fenced(attempt: &FailedAttempt) -> Result<(), Reason> {
    match (attempt.checkpoint(), attempt.fence()) {
        (Checkpoint::BeforeReconnect, _) | (_, Fence::GroupGone) => Ok(()),
        (Checkpoint::BeforeReplay, Fence::None) if only_reads(attempt.hints()) => Ok(()),
        (Checkpoint::BeforeReplay, Fence::None) => Err(Reason::NotFenced),
    }
}

fn only_reads(hints: Option<Hints>) -> bool {
    declared_safe(hints).is_ok() && hints.is_some_and(|hints| hints.read_only == Some(true))
}
