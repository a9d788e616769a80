//! The JSON, the exit code and what really ran, for every way in which a call can end.

use std::process::Stdio;

use mcp_tool_cli::fault_server::{
    Era, Fault, Http, HttpFault, Moment, PageFault, Response, Scenario, Sessions, Startup, Stray, ToolSpec,
};
use serde_json::{Value, json};

use crate::bench::{Bench, Ran, finish, put, safe_put};

const BOTH: &str = "--trust-server --trust-workspace";

fn completed(result: Value, attempts: u32, replays: u32) -> Value {
    json!({ "outcome": "completed", "reason": null, "attempts": attempts, "replays": replays,
            "result": result, "error": null })
}

fn without_answer(outcome: &str, reason: &str, attempts: u32, replays: u32) -> Value {
    json!({ "outcome": outcome, "reason": reason, "attempts": attempts, "replays": replays,
            "result": null, "error": null })
}

fn ran() -> Value {
    json!({ "content": [{ "type": "text", "text": "put ran" }], "isError": false })
}

/// One call: exit code, JSON, and how often the server was started and the tool ran.
fn assert_call(options: &str, scenario: &Scenario, code: i32, json: Value, ledger: (usize, usize)) {
    let bench = Bench::new();
    let told = bench.run_on(&format!("call put --output json {options}"), scenario);
    assert_eq!((told.code, told.json()), (Some(code), json), "{options}: {told:?}");
    assert_eq!(bench.starts_and_executions(), ledger, "{options}");
    // What a person reads says what is known, too.
    assert_eq!(told.stderr.is_empty(), code == 0 && ledger.0 < 2, "{told:?}");
}

#[test]
fn an_answer_is_completed_whatever_it_says() {
    assert_call("", &put(), 0, completed(ran(), 1, 0), (1, 1));

    let failed = put().on_call(1, Fault::AnswerIsError { text: "no".into() });
    let result = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
    assert_call("", &failed, 1, completed(result, 1, 0), (1, 1));

    let error = put().on_call(1, Fault::AnswerError { code: -32602, message: "what?".into() });
    let mut json = completed(Value::Null, 1, 0);
    json["error"] = json!({ "code": -32602, "message": "what?" });
    assert_call("", &error, 1, json, (1, 1));
}

#[test]
fn an_error_that_speaks_of_a_lost_connection_is_an_answer_all_the_same() {
    let error = safe_put().on_call(1, Fault::lost_connection_error());
    let mut json = completed(Value::Null, 1, 0);
    json["error"] =
        json!({ "code": -32603, "message": "database connection lost: ECONNRESET, socket hang up" });
    assert_call(BOTH, &error, 1, json, (1, 1));
}

#[test]
fn a_request_for_input_and_a_task_are_answers() {
    for (fault, kind, executions) in [(Fault::InputRequired, "input_required", 0), (Fault::Task, "task", 1)] {
        let bench = Bench::new();
        let scenario = put().era(Era::Modern).on_call(1, fault);
        let told = bench.run_on("call put --output json", &scenario);
        assert_eq!(told.code, Some(0), "{told:?}");
        let json = told.json();
        assert_eq!((&json["outcome"], &json["result"]["resultType"]), (&json!("completed"), &json!(kind)));
        assert_eq!(bench.starts_and_executions(), (1, executions));
        assert_eq!(told.stderr.lines().count(), 1, "{told:?}");
    }
}

#[test]
fn a_lost_answer_is_unknown_and_the_call_is_made_once_unless_everything_speaks_for_more() {
    let unannotated = put().on_call(1, Fault::DieAfterCommit);
    let safe = safe_put().on_call(1, Fault::DieAfterCommit);
    let unknown = |reason| without_answer("unknown", reason, 1, 0);
    assert_call("", &safe, 4, unknown("server_untrusted"), (1, 1));
    assert_call("--trust-workspace", &safe, 4, unknown("server_untrusted"), (1, 1));
    assert_call("--trust-server", &safe, 4, unknown("workspace_untrusted"), (1, 1));
    assert_call(BOTH, &unannotated, 4, unknown("unannotated"), (1, 1));
    assert_call(BOTH, &safe, 0, completed(ran(), 2, 1), (2, 2));
}

#[test]
fn replays_have_a_limit() {
    let scenario = safe_put().on_every_call(Fault::DieAfterCommit);
    let limit = |attempts| without_answer("unknown", "replay_limit", attempts, attempts - 1);
    assert_call(BOTH, &scenario, 4, limit(4), (4, 4));
    assert_call(&format!("{BOTH} --max-replays 1"), &scenario, 4, limit(2), (2, 2));
    assert_call(&format!("{BOTH} --max-replays 0"), &scenario, 4, limit(1), (1, 1));
}

