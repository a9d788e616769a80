//! The locks that decide whether a byte may leave. Compiled with `--cfg shuttle`, the tests of this crate
//! try out in which order its threads can take them.

#[cfg(all(test, shuttle))]
pub(crate) use shuttle::sync::{Mutex, MutexGuard, PoisonError, atomic};
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError, atomic};
