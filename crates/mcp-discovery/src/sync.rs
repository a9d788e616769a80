//! The lock and the tasks by which all who wait share one flight. Compiled with `--cfg shuttle`, the tests
//! of this crate try out in which order they can come.

#[cfg(all(test, shuttle))]
pub(crate) use shuttle::{
    future::{AbortHandle, JoinHandle, spawn},
    sync::{Mutex, MutexGuard, PoisonError},
};
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(not(all(test, shuttle)))]
pub(crate) use tokio::{
    spawn,
    task::{AbortHandle, JoinHandle},
};
