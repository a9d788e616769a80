//! Shared parts of the end-to-end tests.

pub mod hostile;

/// Compiles and runs the code in the documents that are no crate's documentation.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../README.md")]
    mod readme {}
    #[doc = include_str!("../../ARCHITECTURE.md")]
    mod architecture {}
    #[doc = include_str!("../../CONTRIBUTING.md")]
    mod contributing {}
    #[doc = include_str!("../../docs/replay-safety.md")]
    mod replay_safety {}
    #[doc = include_str!("../../docs/errors.md")]
    mod errors {}
    #[doc = include_str!("../../docs/observability.md")]
    mod observability {}
    #[doc = include_str!("../../docs/custom-transport.md")]
    mod custom_transport {}
    #[doc = include_str!("../../docs/mocking.md")]
    mod mocking {}
    #[doc = include_str!("../../docs/host-integration.md")]
    mod host_integration {}
}
