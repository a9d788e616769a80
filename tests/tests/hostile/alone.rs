//! Runs a case in a process of its own, so that the peak of its memory is that case's alone.

use std::{
    env, fs,
    process::Command,
    time::{Duration, Instant},
};

use tokio::runtime::Builder;

use crate::healthy::Healthy;

/// Says to the process which case it is for.
const CASE: &str = "HOSTILE_CASE";

/// In this time another server must have been called.
const A_WHILE: Duration = Duration::from_secs(2);

/// Runs this case, named like its test. Its memory must not grow by more than `mebibytes`, and the calls
/// of another server must all be answered meanwhile. One thread for all: whoever does not give way is
/// found out.
pub(crate) fn alone(name: &str, mebibytes: u64, case: impl AsyncFnOnce()) {
    if env::var(CASE).is_ok_and(|case| case == name) {
        let grown = Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let healthy = Healthy::start().await;
            let (before, began) = (memory("VmRSS"), Instant::now());
            case().await;
            // A case that is over in a moment says nothing.
            assert!(began.elapsed() < A_WHILE || healthy.answered_meanwhile() > 0, "nobody else had a turn");
            let grown = memory("VmHWM").saturating_sub(before);
            healthy.stop().await;
            grown
        });
        println!("grew by {} KiB", grown);
        assert!(grown <= mebibytes << 10, "grew by {grown} KiB, and {mebibytes} MiB are the bound");
        return;
    }
    let mut child = Command::new(env::current_exe().unwrap());
    let child = child.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(CASE, name);
    let output = child.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    for line in text.lines().filter(|line| line.contains("grew by") || line.contains("healthy")) {
        println!("{line}");
    }
}

/// A line of `/proc/self/status`, in KiB.
fn memory(of: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(of)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
