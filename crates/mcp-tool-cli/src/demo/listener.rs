use std::{
    ffi::OsString,
    io,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use super::row::wait_for;
use crate::fault_server::Ledger;

/// A fault server over HTTP, which can be stopped and started again on its port.
pub(super) struct Listener {
    program: PathBuf,
    arguments: Vec<OsString>,
    port: u16,
    child: Option<Child>,
}

impl Listener {
    pub(super) fn new(program: impl Into<PathBuf>, arguments: Vec<OsString>) -> Self {
        Self { program: program.into(), arguments, port: 0, child: None }
    }

    pub(super) fn start(&mut self) -> io::Result<()> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(["--http", &self.port.to_string()]);
        // It ends with its input, so it does not outlive us.
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        self.child = Some(child);
        Ok(())
    }

    /// Where it listens, as soon as it does.
    pub(super) async fn port(&mut self, ledger: &Ledger) -> io::Result<u16> {
        let record = wait_for(ledger, |record| !record.ports().is_empty()).await?;
        self.port = record.ports()[0];
        Ok(self.port)
    }

    pub(super) fn stop(&mut self) -> io::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // One that has died already cannot be killed, and is reaped by the attempt.
        let _ = self.stop();
    }
}
