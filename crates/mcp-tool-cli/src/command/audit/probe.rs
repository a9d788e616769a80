use std::{
    cell::Cell,
    io,
    os::unix::process::CommandExt,
    process::{Child, Stdio},
    time::Duration,
};

use mcp_tool_cli::audit::ProcessFacts;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::{oneshot, watch},
    time::{sleep, timeout},
};

use crate::command::server::Launch;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);
/// How long the server may run on when its input is closed: what it is given by every client that ends it.
const GRACE: Duration = Duration::from_secs(2);
/// How long its output is read on when it has gone: somebody else may hold the pipes.
const REST: Duration = Duration::from_millis(200);
/// How often it is looked whether it runs.
const LOOK: Duration = Duration::from_millis(10);

/// Starts the server, lets it list its tools, closes its input, and says what it did besides answering.
/// None when it could not be started or did not answer.
///
/// The connections of the library tell none of this, on purpose: they read past it.
pub(super) async fn watch(launch: &Launch) -> Option<ProcessFacts> {
    let (mut group, stdin, stdout, stderr) = Group::start(launch).ok()?;
    let (stray_lines, stderr_bytes) = (Cell::new(0), Cell::new(0));
    let (answered, answers) = watch::channel(0);
    let (ended, end) = oneshot::channel();
    let conversation = async {
        let held = timeout(ANSWER, talk(stdin, answers)).await.ok().flatten().is_some();
        let outlived_input = !group.exits_within(GRACE).await;
        group.end();
        let _ = ended.send(());
        held.then_some(outlived_input)
    };
    let reading = async {
        let both =
            async { tokio::join!(lines(stdout, &stray_lines, &answered), drain(stderr, &stderr_bytes)) };
        let rest = async {
            let _ = end.await;
            sleep(REST).await;
        };
        tokio::select! {
            _ = both => {}
            () = rest => {}
        }
        drop(answered);
    };
    let (outlived_input, ()) = tokio::join!(conversation, reading);
    Some(ProcessFacts {
        stray_lines: stray_lines.get(),
        stderr_bytes: stderr_bytes.get(),
        outlived_input: outlived_input?,
    })
}

/// Shakes hands and lists, as of 2025-11-25, else as of 2026-07-28; then closes the input. None when the
/// server ends before it has answered.
async fn talk(mut stdin: ChildStdin, mut answers: watch::Receiver<u64>) -> Option<()> {
    let client = json!({ "name": "mcp-tool audit", "version": env!("CARGO_PKG_VERSION") });
    let initialize = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": client,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let messages = [
        (1, json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize })),
        (1, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
        (2, json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": { "_meta": meta } })),
    ];
    for (awaited, message) in messages {
        stdin.write_all(format!("{message}\n").as_bytes()).await.ok()?;
        answers.wait_for(|answered| *answered >= awaited).await.ok()?;
    }
    Some(())
}

/// Reads the messages on standard output, and counts the lines that are none.
async fn lines(stdout: ChildStdout, stray: &Cell<usize>, answered: &watch::Sender<u64>) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    while matches!(stdout.read_until(b'\n', &mut line).await, Ok(1..)) {
        match Line::read(&line) {
            Line::Answer(id) => drop(answered.send_replace(id)),
            Line::Message | Line::Blank => {}
            Line::Stray => stray.set(stray.get() + 1),
        }
        line.clear();
    }
}

async fn drain(mut stderr: ChildStderr, bytes: &Cell<usize>) {
    let mut part = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = read(&mut stderr, &mut part).await {
        bytes.set(bytes.get() + read);
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin), part: &mut [u8]) -> io::Result<usize> {
    stream.read(part).await
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    Blank,
    /// An answer to the request with this id.
    Answer(u64),
    Message,
    Stray,
}

impl Line {
    fn read(line: &[u8]) -> Self {
        if line.trim_ascii().is_empty() {
            return Self::Blank;
        }
        let Ok(Value::Object(message)) = serde_json::from_slice(line) else { return Self::Stray };
        let is_answer = message.contains_key("result") || message.contains_key("error");
        match (message.get("jsonrpc").and_then(Value::as_str), message.get("id").and_then(Value::as_u64)) {
            (Some("2.0"), _) if message.contains_key("method") => Self::Message,
            (Some("2.0"), Some(id @ 1..=2)) if is_answer => Self::Answer(id),
            _ => Self::Stray,
        }
    }
}

/// The server's process and its group. Ended when dropped.
struct Group {
    leader: Child,
    id: Pid,
    ended: bool,
}

impl Group {
    fn start(launch: &Launch) -> io::Result<(Self, ChildStdin, ChildStdout, ChildStderr)> {
        let mut command = launch.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut leader = command.spawn()?;
        let pipes = (leader.stdin.take(), leader.stdout.take(), leader.stderr.take());
        let id = Pid::from_child(&leader);
        let group = Self { leader, id, ended: false };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("a pipe of the child is missing"));
        };
        let stdin = ChildStdin::from_std(stdin)?;
        Ok((group, stdin, ChildStdout::from_std(stdout)?, ChildStderr::from_std(stderr)?))
    }

    /// Looks without reaping: while the leader is not reaped, its id cannot be given to a stranger.
    fn has_exited(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.id), look), Ok(None))
    }

    async fn exits_within(&self, time: Duration) -> bool {
        let exit = async {
            while !self.has_exited() {
                sleep(LOOK).await;
            }
        };
        timeout(time, exit).await.is_ok()
    }

    /// Kills whoever is left of the group, and reaps the leader last.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            // An error means that nobody is left.
            let _ = kill_process_group(self.id, Signal::KILL);
            let _ = self.leader.wait();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_or_stray() {
        let rows = [
            ("\n", Line::Blank),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Line::Answer(1)),
            (r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}"#, Line::Answer(2)),
            (r#"{"jsonrpc":"2.0","method":"notifications/message"}"#, Line::Message),
            (r#"{"jsonrpc":"2.0","id":"x","method":"roots/list"}"#, Line::Message),
            (r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#, Line::Stray),
            (r#"{"id":1,"result":{}}"#, Line::Stray),
            (r#"{"level":"info"}"#, Line::Stray),
            ("listening", Line::Stray),
            ("[]", Line::Stray),
        ];
        for (line, expected) in rows {
            assert_eq!(Line::read(line.as_bytes()), expected, "{line}");
        }
    }
}
