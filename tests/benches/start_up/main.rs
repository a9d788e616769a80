//! What the command costs from its start to its end, beside a program that does the same through rmcp alone:
//! `cargo bench -p mcp-tool-tests --bench start_up`. Builds both as they are released, first.

#[path = "../table/choice.rs"]
mod choice;
#[expect(dead_code, reason = "only children serve here")]
#[path = "../ratios/line_server.rs"]
mod line_server;
#[path = "../table/target.rs"]
mod target;

use std::{
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use choice::Choice;
use line_server::SERVE;
use target::Target;

const REQUESTS: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"put","arguments":{"key":"greeting"}}}"#,
];
const ARGUMENTS: &str = r#"{"key":"greeting"}"#;

fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).is_some_and(|role| role == SERVE) {
        return Ok(line_server::serve_stdio()?);
    }
    match Choice::of_benchmark() {
        Some(choice) if choice.takes("start-up") => table(&choice),
        _ => Ok(()),
    }
}

fn table(choice: &Choice) -> Result<(), Box<dyn Error>> {
    let ours = &built(&["-p", "mcp-tool-cli", "--bin", "mcp-tool"])?;
    let raw = &built(&["-p", "mcp-tool-tests", "--example", "raw_call"])?;
    let server = &env::current_exe()?;
    // Without a home there are no settings to be read.
    let home = &tempfile::tempdir()?;
    let command = |program: &Path| {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", home.path()).current_dir(home);
        command
    };
    let version = || finished(command(ours).arg("--version"));
    let calling =
        || finished(command(ours).args(["call", "put", "--args", ARGUMENTS, "--"]).arg(server).arg(SERVE));
    let raw_calling = || finished(command(raw).args(["put", ARGUMENTS]).arg(server).arg(SERVE));
    let sides: [(&str, Side<'_>); 4] = [
        ("the server's start, handshake and call, by hand", &|| by_hand(server)),
        ("raw_call", &raw_calling),
        ("mcp-tool call", &calling),
        ("mcp-tool --version", &version),
    ];
    let mut took = [const { Vec::new() }; 4];
    for _ in 0..choice.of(100, 10) {
        for (side, took) in sides.iter().zip(&mut took) {
            took.push(side.1()?);
        }
    }
    println!("\n{:<50} {:>14} {:>14} {:>14}", "start-up", "to result, ms", "to its end, ms", "target");
    let medians = took.each_ref().map(|took| Took {
        result: median(took.iter().map(|took| took.result)),
        end: median(took.iter().map(|took| took.end)),
    });
    let line = |name: &str, took: &Took, verdict: String| {
        println!("{name:<50} {:>14.2} {:>14.2} {verdict:>14}", millis(took.result), millis(took.end));
    };
    for ((name, _), took) in sides.iter().zip(&medians).take(3) {
        line(name, took, String::new());
    }
    let [floor, raw_took, ours_took, version_took] = &medians;
    let over = |base: &Took| Took {
        result: ours_took.result.saturating_sub(base.result),
        end: ours_took.end.saturating_sub(base.end),
    };
    line("  more than raw_call", &over(raw_took), String::new());
    let added = over(floor);
    line("  more than the server's own", &added, Target(20.0).verdict(millis(added.end)).to_string());
    line(sides[3].0, version_took, Target(10.0).verdict(millis(version_took.end)).to_string());
    let size =
        |program: &Path| Ok::<_, Box<dyn Error>>(fs::metadata(program)?.len() as f64 / 1024.0 / 1024.0);
    println!("size, stripped: mcp-tool {:.1} MiB, raw_call {:.1} MiB", size(ours)?, size(raw)?);
    Ok(())
}

/// Builds a program as it is released, and says where it is.
fn built(what: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--quiet", "--message-format=json"]).args(what);
    let built = cargo.stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return Err(format!("cargo could not build {what:?}").into());
    }
    let messages =
        built.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let mut programs =
        messages.filter_map(|message: Value| message["executable"].as_str().map(PathBuf::from));
    Ok(programs.next_back().ok_or("cargo says where it is")?)
}

type Side<'a> = &'a dyn Fn() -> Result<Took, Box<dyn Error>>;

struct Took {
    /// Until the first of its output was there.
    result: Duration,
    end: Duration,
}

fn finished(command: &mut Command) -> Result<Took, Box<dyn Error>> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().ok_or("it was asked for")?;
    output.read_exact(&mut [0])?;
    let result = begun.elapsed();
    output.read_to_end(&mut Vec::new())?;
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("it ended with {status}").into());
    }
    Ok(Took { result, end: begun.elapsed() })
}

fn by_hand(server: &Path) -> Result<Took, Box<dyn Error>> {
    let begun = Instant::now();
    let mut child = Command::new(server).arg(SERVE).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut writer = child.stdin.take().ok_or("it was asked for")?;
    let mut reader = BufReader::new(child.stdout.take().ok_or("it was asked for")?);
    for (request, is_answered) in REQUESTS.into_iter().zip([true, false, true]) {
        writer.write_all(format!("{request}\n").as_bytes())?;
        if is_answered {
            reader.read_line(&mut String::new())?;
        }
    }
    let result = begun.elapsed();
    drop(writer);
    child.wait()?;
    Ok(Took { result, end: begun.elapsed() })
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