#[test]
fn the_operator_can_vouch_for_a_tool_and_rule_it_out_and_never_wins() {
    let unannotated = put().on_call(1, Fault::DieAfterCommit);
    let safe = safe_put().on_call(1, Fault::DieAfterCommit);
    let never = without_answer("unknown", "operator_never", 1, 0);
    assert_call(&format!("{BOTH} --safe put"), &unannotated, 0, completed(ran(), 2, 1), (2, 2));
    assert_call(&format!("{BOTH} --safe other --safe put"), &unannotated, 0, completed(ran(), 2, 1), (2, 2));
    assert_call("--safe put", &unannotated, 4, without_answer("unknown", "server_untrusted", 1, 0), (1, 1));
    assert_call(&format!("{BOTH} --never put"), &safe, 4, never.clone(), (1, 1));
    assert_call(&format!("{BOTH} --never put --safe put"), &safe, 4, never, (1, 1));
}

#[test]
fn a_call_that_provably_did_not_leave_is_delivered_after_reconnecting_unless_that_is_off() {
    // More than a pipe holds: what the server has not read was never accepted.
    let scenario = put().on_call_of_start(1, Fault::DieMidRead { bytes: 4096 }).from_start(2, put());
    let big = json!({ "key": "x".repeat(1024 * 1024) }).to_string();
    let rows = [
        ("", Some(0), completed(ran(), 1, 0), (2, 1)),
        ("--no-resend-unsent", Some(3), without_answer("not_executed", "server_untrusted", 0, 0), (1, 0)),
    ];
    for (option, code, json, ledger) in rows {
        let bench = Bench::new();
        let file = bench.file("big.json", &big);
        let line = format!("call put --output json {option} --args-file {}", file.display());
        let told = bench.run_on(&line, &scenario);
        assert_eq!((told.code, told.json()), (code, json), "{option}");
        assert_eq!(bench.starts_and_executions(), ledger, "{option}");
    }
}

#[test]
fn a_refused_call_needs_no_hints_when_refusals_are_accepted_and_still_needs_trust() {
    let lost = HttpFault::Respond(Moment::BeforeCommit, Response::new(404));
    let scenario = put().http(Http::new().sessions(Sessions::NotFound)).on_call(1, lost);
    let rows = [
        (BOTH, Some(4), without_answer("unknown", "unannotated", 1, 0), 0),
        ("--accept-refusals", Some(4), without_answer("unknown", "server_untrusted", 1, 0), 0),
        ("--accept-refusals --trust-server --trust-workspace", Some(0), completed(ran(), 2, 1), 1),
    ];
    for (options, code, json, executions) in rows {
        let bench = Bench::new();
        let server = bench.http_server(&scenario);
        let line = format!("call put --output json {options} --url {}", server.url);
        let told = bench.run(line.split_whitespace());
        assert_eq!((told.code, told.json()), (code, json), "{options}: {told:?}");
        assert_eq!(bench.starts_and_executions().1, executions, "{options}");
        server.end();
    }
}

#[test]
fn a_call_over_http_is_made_like_any_other() {
    let bench = Bench::new();
    let server = bench.http_server(&put());
    let told = bench.run(["call", "put", "--output", "json", "--url", &server.url]);
    assert_eq!((told.code, told.json()), (Some(0), completed(ran(), 1, 0)));
    assert_eq!(bench.starts_and_executions().1, 1);
    server.end();
}

#[test]
fn time_that_passes_before_the_call_is_made_leaves_it_unmade_and_after_it_in_doubt() {
    let silent = put().startup(Startup::NeverAnswers);
    assert_call("--timeout 500ms", &silent, 3, without_answer("not_executed", "deadline", 0, 0), (1, 0));
    let stuck = put().on_page(1, PageFault::Hang);
    assert_call("--timeout 500ms", &stuck, 3, without_answer("not_executed", "deadline", 0, 0), (1, 0));
    let hangs = put().on_call(1, Fault::Hang);
    assert_call("--idle-timeout 200ms", &hangs, 4, without_answer("unknown", "idle_timeout", 1, 0), (1, 1));
    assert_call("--timeout 4s", &hangs, 4, without_answer("unknown", "deadline", 1, 0), (1, 1));
}

#[test]
fn progress_resets_the_idle_timeout() {
    let busy = put().on_call(1, Fault::Progress { every_ms: 200, times: 10 });
    assert_call("--idle-timeout 1500ms", &busy, 0, completed(ran(), 1, 0), (1, 1));
}

