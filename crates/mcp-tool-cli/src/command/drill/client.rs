//! A client's command as a process, and all that it starts.

use std::{
    io,
    pin::pin,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use mcp_tool_cli::{
    drill::Said,
    fault_server::{Event, Ledger, Record},
};
use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStderr, Command},
    time::{Instant, timeout},
};

use super::template::Ready;

/// How long what a client started may go on after it has ended: a server that is at work shall be seen to finish.
const AFTER_CLIENT: Duration = Duration::from_secs(2);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How long the end of its standard error is waited for once nothing is left of it: somebody who left its group may hold it
/// open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A client under way, with its process group.
pub(super) struct Client {
    child: Child,
    group: Group,
}

/// How a client ended.
pub(super) struct Ended {
    pub(super) said: Said,
    pub(super) exit_code: Option<i32>,
    /// The last line of its standard error that is not empty.
    pub(super) last_line: Option<String>,
}

impl Client {
    /// Starts it by `sh`.
    pub(super) fn start(ready: &Ready) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&ready.line);
        // Not what another drill has set, of which this is a client.
        command.env_remove("MCP_DRILL_SERVER").env_remove("MCP_DRILL_URL");
        command.envs(ready.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        let group = Group::of(&child);
        Ok(Self { child, group })
    }

    /// Waits until it has ended, or its time is over, and ends whatever it has left.
    pub(super) async fn end(mut self, time: Duration, ledger: &Ledger) -> io::Result<Ended> {
        let mut errors = Tail { stream: self.child.stderr.take(), last: Vec::new() };
        let (said, exit_code) = {
            let mut ended = pin!(self.ended(time, ledger));
            tokio::select! {
                ended = &mut ended => ended?,
                () = errors.read() => ended.await?,
            }
        };
        let _ = timeout(LAST_WORDS, errors.read()).await;
        Ok(Ended { said, exit_code, last_line: errors.last_line() })
    }

    async fn ended(&mut self, time: Duration, ledger: &Ledger) -> io::Result<(Said, Option<i32>)> {
        let Ok(status) = timeout(time, self.child.wait()).await else {
            self.group.kill();
            self.child.wait().await?;
            return Ok((Said::Hung, None));
        };
        let exit_code = ExitStatus::code(&status?);
        let until = Instant::now() + AFTER_CLIENT;
        while self.group.lives() && !has_ended(&ledger.read()?) && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
        self.group.kill();
        Ok((Said::of_exit_code(exit_code), exit_code))
    }
}

/// Whether every server that was started has ended by itself.
fn has_ended(record: &Record) -> bool {
    let exits = record.events().iter().filter(|event| matches!(event, Event::Exit { .. })).count();
    exits >= record.starts().len()
}

/// The end of a stream. Whatever came before it is let go, so that a flood fills neither disk nor memory.
struct Tail {
    stream: Option<ChildStderr>,
    last: Vec<u8>,
}

impl Tail {
    /// How much of the end is of interest.
    const KEPT: usize = 2048;

    /// Reads to its end.
    async fn read(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        let mut part = [0; 8192];
        while let Ok(read @ 1..) = stream.read(&mut part).await {
            self.last.extend_from_slice(&part[..read]);
            self.last.drain(..self.last.len().saturating_sub(Self::KEPT));
        }
    }

    fn last_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.last);
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    }
}

/// A client's process group, which is killed when this goes.
struct Group {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { id: id.and_then(rustix::process::Pid::from_raw) }
    }

    /// Whether somebody is left in it, or was a moment ago.
    fn lives(&self) -> bool {
        self.id.is_some_and(|id| rustix::process::test_kill_process_group(id).is_ok())
    }

    /// An id is not given away as long as a group has it; afterwards nothing is left to be killed, and this is not called
    /// again.
    fn kill(&mut self) {
        if let Some(id) = self.id.take() {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}

/// Elsewhere there are none: the client itself is killed.
#[cfg(not(unix))]
impl Group {
    fn of(_: &Child) -> Self {
        Self {}
    }

    fn lives(&self) -> bool {
        false
    }

    fn kill(&mut self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
