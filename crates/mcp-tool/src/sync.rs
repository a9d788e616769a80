//! The lock that all invocations of a client share. Compiled with `--cfg shuttle`, the tests of this crate
//! try out in which order they can take it.

#[cfg(all(test, shuttle))]
pub(crate) use shuttle::sync::{Mutex, PoisonError};
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::sync::{Mutex, PoisonError};
