//! The server over HTTP: a process that is started again whenever it has died.

use std::{env, ffi::OsString, io, process::Stdio, time::Duration};

use mcp_tool_cli::fault_server::{DEATH, Ledger, Scenario};
use tokio::process::{Child, ChildStdin, Command};

/// How often the ledger is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// A fault server over HTTP, on one port over all its starts.
pub(super) struct Front {
    arguments: Vec<OsString>,
    port: u16,
    child: Child,
    /// It ends with its input, so it does not outlive us. Not left in the child, whose wait would close it.
    input: Option<ChildStdin>,
}

impl Front {
    /// Starts it on this port of the loopback interface (0: any), and waits until it listens.
    pub(super) async fn start(scenario: &Scenario, ledger: &Ledger, port: u16) -> io::Result<Self> {
        let arguments = scenario.to_args(ledger.path());
        let listening = ledger.read()?.ports().len();
        let (child, input) = spawn(&arguments, port)?;
        let mut front = Self { arguments, port, child, input };
        loop {
            if let Some(port) = ledger.read()?.ports().get(listening) {
                front.port = *port;
                return Ok(front);
            }
            if front.child.try_wait()?.is_some_and(|status| status.code() != Some(DEATH)) {
                return Err(io::Error::other("the server does not start"));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Starts it again whenever it has died, and returns when that fails or it ended in another way.
    pub(super) async fn keep(&mut self) -> io::Error {
        loop {
            match self.child.wait().await {
                Ok(status) if status.code() == Some(DEATH) => {}
                Ok(status) => return io::Error::other(format!("the server has ended: {status}")),
                Err(error) => return error,
            }
            match spawn(&self.arguments, self.port) {
                Ok((child, input)) => (self.child, self.input) = (child, input),
                Err(error) => return error,
            }
        }
    }

    /// Ends it.
    pub(super) async fn end(mut self) {
        // One that has died already needs nothing else.
        let _ = self.child.kill().await;
    }
}

fn spawn(arguments: &[OsString], port: u16) -> io::Result<(Child, Option<ChildStdin>)> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("fault-server").args(arguments).args(["--http", &port.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let input = child.stdin.take();
    Ok((child, input))
}
