//! A server that stands still for a while, as on a machine that has no time for it.

use rustix::process::Signal;

use crate::bench::{
    Bench,
    process::{signal, state, until},
};

/// Stops the first start where it is.
pub(crate) async fn suspend(bench: &Bench) {
    let pid = bench.record().starts()[0];
    signal(pid, Signal::STOP);
    until("the server to stand still", || state(pid) == Some('T')).await;
}

/// Lets it go on.
pub(crate) fn resume(bench: &Bench) {
    signal(bench.record().starts()[0], Signal::CONT);
}
