//! One fault server under test: its ledger, how to reach it, and whether anything of it is left.
//! (For Linux: `/proc` tells what the kernel knows of a process.)

pub(crate) mod process;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use mcp_tool::StdioConnector;
use mcp_tool_cli::fault_server::{Ledger, Record, Scenario};
use rustix::process::Signal;

use self::process::{PATIENCE, runs, signal, until};

/// A fresh folder with one ledger in it. Removed at the end, unless the test failed.
pub(crate) struct Bench {
    folder: PathBuf,
    pub(crate) ledger: Ledger,
}

impl Bench {
    /// The ledger's file is named after what it is the judge of.
    pub(crate) fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let fresh = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(fresh);
        fs::create_dir_all(&folder).expect("a folder for the ledger");
        Self { ledger: Ledger::new(folder.join(format!("{name}.jsonl"))), folder }
    }

    /// A file next to the ledger.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Starts the fault server with this scenario. Its grace is short: it is a server that either ends
    /// at once or not at all.
    pub(crate) fn connector(&self, scenario: &Scenario) -> StdioConnector {
        StdioConnector::new(env!("CARGO_BIN_EXE_fault-server"))
            .args(scenario.to_args(self.ledger.path()))
            .with_grace(Duration::from_millis(100))
    }

    /// Waits until the ledger looks as wanted.
    pub(crate) async fn wait(&self, wanted: impl Fn(&Record) -> bool + Send + 'static) -> Record {
        let ledger = self.ledger.clone();
        let waiting = tokio::task::spawn_blocking(move || ledger.wait_for(PATIENCE, wanted));
        waiting.await.expect("the wait").expect("what the ledger was waited for")
    }

    /// The ledger as it is now.
    pub(crate) fn record(&self) -> Record {
        self.ledger.read().expect("a ledger")
    }

    /// Ends what is left on purpose.
    pub(crate) fn kill(&self) {
        // Only what still is this server: a process id may have gone to somebody else.
        let ledger = self.ledger.path().as_os_str().as_encoded_bytes();
        for pid in self.ledger.pids().unwrap_or_default() {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if command.split(|byte| *byte == 0).any(|argument| argument == ledger) {
                signal(pid, Signal::KILL);
            }
        }
    }

    /// Waits until every process that the ledger names has ended.
    pub(crate) async fn all_gone(&self) {
        for pid in self.record().pids() {
            gone(pid).await;
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.kill();
        if !thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Waits until this process has ended.
pub(crate) async fn gone(pid: u32) {
    until(&format!("process {pid} to end"), || !runs(pid)).await;
}
