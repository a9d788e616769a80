//! What is different where a person looks on.

use std::{fs::File, io::Read, os::fd::OwnedFd, process::Stdio};

use mcp_tool_cli::fault_server::{Fault, Startup};
use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use serde_json::json;

use crate::bench::{Bench, ended, put};

/// A terminal: what is written to the second end is read from the first.
fn terminal() -> (File, OwnedFd) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap();
    let end = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (screen.into(), end)
}

/// All that was written until the other end was closed, which a terminal tells by an error.
fn read(mut screen: File) -> String {
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = screen.read(&mut part) {
        all.extend_from_slice(&part[..read]);
    }
    String::from_utf8(all).unwrap()
}

const ESCAPES: &str = "a\u{1b}[31m\u{9b}2J\u{202e}b";

#[test]
fn what_a_server_wrote_does_not_act_on_a_terminal_and_reaches_a_pipe_as_it_is() {
    let scenario = || put().on_call(1, Fault::AnswerIsError { text: ESCAPES.into() });
    for output in ["text", "json"] {
        let bench = Bench::new();
        let (screen, end) = terminal();
        let line = bench.line_on(&format!("call put --output {output}"), &scenario());
        let mut child = bench.command(line).stdout(end).stderr(Stdio::null()).spawn().unwrap();
        let shown = read(screen);
        assert_eq!(ended(&mut child).unwrap().code(), Some(1));
        assert!(shown.contains("a\\u001b[31m\\u009b2J\\u202eb"), "{shown:?}");
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{shown:?}");
    }
    let told = Bench::new().run_on("call put", &scenario());
    assert_eq!(told.stdout, format!("{ESCAPES}\n"));
}

#[test]
fn an_error_of_the_servers_does_not_act_on_a_terminal_either() {
    let bench = Bench::new();
    let (screen, end) = terminal();
    let scenario = put().on_call(1, Fault::AnswerError { code: 1, message: ESCAPES.into() });
    let mut command = bench.command(bench.line_on("call put", &scenario));
    let mut child = command.stdout(Stdio::null()).stderr(end).spawn().unwrap();
    drop(command);
    let shown = read(screen);
    assert_eq!(ended(&mut child).unwrap().code(), Some(1));
    let line = shown.split("\r\u{1b}[K").last().unwrap();
    assert_eq!(line, "mcp-tool: the server answered with error 1: a\\u001b[31m\\u009b2J\\u202eb\r\n");
}

#[test]
fn a_listing_shows_whom_it_waits_for_on_a_terminal_and_nowhere_else() {
    let bench = Bench::new();
    let slow = put().startup(Startup::NeverAnswers);
    bench.configure(json!({ "quick": bench.entry(&put()), "slow": bench.entry(&slow) }));
    let (screen, end) = terminal();
    let mut command = bench.command(["list", "--timeout", "2s"]);
    let mut child = command.stdout(Stdio::piped()).stderr(end).spawn().unwrap();
    drop(command);
    let shown = read(screen);
    assert_eq!(ended(&mut child).unwrap().code(), Some(3));
    let lines: Vec<_> = shown.split("\r\u{1b}[K").collect();
    assert!(lines.contains(&"0 of 2 servers; waiting for quick, slow"), "{lines:?}");
    assert!(lines.contains(&"1 of 2 servers; waiting for slow"), "{lines:?}");

    let told = bench.run(["list", "--timeout", "100ms"]);
    assert!(!told.stderr.contains("waiting for"), "{told:?}");
}

#[test]
fn progress_shows_as_a_bar_on_a_terminal_and_nowhere_else() {
    let scenario = || put().on_call(1, Fault::Progress { every_ms: 50, times: 4 });
    let bench = Bench::new();
    let (screen, end) = terminal();
    let mut command = bench.command(bench.line_on("call put", &scenario()));
    let mut child = command.stdout(Stdio::piped()).stderr(end).spawn().unwrap();
    drop(command);
    let shown = read(screen);
    assert_eq!(ended(&mut child).unwrap().code(), Some(0));
    let lines: Vec<_> = shown.split("\r\u{1b}[K").collect();
    assert!(lines.contains(&"connecting"), "{lines:?}");
    assert!(lines.contains(&"[###############---------------]  50 %"), "{lines:?}");
    assert_eq!(lines.last(), Some(&""), "the bar is taken away: {lines:?}");

    let told = Bench::new().run_on("call put", &scenario());
    assert_eq!((&*told.stdout, &*told.stderr), ("put ran\n", ""));
}
