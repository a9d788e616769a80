//! `mcp-tool watch`: the servers' status as it changes.

use std::{
    io::{BufRead, BufReader, Lines},
    process::{Child, ChildStdout, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bench::{Bench, assert_gone, finish, put, safe_put};

/// A running `mcp-tool watch --output json` and what it tells.
struct Watching {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watching {
    fn new(bench: &Bench) -> Self {
        let mut command = bench.command(["watch", "--output", "json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next status of this server that is in this state; others are passed over.
    fn wait(&mut self, server: &str, state: &str) -> Value {
        for line in &mut self.lines {
            let status: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if status["server"] == server && status["state"] == state {
                return status;
            }
        }
        panic!("the output has ended before {server} was {state}")
    }

    fn end(self) -> (Option<i32>, String) {
        drop(self.lines);
        signal(self.child.id(), Signal::INT);
        let told = finish(self.child);
        (told.code, told.stderr)
    }
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn a_server_that_dies_is_told_and_brought_back_and_the_others_go_on() {
    let bench = Bench::new();
    bench.configure(json!({
        "dies": bench.entry(&safe_put()),
        "lives": bench.entry(&put()),
        "none": { "command": "/no/such/command" },
    }));
    let mut watching = Watching::new(&bench);
    let none = watching.wait("none", "down");
    assert_eq!((&none["reason"], &none["tools"]), (&json!("misconfigured"), &json!(0)));
    let pids = bench.wait(|record| record.starts().len() == 2).starts();
    let mut ready = [watching.wait("dies", "ready")];
    assert_eq!((&ready[0]["tools"], &ready[0]["restarts"]), (&json!(1), &json!(0)));
    // Either of them is `dies`; the other one is not told of again.
    signal(pids[0], Signal::KILL);
    signal(pids[1], Signal::KILL);
    ready[0] = watching.wait("dies", "ready");
    assert_eq!((&ready[0]["restarts"], &ready[0]["reason"]), (&json!(1), &Value::Null));
    assert!(ready[0]["generation"].as_u64() > Some(1));
    let pids = bench.wait(|record| record.starts().len() == 4).pids();
    let (code, stderr) = watching.end();
    assert_eq!(code, Some(130), "{stderr}");
    pids.into_iter().for_each(assert_gone);
    assert!(bench.ledger.read().unwrap().executions().is_empty());
}

#[test]
fn the_text_has_a_line_for_each_change() {
    let bench = Bench::new();
    let mut command = bench.command(bench.line_on("watch", &put()));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = || {
        let line = lines.next().unwrap().unwrap();
        line.split_once(" s  ").unwrap().1.to_owned()
    };
    assert_eq!([line(), line()], ["server  connecting", "server  ready       1 tool"]);
    signal(bench.ledger.pids().unwrap()[0], Signal::KILL);
    assert!(line().starts_with("server  down        its connection has ended, tried again in 0."));
    // Nobody reads any more: it ends by itself, at the next line.
    drop(lines);
    assert_eq!(finish(child).code, Some(0));
    bench.ledger.pids().unwrap().into_iter().for_each(assert_gone);
}

#[test]
fn nothing_to_watch_is_a_problem_of_the_configuration() {
    let bench = Bench::new();
    let told = bench.run(["watch"]);
    assert_eq!(told.code, Some(2));
    assert!(told.stderr.starts_with("mcp-tool: no servers are configured in "), "{told:?}");
    bench.configure(json!({ "bad": {} }));
    let told = bench.run(["watch"]);
    assert_eq!((told.code, told.stderr.lines().count()), (Some(2), 2), "{told:?}");
}

#[test]
fn an_implicit_file_of_an_untrusted_folder_starts_nothing() {
    let bench = Bench::new();
    let servers = json!({ "mcpServers": { "dies": bench.entry(&put()) } });
    std::fs::write(bench.work().join(".mcp.json"), servers.to_string()).unwrap();
    let told = bench.run(["watch"]);
    assert_eq!(told.code, Some(2));
    assert!(told.stderr.contains("is left out, because its folder is not trusted"), "{told:?}");
    assert_eq!(bench.starts_and_executions(), (0, 0));
}
