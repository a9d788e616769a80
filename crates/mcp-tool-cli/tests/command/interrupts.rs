//! Ctrl-C and SIGTERM: the call is cancelled, what is known is said, and nothing is left.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use mcp_tool_cli::fault_server::{Ending, Exit, Fault, Scenario, Startup};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bench::{Bench, finish, put, safe_put};

fn start(bench: &Bench, line: &str, scenario: &Scenario) -> Child {
    let mut command = bench.command(bench.line_on(line, scenario));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn cancelled(outcome: &str, attempts: u32) -> Value {
    json!({ "outcome": outcome, "reason": "cancelled", "attempts": attempts, "replays": 0,
            "result": null, "error": null })
}

#[test]
fn a_signal_cancels_a_call_that_is_under_way_and_it_is_never_repeated() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let bench = Bench::new();
        let scenario = safe_put().on_call(1, Fault::Hang);
        let child = start(&bench, "call put --output json --trust-server --trust-workspace", &scenario);
        bench.wait(|record| record.executions().len() == 1);
        send(&child, signal);
        let told = finish(child);
        assert_eq!((told.code, told.json()), (Some(130), cancelled("unknown", 1)), "{told:?}");
        assert!(told.stderr.contains("the tool may have run"), "{told:?}");
        assert_eq!(bench.starts_and_executions(), (1, 1));
        assert_eq!(bench.ledger.cancellations().unwrap().len(), 1, "the server was told");
    }
}

#[test]
fn a_signal_before_the_call_was_made_says_that_nothing_was_sent() {
    let bench = Bench::new();
    let child = start(&bench, "call put --output json", &put().startup(Startup::NeverAnswers));
    bench.wait(|record| record.starts().len() == 1);
    send(&child, Signal::INT);
    let told = finish(child);
    assert_eq!((told.code, told.json()), (Some(130), cancelled("not_executed", 0)), "{told:?}");
    assert!(told.stderr.ends_with("the tool was not executed (cancelled): nothing was sent\n"), "{told:?}");
}

#[test]
fn a_second_signal_ends_at_once_and_still_leaves_nothing() {
    let bench = Bench::new();
    // In order it would be asked by SIGTERM, after a while, and would leave a note of that.
    let asked = bench.path("asked");
    let stay = format!("trap 'touch {}' TERM; \"$@\"; while :; do sleep 1; done", asked.display());
    let words = ["call", "put", "--output", "json", "--", "sh", "-c", &stay, "sh"].map(OsString::from);
    let server = bench.server(&put().on_call(1, Fault::Hang));
    let mut command = bench.command(words.into_iter().chain(server));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    bench.wait(|record| record.executions().len() == 1);
    send(&child, Signal::INT);
    bench.wait(|record| record.cancellations().len() == 1);
    send(&child, Signal::INT);
    let told = finish(child);
    assert_eq!(told.code, Some(130));
    assert!(!asked.exists(), "it was ended in order");
    assert!(told.stderr.starts_with("mcp-tool: cancelling; once more to end at once\n"), "{told:?}");
}

#[test]
fn an_outcome_that_was_told_stands_however_the_server_is_ended() {
    let bench = Bench::new();
    // It lives on after its input has ended, and leaves a note when it is asked by SIGTERM.
    let asked = bench.path("asked");
    let stay = format!("trap 'touch {}' TERM; \"$@\"; while :; do sleep 1; done", asked.display());
    let words = ["call", "put", "--output", "json", "--", "sh", "-c", &stay, "sh"].map(OsString::from);
    let mut command = bench.command(words.into_iter().chain(bench.server(&put())));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut told).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap()["outcome"], "completed");
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    send(&child, Signal::INT);
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "mcp-tool: ending the server; once more to end at once\n");
    send(&child, Signal::INT);
    assert_eq!(finish(child).code, Some(0));
    assert!(!asked.exists(), "it was ended in order");
}

#[test]
fn a_server_is_ended_in_order_after_a_call_and_after_a_cancelled_one() {
    let bench = Bench::new();
    assert_eq!(bench.run_on("call put", &put()).code, Some(0));
    assert_eq!(bench.ledger.read().unwrap().exits(), [Exit::Eof]);

    let bench = Bench::new();
    let child = start(&bench, "call put", &put().on_call(1, Fault::Hang));
    bench.wait(|record| record.executions().len() == 1);
    send(&child, Signal::INT);
    finish(child);
    assert_eq!(bench.ledger.read().unwrap().exits(), [Exit::Eof]);
}

#[test]
fn a_stubborn_server_is_ended_after_a_call_like_any_other() {
    let bench = Bench::new();
    let told = bench.run_on("call put", &put().ending(Ending::AtKill));
    assert_eq!((told.code, &*told.stdout), (Some(0), "put ran\n"));
}

#[test]
fn a_signal_ends_a_listing_too() {
    let bench = Bench::new();
    let child = start(&bench, "list --output json", &put().startup(Startup::NeverAnswers));
    bench.wait(|record| record.starts().len() == 1);
    send(&child, Signal::INT);
    let told = finish(child);
    assert_eq!(told.code, Some(130), "{told:?}");
    assert_eq!(told.json()["servers"][0]["error"]["reason"], "cancelled");
}
