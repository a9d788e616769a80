//! When a server has closed its standard input.

use std::fs;

use crate::bench::{Bench, until};

/// Waits until the first start has closed its standard input.
///
/// It does so by becoming another image, and the kernel lets go of the pipe only as it enters that. So
/// this waits for something that the new image does: it opens the ledger again.
pub(crate) async fn is_closed(bench: &Bench) {
    let closes = bench.wait(|record| record.faults().iter().any(|fault| fault == "close_stdin")).await;
    let pid = closes.starts()[0];
    let arguments = || fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    until("the image without an input", || arguments().contains("--resume")).await;
    let ledger = fs::canonicalize(bench.ledger.path()).expect("a ledger");
    let files = || fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let is_ledger = |file: fs::DirEntry| fs::read_link(file.path()).is_ok_and(|file| file == ledger);
    until("its ledger to be open", || files().any(is_ledger)).await;
}