#[test]
fn an_answer_to_another_id_or_one_that_makes_no_sense_answers_nothing() {
    let wrong_id = put().on_call(1, Fault::AnswerWrongId);
    assert_call(
        "--idle-timeout 300ms",
        &wrong_id,
        4,
        without_answer("unknown", "invalid_reply", 1, 0),
        (1, 1),
    );
    let no_result = put().on_call(1, Fault::AnswerNoToolResult);
    assert_call("", &no_result, 4, without_answer("unknown", "invalid_reply", 1, 0), (1, 1));
    let noise = put().on_call(1, Fault::Stray { lines: Stray::ALL.into() });
    assert_call("", &noise, 0, completed(ran(), 1, 0), (1, 1));
}

#[test]
fn the_first_connect_is_tried_as_often_as_a_reconnect() {
    let unavailable = without_answer("not_executed", "unavailable", 0, 0);
    assert_call("", &put().startup(Startup::Exit { code: 7 }), 3, unavailable, (6, 0));
    let bench = Bench::new();
    let late = put().startup(Startup::ExitFirst { starts: 2 });
    let told = bench.run_on("call put --output json", &late);
    assert_eq!((told.code, told.json(), &*told.stderr), (Some(0), completed(ran(), 1, 0), ""));
    assert_eq!(bench.starts_and_executions(), (3, 1));
}

#[test]
fn a_tool_that_is_gone_after_reconnecting_is_not_called() {
    let scenario = safe_put()
        .on_call(1, Fault::DieAfterCommit)
        .from_start(2, Scenario::new().tool(ToolSpec::new("other")));
    assert_call(BOTH, &scenario, 4, without_answer("unknown", "tool_vanished", 1, 0), (2, 1));
}

#[test]
fn text_output_carries_the_content_and_nothing_else() {
    let rows = [
        (put(), Some(0), "put ran\n", ""),
        (
            put().on_call(1, Fault::AnswerIsError { text: "a\u{1b}[31m\nb".into() }),
            Some(1),
            "a\u{1b}[31m\nb\n",
            "mcp-tool: the tool answered that it failed\n",
        ),
        (
            put().on_call(1, Fault::AnswerError { code: -32001, message: "broken".into() }),
            Some(1),
            "",
            "mcp-tool: the server answered with error -32001: broken\n",
        ),
        // A line of the server's own would pass for one of ours.
        (
            put().on_call(1, Fault::AnswerError { code: 1, message: "a\r\nmcp-tool: b".into() }),
            Some(1),
            "",
            "mcp-tool: the server answered with error 1: a  mcp-tool: b\n",
        ),
        (
            put().on_call(1, Fault::DieAfterCommit),
            Some(4),
            "",
            "mcp-tool: the tool may have run: its answer was lost, and it was not run again because that could not \
             be verified as safe; do not retry automatically, verify its effect first (server_untrusted); --trust-server and \
             --trust-workspace would not have helped: unannotated\n",
        ),
    ];
    for (scenario, code, stdout, stderr) in rows {
        let told = Bench::new().run_on("call put", &scenario);
        assert_eq!((told.code, &*told.stdout, &*told.stderr), (code, stdout, stderr));
    }
}

#[test]
fn the_decision_log_tells_each_step_in_order() {
    let scenario = safe_put().on_call(1, Fault::DieAfterCommit);
    let told = Bench::new().run_on(&format!("call put -v {BOTH}"), &scenario);
    let expected = [
        "connected",
        "sending the call",
        "the attempt failed: connection_lost, delivery unknown",
        "before reconnecting: allowed",
        "connected",
        "before sending again: allowed",
        "replaying the call",
        "completed; attempts 2, replays 1",
        "an earlier attempt may have run, too: the answer may speak of what that one did",
    ];
    let told: Vec<_> = told.stderr.lines().map(|line| line.strip_prefix("mcp-tool: ").unwrap()).collect();
    assert_eq!(told, expected);

    let told = Bench::new().run_on("call put -vv", &scenario);
    let expected = [
        "connecting",
        "connected",
        "sending the call",
        "over generation 1",
        "the attempt failed: connection_lost, delivery unknown",
        "before reconnecting: denied, server_untrusted",
        "unknown, server_untrusted; attempts 1, replays 0",
    ];
    let told: Vec<_> = told.stderr.lines().map(|line| line.strip_prefix("mcp-tool: ").unwrap()).collect();
    assert_eq!(told[..expected.len()], expected);
    assert_eq!(told.len(), expected.len() + 1);
}

#[test]
fn a_result_that_cannot_be_written_is_no_success() {
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        let told = told_into(full.into());
        assert_eq!(told.code, Some(1));
        assert!(told.stderr.starts_with("mcp-tool: the result could not be written: "), "{told:?}");
    }
}

#[test]
fn a_reader_that_has_left_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let told = told_into(writer.into());
    assert_eq!((told.code, &*told.stderr), (Some(0), ""));
}

fn told_into(stdout: Stdio) -> Ran {
    let bench = Bench::new();
    let mut command = bench.command(bench.line_on("call put", &put()));
    finish(command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap())
}
