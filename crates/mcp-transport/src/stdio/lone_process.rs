use std::{io, process::Command, process::Stdio, time::Duration};

use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
    time::timeout,
};

use crate::Fence;

/// How long a killed process may take to disappear.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// A server's process where there are no process groups: its descendants are not followed, so its end is
/// no fence.
pub(super) struct ProcessGroup(Child);

pub(super) type Pipes = (ChildStdin, ChildStdout, ChildStderr);

impl ProcessGroup {
    /// Starts the command with three pipes. Needs a tokio runtime with its I/O driver.
    pub(super) fn start(command: Command) -> io::Result<(Self, Pipes)> {
        let mut command = tokio::process::Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((Self(child), (stdin, stdout, stderr))),
            _ => Err(io::Error::other("a pipe of the child is missing")),
        }
    }

    /// Waits until the process has exited. Safe to cancel.
    pub(super) async fn leader_exited(&mut self) {
        // An error says that there is no such child to wait for any more.
        let _ = self.0.wait().await;
    }

    /// Whether it has exited and left nobody behind: nothing tells.
    pub(super) fn reap_if_alone(&mut self) -> bool {
        false
    }

    /// Ends the process: waits a grace for it to end by itself (its standard input is closed by now), then
    /// kills it.
    pub(super) async fn end(&mut self, grace: Duration) -> Fence {
        if timeout(grace, self.leader_exited()).await.is_err() {
            // An error says that it has exited meanwhile.
            let _ = self.0.start_kill();
            let _ = timeout(AFTER_KILL, self.leader_exited()).await;
        }
        Fence::None
    }
}
