#![doc = include_str!("../README.md")]

mod attempt;
mod conservative;
mod decision;
mod definition;
mod delivery;
mod fence;
mod gate;
mod hints;
mod overrides;
mod policy;
mod reason;
mod trust;

pub use attempt::{Checkpoint, FailedAttempt};
pub use definition::Definition;
pub use delivery::Delivery;
pub use fence::Fence;
pub use hints::{HintForm, Hints};
pub use trust::Trust;

pub use decision::Decision;
pub use reason::Reason;

#[cfg(feature = "mock")]
pub use policy::MockReplayPolicy;
pub use policy::{PolicyFn, ReplayPolicy, policy_fn};

pub use conservative::ConservativePolicy;
