//! Ctrl-C and SIGTERM: the call is cancelled, what is known is said, and nothing is left.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Stdio},
};

use mcp_tool_cli::fault_server::{Ending, Exit, Fault, Scenario, Startup};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bench::{Bench, put, safe_put};

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
        let told = crate::bench::Ran::from(child.wait_with_output().unwrap());
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
    let told = crate::bench::Ran::from(child.wait_with_output().unwrap());
    assert_eq!((told.code, told.json()), (Some(130), cancelled("not_executed", 0)), "{told:?}");
    assert!(told.stderr.ends_with("the tool was not executed (cancelled): nothing was sent\n"), "{told:?}");
}

#[test]
fn a_second_signal_ends_at_once_and_still_leaves_nothing() {
    let bench = Bench::new();
    // It takes a while to end this one in order.
    let scenario = put().on_call(1, Fault::Hang).ending(Ending::AtKill);
    let mut child = start(&bench, "call put --output json", &scenario);
    bench.wait(|record| record.executions().len() == 1);
    send(&child, Signal::INT);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut json = String::new();
    stdout.read_line(&mut json).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), cancelled("unknown", 1));
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut stderr = String::new();
    child.stderr.unwrap().read_to_string(&mut stderr).unwrap();
    assert!(stderr.starts_with("mcp-tool: cancelling; once more to end at once\n"), "{stderr}");
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
    child.wait_with_output().unwrap();
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
    let told = crate::bench::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(told.code, Some(130), "{told:?}");
    assert_eq!(told.json()["servers"][0]["error"]["reason"], "cancelled");
}
