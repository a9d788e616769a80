use std::{
    ffi::OsString,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use mcp_tool::HttpConnector;
use mcp_tool_cli::fault_server::{Ledger, Record, Scenario};
use tokio::{
    process::{Child, Command},
    sync::{Mutex, watch},
    task::JoinHandle,
};

/// How long the ledger may take to show what a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A fault server on a port of its own, which comes back there whenever it dies.
pub(crate) struct Server {
    ledger: Ledger,
    port: u16,
    up: watch::Sender<bool>,
    keeper: JoinHandle<()>,
    child: Arc<Mutex<Option<Child>>>,
    _directory: tempfile::TempDir,
}

impl Server {
    pub(crate) async fn start(scenario: &Scenario) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(directory.path().join("ledger.jsonl"));
        let arguments = scenario.to_args(ledger.path());
        let first = spawn(&arguments, 0);
        let port = wait(&ledger, |record| !record.ports().is_empty()).await.ports()[0];
        let child = Arc::new(Mutex::new(Some(first)));
        let (up, is_up) = watch::channel(true);
        let keeper = tokio::spawn(keep(child.clone(), arguments, port, is_up));
        Self { ledger, port, up, keeper, child, _directory: directory }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn connector(&self) -> HttpConnector {
        HttpConnector::new(&format!("http://127.0.0.1:{}/mcp", self.port)).unwrap()
    }

    pub(crate) fn record(&self) -> Record {
        self.ledger.read().unwrap()
    }

    pub(crate) async fn wait_for(&self, wanted: impl Fn(&Record) -> bool) {
        wait(&self.ledger, wanted).await;
    }

    /// Does not come back from now on, and is not there.
    pub(crate) async fn stay_down(&self) {
        self.up.send_replace(false);
        self.stop_child().await;
    }

    pub(crate) async fn come_back(&self) {
        self.up.send_replace(true);
    }

    pub(crate) async fn stop(self) {
        self.keeper.abort();
        self.stop_child().await;
    }

    async fn stop_child(&self) {
        if let Some(mut child) = self.child.lock().await.take() {
            child.kill().await.unwrap();
        }
    }
}

async fn keep(
    child: Arc<Mutex<Option<Child>>>,
    arguments: Vec<OsString>,
    port: u16,
    mut up: watch::Receiver<bool>,
) {
    loop {
        // Looked at rather than waited for, so that whoever stops it gets the child.
        let gone = match &mut *child.lock().await {
            Some(child) => child.try_wait().unwrap().is_some(),
            None => true,
        };
        if gone {
            up.wait_for(|up| *up).await.unwrap();
            *child.lock().await = Some(spawn(&arguments, port));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn spawn(arguments: &[OsString], port: u16) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fault-server"));
    command.args(arguments).args(["--http", &port.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    command.spawn().unwrap()
}

async fn wait(ledger: &Ledger, wanted: impl Fn(&Record) -> bool) -> Record {
    let until = Instant::now() + PATIENCE;
    loop {
        let record = ledger.read().unwrap();
        if wanted(&record) {
            return record;
        }
        assert!(Instant::now() < until, "{record:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
