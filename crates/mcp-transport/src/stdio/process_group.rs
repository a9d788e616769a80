use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    time::Duration,
};

#[cfg(target_os = "linux")]
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout},
    signal::unix,
    time::Instant,
};

use crate::Fence;

/// How often the group is looked at where no event tells of a change.
const LOOK: Duration = Duration::from_millis(10);
/// How long a killed group may take to disappear.
const AFTER_KILL: Duration = Duration::from_secs(2);
/// The same where a thread has to be blocked for it.
const AFTER_KILL_BLOCKING: Duration = Duration::from_millis(200);

/// A server's process in a group of its own.
///
/// The leader is not reaped before its group was seen empty: while it is unreaped its id cannot be
/// given to another group, so a signal never reaches a stranger.
pub(super) struct ProcessGroup {
    leader: Child,
    id: Pid,
    reaped: bool,
    child_events: unix::Signal,
}

pub(super) type Pipes = (ChildStdin, ChildStdout, ChildStderr);

impl ProcessGroup {
    /// Starts the command with three pipes. Needs a tokio runtime with its I/O driver.
    pub(super) fn start(mut command: Command) -> io::Result<(Self, Pipes)> {
        // Subscribed before the child exists, so that no exit is missed.
        let child_events = unix::signal(unix::SignalKind::child())?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut leader = command.spawn()?;
        let pipes = (leader.stdin.take(), leader.stdout.take(), leader.stderr.take());
        let id = Pid::from_child(&leader);
        let group = Self { leader, id, reaped: false, child_events };
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                let stdin = ChildStdin::from_std(stdin)?;
                Ok((group, (stdin, ChildStdout::from_std(stdout)?, ChildStderr::from_std(stderr)?)))
            }
            _ => Err(io::Error::other("a pipe of the child is missing")),
        }
    }

    /// Waits until the leader has exited; does not reap it. Safe to cancel.
    pub(super) async fn leader_exited(&mut self) {
        while !self.has_leader_exited() {
            // None would mean that the signal driver is gone, and the runtime with it.
            self.child_events.recv().await;
        }
    }

    /// Ends the group: waits a grace for it to end by itself (its standard input is closed by now),
    /// asks, waits the grace again, kills. Reaps the leader last.
    pub(super) async fn end(&mut self, grace: Duration) -> Fence {
        for (signal, wait) in [(None, grace), (Some(Signal::TERM), grace), (Some(Signal::KILL), AFTER_KILL)] {
            if let Some(signal) = signal {
                self.signal(signal);
            }
            if self.is_gone_within(wait).await {
                self.reap();
                return Fence::GroupGone;
            }
        }
        if self.has_leader_exited() {
            self.reap();
        }
        Fence::None
    }

    /// Reaps the leader if it has exited and left nobody behind.
    pub(super) fn reap_if_alone(&mut self) -> bool {
        let gone = self.is_gone();
        if gone {
            self.reap();
        }
        gone
    }

    async fn is_gone_within(&mut self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        loop {
            if self.is_gone() {
                return true;
            }
            let now = Instant::now();
            if now >= until {
                return false;
            }
            tokio::select! {
                _ = self.child_events.recv() => {}
                () = tokio::time::sleep(LOOK.min(until - now)) => {}
            }
        }
    }

    fn is_gone(&self) -> bool {
        self.reaped || (self.has_leader_exited() && no_member_but_zombies(self.id))
    }

    fn has_leader_exited(&self) -> bool {
        if self.reaped {
            return true;
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error says that there is no such child to wait for any more.
        waitid(WaitId::Pid(self.id), options).map_or(true, |status| status.is_some())
    }

    fn signal(&self, signal: Signal) {
        if !self.reaped {
            // An error says that nobody is left.
            let _ = kill_process_group(self.id, signal);
        }
    }

    fn reap(&mut self) {
        // It has exited, so this does not block.
        let _ = self.leader.wait();
        self.reaped = true;
    }
}

impl Drop for ProcessGroup {
    /// Reached unreaped when the runtime goes down under the task that would have ended the group, or
    /// when nothing could kill the leader. There is no one to wait for it then, so this blocks, briefly.
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.signal(Signal::KILL);
        let until = std::time::Instant::now() + AFTER_KILL_BLOCKING;
        while !self.has_leader_exited() {
            if std::time::Instant::now() >= until {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.reap();
    }
}

/// Whether every process of the group has exited. Zombies cannot act.
#[cfg(target_os = "linux")]
fn no_member_but_zombies(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    let group = group.as_raw_nonzero().to_string();
    !processes.flatten().any(|process| {
        let name = process.file_name();
        let is_process = name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
        is_process
            && match std::fs::read_to_string(process.path().join("stat")) {
                Ok(stat) => is_live_member(&stat, &group),
                // What cannot be read (`hidepid`) may be a member; what is not there has just gone.
                Err(error) => !has_gone(&error),
            }
    })
}

#[cfg(target_os = "linux")]
fn has_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// Elsewhere nothing tells zombies from the living, so the group is never claimed to be gone.
#[cfg(not(target_os = "linux"))]
fn no_member_but_zombies(_group: Pid) -> bool {
    false
}

/// `pid (command) state ppid pgrp …`, where the command may hold anything, parentheses included.
#[cfg(target_os = "linux")]
fn is_live_member(stat: &str, group: &str) -> bool {
    let Some((_, fields)) = stat.rsplit_once(") ") else {
        return false;
    };
    let mut fields = fields.split(' ');
    let state = fields.next();
    let process_group = fields.nth(1);
    process_group == Some(group) && !matches!(state, Some("Z" | "X"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::is_live_member;

    #[test]
    fn a_member_is_read_from_its_stat_line_whatever_its_command_is_called() {
        assert!(is_live_member("12 (node) S 1 34 34 0", "34"));
        assert!(is_live_member("12 (a) Z 1 9) S 1 34 34 0", "34"));
        assert!(!is_live_member("12 (node) S 34 1 34 0", "34"), "the parent is not the group");
        assert!(!is_live_member("12 (node) Z 1 34 34 0", "34"), "a zombie cannot act");
    }
}
