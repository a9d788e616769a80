//! What the kernel knows of a process, and waiting for it. (For Linux: `/proc` tells.)

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// How long something may take that must happen; only a failing test waits that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether this process runs. One that nobody has reaped yet does not.
pub(crate) fn runs(pid: u32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Sends a signal to a process that was seen in a ledger.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = pid.try_into().ok().and_then(Pid::from_raw) {
        // An error says that it has ended meanwhile.
        let _ = kill_process(pid, signal);
    }
}

/// `R`, `S`, `T`, … as the kernel has it; none when there is no such process.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Waits for something that nobody tells of.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        tokio::task::spawn_blocking(|| thread::sleep(Duration::from_millis(2))).await.expect("a look");
    }
}
