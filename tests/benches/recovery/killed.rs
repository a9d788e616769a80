//! A child is killed with a safe call in flight: from then until its successor has read that call again.
//! Beside it, what nobody can spare: the server's start, its handshake and its listing.

use std::{
    env,
    error::Error,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::Duration,
};

use mcp_tool::{
    Client, StdioConnector, ToolCall, Trust,
    rmcp::{model::CallToolRequestParams, serve_client, transport::TokioChildProcess},
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::Runtime;

use crate::{
    choice::Choice,
    median,
    target::Target,
    watched_server::{SERVE, Told, now},
};

const REQUESTS: [&str; 4] = [
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait","arguments":{}}}"#,
];

pub(crate) fn table(choice: &Choice, runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let watch = Watch::new(directory.path().join("calls"))?;
    let [mut floor, mut raw, mut ours, mut added] = [const { Vec::new() }; 4];
    for _ in 0..choice.of(200, 10) {
        floor.push(watch.floor()?);
        raw.push(runtime.block_on(watch.raw())?);
        ours.push(runtime.block_on(watch.recovery())?);
    }
    added.extend(ours.iter().zip(&floor).map(|(ours, floor)| ours.saturating_sub(*floor)));
    println!(
        "\n{:<62} {:>8} {:>18} {:>14}",
        "recovery of a safe call over stdio", "ms", "quartiles", "target"
    );
    let line = |name, times: Vec<Duration>, target: Option<Target>| {
        let median = millis(median(times.clone()));
        let verdict = target.map(|target| target.verdict(median).to_string()).unwrap_or_default();
        println!("{name:<62} {median:>8.2} {:>18} {verdict:>14}", quartiles(times));
    };
    line("a start, handshake, listing and call, by hand", floor, None);
    line("the same through raw rmcp", raw, None);
    line("from the death to the replayed call", ours, None);
    line("of that the recovery's own: less what is done by hand", added, Some(Target(2.0)));
    Ok(())
}

/// Learns of the calls that the servers have read.
struct Watch {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Watch {
    fn new(path: PathBuf) -> Result<Self, Box<dyn Error>> {
        let socket = UnixDatagram::bind(&path)?;
        socket.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self { socket, path })
    }

    fn next(&self) -> Result<Told, Box<dyn Error>> {
        let mut told = [0; 128];
        let length = self.socket.recv(&mut told)?;
        Ok(serde_json::from_slice(&told[..length])?)
    }

    fn floor(&self) -> Result<Duration, Box<dyn Error>> {
        let begun = now();
        let mut child = Ended(command(&self.path)?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?);
        let mut writer = child.0.stdin.take().ok_or("it was asked for")?;
        let mut reader = BufReader::new(child.0.stdout.take().ok_or("it was asked for")?);
        for (request, is_answered) in REQUESTS.into_iter().zip([true, false, true, false]) {
            writer.write_all(format!("{request}\n").as_bytes())?;
            if is_answered {
                reader.read_line(&mut String::new())?;
            }
        }
        Ok(self.next()?.at - begun)
    }

    async fn raw(&self) -> Result<Duration, Box<dyn Error>> {
        let begun = now();
        let service =
            serve_client((), TokioChildProcess::new(tokio::process::Command::from(command(&self.path)?))?)
                .await?;
        service.peer().list_all_tools().await?;
        let peer = service.peer().clone();
        let calling = tokio::spawn(async move { peer.call_tool(CallToolRequestParams::new("wait")).await });
        let took = self.next()?.at - begun;
        calling.abort();
        service.cancel().await?;
        Ok(took)
    }

    async fn recovery(&self) -> Result<Duration, Box<dyn Error>> {
        let server = StdioConnector::new(env::current_exe()?).arg(SERVE).arg(&self.path);
        let client = Client::builder("watched", server).trust(Trust::BOTH).build();
        let transport = client.clone();
        let calling = tokio::spawn(async move { client.call(ToolCall::new("wait")).await });
        let first = self.next()?;
        let begun = now();
        kill_process(Pid::from_raw(first.process.try_into()?).ok_or("a process")?, Signal::KILL)?;
        let second = self.next()?;
        assert_ne!(first.process, second.process);
        calling.abort();
        transport.catalog().await?.transport().close().await;
        Ok(second.at - begun)
    }
}

fn command(socket: &Path) -> Result<std::process::Command, Box<dyn Error>> {
    let mut command = std::process::Command::new(env::current_exe()?);
    command.arg(SERVE).arg(socket);
    Ok(command)
}

/// Its input has been closed when this is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.wait().expect("it was started here");
    }
}

fn quartiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |quarters: usize| millis(times[(times.len() - 1) * quarters / 4]);
    format!("({:.2}-{:.2})", at(1), at(3))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
