//! One fault server over HTTP, on a port that stays its own.

use std::{ffi::OsString, path::PathBuf, process::Stdio, time::Duration};

use mcp_tool::HttpConnector;
use mcp_tool_cli::fault_server::{Ledger, Record, Scenario};
use tokio::{
    process::{Child, Command},
    sync::watch,
    task::JoinHandle,
};

/// How long something may take that must happen; only a failing test waits that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A fault server that comes back on its port whenever it dies, unless it is told to stay down.
pub(crate) struct Server {
    ledger: Ledger,
    port: u16,
    wanted: watch::Sender<Wanted>,
    is_up: watch::Receiver<bool>,
    keeper: JoinHandle<()>,
    folder: tempfile::TempDir,
}

#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Up,
    Down,
    Over,
}

impl Server {
    pub(crate) async fn start(scenario: &Scenario) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), scenario).await
    }

    /// The same for a scenario that waits for files in this folder.
    pub(crate) async fn start_in(folder: tempfile::TempDir, scenario: &Scenario) -> Self {
        let ledger = Ledger::new(folder.path().join("ledger.jsonl"));
        let arguments = scenario.to_args(ledger.path());
        let first = spawn(&arguments, 0);
        let port = wait(&ledger, |record| !record.ports().is_empty()).await.ports()[0];
        let (wanted, wishes) = watch::channel(Wanted::Up);
        let (tells, is_up) = watch::channel(true);
        let keeper = tokio::spawn(keep(first, arguments, port, wishes, tells));
        Self { ledger, port, wanted, is_up, keeper, folder }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub(crate) fn connector(&self) -> HttpConnector {
        HttpConnector::new(&self.url()).unwrap()
    }

    /// A file next to the ledger.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The ledger as it is now.
    pub(crate) fn record(&self) -> Record {
        self.ledger.read().unwrap()
    }

    /// Waits until the ledger looks as wanted.
    pub(crate) async fn wait_for(&self, wanted: impl Fn(&Record) -> bool + Send + 'static) -> Record {
        wait(&self.ledger, wanted).await
    }

    /// Does not come back from now on, and is not there.
    pub(crate) async fn stay_down(&self) {
        self.wanted.send_replace(Wanted::Down);
        self.is_up.clone().wait_for(|up| !up).await.unwrap();
    }

    /// Is about to be there again.
    pub(crate) fn come_back(&self) {
        self.wanted.send_replace(Wanted::Up);
    }

    pub(crate) async fn stop(self) {
        self.wanted.send_replace(Wanted::Over);
        self.keeper.await.unwrap();
    }
}

/// Waits for events only, no timer: some tests stop the clock.
async fn keep(
    mut child: Child,
    arguments: Vec<OsString>,
    port: u16,
    mut wanted: watch::Receiver<Wanted>,
    is_up: watch::Sender<bool>,
) {
    loop {
        // A child ends with its input, which waiting would close.
        let input = child.stdin.take();
        let unwanted = async { wanted.wait_for(|wanted| *wanted != Wanted::Up).await.map(drop) };
        tokio::select! {
            ended = child.wait() => drop(ended.unwrap()),
            _ = unwanted => child.kill().await.unwrap(),
        }
        drop(input);
        is_up.send_replace(false);
        match wanted.wait_for(|wanted| *wanted != Wanted::Down).await {
            Ok(wanted) if *wanted == Wanted::Up => {}
            // Or the test has failed.
            _ => return,
        }
        child = spawn(&arguments, port);
        is_up.send_replace(true);
    }
}

fn spawn(arguments: &[OsString], port: u16) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fault-server"));
    command.args(arguments).args(["--http", &port.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    command.spawn().unwrap()
}

async fn wait(ledger: &Ledger, wanted: impl Fn(&Record) -> bool + Send + 'static) -> Record {
    let ledger = ledger.clone();
    let waiting = tokio::task::spawn_blocking(move || ledger.wait_for(PATIENCE, wanted));
    waiting.await.unwrap().expect("what the ledger was waited for")
}
