//! What is different where a person looks on.

use std::{
    fs::File,
    io::Read,
    os::fd::OwnedFd,
    process::{Command, Stdio},
};

use mcp_tool_cli::fault_server::{Fault, Scenario, Startup, ToolSpec};
use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use serde_json::json;

use crate::bench::{Bench, EXE, ended, put};

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

/// A terminal of so many columns, which shows what the command prints.
fn shown_in(columns: u16, command: &mut Command) -> (Option<i32>, String) {
    let (screen, end) = terminal();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&end, size).unwrap();
    let mut child = command.stdout(end).stderr(Stdio::null()).spawn().unwrap();
    // The command keeps its end until it goes.
    command.stdout(Stdio::null());
    let shown = read(screen);
    (ended(&mut child).unwrap().code(), shown)
}

#[test]
fn an_audit_is_the_same_table_on_a_terminal_and_in_a_pipe_and_without_colour() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tools.json");
    let bench = Bench::new();
    let piped = bench.run(["audit", "--from", data]);
    for environment in [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1"), ("TERM", "xterm-256color")] {
        let mut command = bench.command(["audit", "--from", data]);
        let (code, shown) = shown_in(80, command.env(environment.0, environment.1));
        assert_eq!(code, piped.code);
        assert_eq!(shown.replace("\r\n", "\n"), piped.stdout, "{environment:?}");
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
    let column = |head: &str| {
        let mut lines = piped.stdout.lines().skip(1).take_while(|line| !line.is_empty());
        let place = lines.next().unwrap().find(head).unwrap();
        lines
            .map(|line| line[place - 1..].starts_with(' ') && !line[place..].starts_with(' '))
            .collect::<Vec<_>>()
    };
    for head in ["HINTS", "A LOST CALL"] {
        assert_eq!(column(head), [true; 7], "{head}: {}", piped.stdout);
    }
}

#[test]
fn what_a_server_calls_its_tools_does_not_act_on_the_terminal_of_an_audit() {
    let bench = Bench::new();
    let scenario = Scenario::new().tool(ToolSpec::new("a\u{1b}[31mb\u{202e}"));
    let (code, shown) = shown_in(80, &mut bench.command(bench.line_on("audit", &scenario)));
    assert_eq!(code, Some(0));
    assert!(shown.contains("[31mb") && !shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
}

const CALL: &str = "call {tool} --args {arguments} --trust-server --trust-workspace -- {server}";

#[test]
fn a_drill_takes_no_more_columns_below_its_rows_than_the_terminal_has() {
    let bench = Bench::new();
    let client = format!("'{EXE}' {CALL}");
    let line = ["drill", "run", "--client", &client, "--fault", "die-after-commit", "--hints", "idempotent"];
    let steps = |shown: &str| {
        let lines = shown.lines().filter(|line| line.starts_with("      "));
        let lines: Vec<_> = lines.map(|line| line.trim().to_owned()).collect();
        (lines.len(), lines.join(" "))
    };
    let piped = bench.run(line);
    let (lines, course) = steps(&piped.stdout);
    assert_eq!(lines, 1, "{piped:?}");
    for (columns, lines) in [(200, 1), (80, 2), (50, 3)] {
        let (code, shown) = shown_in(columns, &mut bench.command(line));
        assert_eq!(code, Some(0));
        assert_eq!(steps(&shown), (lines, course.clone()), "{columns}: {shown}");
        let widest = shown.lines().filter(|line| line.starts_with("      ")).map(str::len).max();
        assert!(widest <= Some(columns.into()), "{columns}: {shown}");
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
}

#[test]
fn a_drill_shows_on_a_terminal_how_far_it_is_and_nowhere_else() {
    let bench = Bench::new();
    let client = format!("'{EXE}' {CALL}");
    let line = [
        "drill",
        "run",
        "--client",
        &client,
        "--fault",
        "die-before-commit",
        "--hints",
        "none",
        "--hints",
        "read-only",
    ];
    let (screen, end) = terminal();
    let mut command = bench.command(line);
    let mut child = command.stdout(Stdio::piped()).stderr(end).spawn().unwrap();
    drop(command);
    let shown = read(screen);
    assert_eq!(ended(&mut child).unwrap().code(), Some(0));
    let lines: Vec<_> = shown.split("\r\u{1b}[K").collect();
    assert_eq!(
        lines,
        ["", "nothing goes wrong over stdio", "0 of 2 rows", "1 of 2 rows", "2 of 2 rows", ""],
        "{shown:?}"
    );
    assert_eq!(bench.run(line).stderr, "");
}

#[test]
fn a_drill_that_ends_with_a_problem_leaves_no_status_before_it() {
    let bench = Bench::new();
    let (screen, end) = terminal();
    let mut command = bench.command(["drill", "run", "--client", ": {server}; exit 7"]);
    let mut child = command.stdout(Stdio::null()).stderr(end).spawn().unwrap();
    drop(command);
    let shown = read(screen);
    assert_eq!(ended(&mut child).unwrap().code(), Some(2));
    let last = shown.rsplit('\r').find(|line| line.contains("exited with 7")).unwrap();
    assert!(last.starts_with("\u{1b}[Kmcp-tool: the client must call"), "{shown:?}");
}
