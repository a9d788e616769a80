use std::{fmt, sync::Arc};

use crate::{Decision, FailedAttempt};

/// Decides whether a failed call may run again.
///
/// # Contract
///
/// An implementor
/// - answers from the attempt and its own configuration alone, at once: no waiting, no I/O, and
///   no side effect that a second question would repeat;
/// - reads [`FailedAttempt::delivery`] as the joined delivery over all attempts: `Unknown` means
///   that the call may already have run, and a `Replay` that it may run twice;
/// - carries nothing over from one checkpoint to the other, for trust and tool may have changed;
/// - bounds its own permission, by [`FailedAttempt::replays`] and [`FailedAttempt::resends`];
/// - does not panic, and puts no content of the call into a [`Reason`](crate::Reason).
///
/// A caller
/// - asks only about an attempt whose connection was lost: never about an answer, whatever its
///   text says, nor about a timeout or a call that was cancelled;
/// - asks before it reconnects, with the tool as it was listed, and again before it sends, with
///   the tool, the definition and the trust as they are then;
/// - after a denial sends nothing more for the invocation; after one before reconnecting it does
///   not reconnect on the invocation's behalf either;
/// - may take `Replay` as a permission and still stop, at a deadline or a ceiling of its own;
/// - may ask from many threads at once.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait ReplayPolicy: Send + Sync {
    /// Whether the invocation of this attempt may go on.
    fn decide(&self, attempt: &FailedAttempt) -> Decision;
}

impl<P: ReplayPolicy + ?Sized> ReplayPolicy for Arc<P> {
    fn decide(&self, attempt: &FailedAttempt) -> Decision {
        (**self).decide(attempt)
    }
}

impl<P: ReplayPolicy + ?Sized> ReplayPolicy for Box<P> {
    fn decide(&self, attempt: &FailedAttempt) -> Decision {
        (**self).decide(attempt)
    }
}

/// Makes a policy from a closure, which is bound by the contract of [`ReplayPolicy`].
///
/// The usual one adds a rule of its own and leaves the rest to another policy:
///
/// ```
/// use replay_policy::{ConservativePolicy, Decision, FailedAttempt, Reason, ReplayPolicy, policy_fn};
///
/// let gate = ConservativePolicy::default();
/// let policy = policy_fn(move |attempt: &FailedAttempt| {
///     if attempt.tool().starts_with("pay_") {
///         Decision::Deny(Reason::Custom("payments"))
///     } else {
///         gate.decide(attempt)
///     }
/// });
/// # let _: Box<dyn ReplayPolicy> = Box::new(policy);
/// ```
pub fn policy_fn<F>(decide: F) -> PolicyFn<F>
where
    F: Fn(&FailedAttempt) -> Decision + Send + Sync,
{
    PolicyFn(decide)
}

/// The policy made by [`policy_fn`].
#[derive(Clone, Copy)]
pub struct PolicyFn<F>(F);

impl<F> ReplayPolicy for PolicyFn<F>
where
    F: Fn(&FailedAttempt) -> Decision + Send + Sync,
{
    fn decide(&self, attempt: &FailedAttempt) -> Decision {
        (self.0)(attempt)
    }
}

impl<F> fmt::Debug for PolicyFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyFn").finish_non_exhaustive()
    }
}
