//! `drill serve` and `drill report`: a server for any client, and what its ledger says.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bench::{Bench, EXE, Ran, display, finish};

/// Calls the tool of a server that `drill serve` is.
fn call(bench: &Bench, options: &str, serve: &str) -> Ran {
    let ledger = display(bench.ledger.path());
    let call = ["call", "write", "--args", ARGUMENTS].into_iter().chain(options.split_whitespace());
    let serve = [EXE, "drill", "serve", "--ledger", &ledger].into_iter().chain(serve.split_whitespace());
    bench.run(call.chain(["--"]).chain(serve))
}

const ARGUMENTS: &str = r#"{"key": "a", "value": "b"}"#;
const TRUSTED: &str = "--trust-server --trust-workspace";

fn report(bench: &Bench, line: &str) -> Ran {
    let ledger = OsString::from(bench.ledger.path());
    let line = line.split_whitespace().map(OsString::from);
    bench.run(["drill".into(), "report".into(), ledger].into_iter().chain(line))
}

#[test]
fn a_server_fails_once_and_the_next_start_goes_on_with_its_ledger() {
    let bench = Bench::new();
    let told = call(&bench, TRUSTED, "--fault die-after-commit --hints idempotent");
    assert_eq!((told.code, &*told.stdout), (Some(0), "write ran\n"), "{told:?}");
    let told = report(&bench, "--said 0");
    assert_eq!((told.code, &*told.stderr), (Some(0), ""));
    assert_eq!(
        told.stdout,
        "over stdio:\n  \
           FAULT             HINTS       RAN  THE CLIENT SAID  VERDICT\n  \
           die-after-commit  idempotent  2    an answer        correct, replayed\n      \
               sent > it ran > LOST > reconnected, tools listed again > sent again > it ran > answered\n\n\
         1 row: 1 correct; 1 ran the tool again, as its hints allow\n"
    );
}

#[test]
fn the_tool_is_listed_with_its_schema_and_the_hints_that_were_asked_for() {
    let hints = |read_only, destructive, idempotent| json!({"readOnlyHint": read_only, "destructiveHint": destructive, "idempotentHint": idempotent});
    let (yes, no) = (Some(true), Some(false));
    let rows = [
        ("none", hints(None, None, None)),
        ("read-only", hints(yes, None, None)),
        ("idempotent", hints(None, None, yes)),
        ("destructive", hints(no, yes, no)),
        ("contradictory", hints(yes, yes, None)),
        (r#"{"idempotentHint":false}"#, hints(None, None, no)),
    ];
    for (hints, expected) in rows {
        let bench = Bench::new();
        let ledger = display(bench.ledger.path());
        let serve =
            ["list", "--output", "json", "--", EXE, "drill", "serve", "--ledger", &ledger, "--hints", hints];
        let told = bench.run(serve);
        let listed = &told.json()["servers"][0]["tools"][0];
        assert_eq!(listed["name"], "write");
        assert_eq!(listed["hints"], expected, "{hints}");
    }
    let bench = Bench::new();
    let ledger = display(bench.ledger.path());
    let told =
        bench.run(["call", "write", "--arg", "key=a", "--", EXE, "drill", "serve", "--ledger", &ledger]);
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.stderr.contains("value"), "{told:?}");
}

#[test]
fn a_report_judges_by_what_was_said_and_without_that_by_what_ran() {
    let bench = Bench::new();
    let twice = |bench: &Bench| {
        call(bench, "", "--fault die-after-commit");
        call(bench, "", "--fault die-after-commit")
    };
    assert_eq!(twice(&bench).code, Some(0));
    for line in ["", "--said 4", "--said 0"] {
        let told = report(&bench, &format!("--output json {line}"));
        assert_eq!((told.code, &told.json()["verdict"]), (Some(1), &json!("duplicate")), "{told:?}");
    }
    let once = Bench::new();
    assert_eq!(call(&once, "", "--fault die-after-commit").code, Some(4));
    #[rustfmt::skip]
    let rows = [
        ("",         json!(null),            json!(null),                 0),
        ("--said 4", json!("unknown"),       json!("correct"),            0),
        ("--said 5", json!("error"),         json!("correct"),            0),
        ("--said 3", json!("not_executed"),  json!("false_not_executed"), 1),
        ("--said 0", json!("answered"),      json!("correct"),            0),
    ];
    for (line, said, verdict, exit) in rows {
        let told = report(&once, &format!("--output json {line}"));
        let row = told.json();
        assert_eq!((told.code, &row["said"], &row["verdict"]), (Some(exit), &said, &verdict), "{line}");
    }
    let told = report(&once, "");
    assert!(told.stdout.contains("  1    -                no duplicate\n"), "{told:?}");
}

#[test]
fn calls_with_different_keys_are_different_calls() {
    let bench = Bench::new();
    assert_eq!(call(&bench, "", "").code, Some(0));
    let ledger = display(bench.ledger.path());
    let other = ["call", "write", "--arg", "key=other", "--arg", "value=b", "--"];
    let told = bench.run(other.into_iter().chain([EXE, "drill", "serve", "--ledger", &ledger]));
    assert_eq!(told.code, Some(0));
    let told = report(&bench, "--output json");
    assert_eq!((told.code, &told.json()["executions"]), (Some(0), &json!(2)), "{told:?}");
    assert_eq!(call(&bench, "", "").code, Some(0));
    assert_eq!(report(&bench, "").code, Some(1));
}

#[test]
fn the_json_of_a_report_is_a_row() {
    let bench = Bench::new();
    call(&bench, "", "--fault die-after-commit");
    let row = report(&bench, "--said 4 --output json").json();
    let expected = json!({
        "transport": "stdio", "fault": "die-after-commit",
        "hints": {"name": "none", "annotations": null, "repeatable": false, "reason": "unannotated"},
        "struck": true, "executions": 1, "said": "unknown", "exit_code": 4, "verdict": "correct", "replayed": false, "possible": null,
        "timeline": ["sent", "it ran", "LOST", "told \"unknown\""],
        "calls": [{"start": 1, "id": 3, "ran": true}],
    });
    assert_eq!(row, expected);
}

#[test]
fn a_ledger_that_is_none_of_a_drill_or_of_another_is_a_problem() {
    let bench = Bench::new();
    let rows = [
        ("missing", None, "No such file or directory (os error 2)"),
        ("empty", Some(""), "it is no ledger of a drill"),
        ("foreign", Some("{\"event\":\"start\",\"pid\":1}\n"), "it is no ledger of a drill"),
        ("text", Some("hello\n"), "it is no ledger"),
        (
            "newer",
            Some("{\"event\":\"drill\",\"transport\":\"x\",\"fault\":\"y\",\"hints\":\"z\"}\n"),
            "it is no ledger",
        ),
    ];
    for (name, content, problem) in rows {
        let file = bench.path(name);
        if let Some(content) = content {
            bench.file(name, content);
        }
        let told = bench.run(["drill".into(), "report".into(), file.clone().into_os_string()]);
        told.assert_problem(&format!("{}: {problem}", file.display()));
    }
    let cut = display(&bench.file("cut", "{\"event\":\"drill\""));
    let told = bench.run(["drill", "serve", "--ledger", &cut]);
    told.assert_problem(&format!("--ledger {cut}: it is no ledger of a drill"));
    call(&bench, "", "--hints idempotent --era dual");
    let ledger = display(bench.ledger.path());
    let other = bench.run(["drill", "serve", "--ledger", &ledger, "--fault", "hang"]);
    other.assert_problem(&format!(
        "--ledger {ledger}: it is the ledger of another drill: stdio, none, hints idempotent"
    ));
    let told = bench.run(["drill", "serve", "--fault", "502", "--ledger", &ledger]);
    told.assert_problem("502 cannot happen over stdio: it needs HTTP");
    assert_eq!(bench.run(["drill", "serve"]).code, Some(2));
}

fn serve_http(bench: &Bench, line: &str) -> (Child, String) {
    let ledger = display(bench.ledger.path());
    let mut command = bench.command(["drill", "serve", "--ledger", &ledger]);
    command.args(line.split_whitespace());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim().to_owned())
}

#[test]
fn over_http_it_tells_its_url_and_comes_back_on_its_port_until_it_is_interrupted() {
    let bench = Bench::new();
    let (server, url) = serve_http(&bench, "--http --fault die-after-commit --hints idempotent");
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/mcp"), "{url}");
    let call = ["call", "write", "--args", ARGUMENTS, "--url", &url].into_iter().chain(TRUSTED.split(' '));
    let told = bench.run(call);
    assert_eq!((told.code, &*told.stdout), (Some(0), "write ran\n"), "{told:?}");
    let pid = Pid::from_raw(server.id().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let told = finish(server);
    assert_eq!((told.code, &*told.stdout), (Some(130), ""), "{told:?}");
    let report: Value = report(&bench, "--said 0 --output json").json();
    assert_eq!(
        [&report["transport"], &report["verdict"], &report["executions"]],
        [&json!("http"), &json!("correct"), &json!(2)]
    );
}

#[test]
fn a_port_that_is_taken_is_a_problem() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let bench = Bench::new();
    let ledger = display(bench.ledger.path());
    let told = bench.run(["drill", "serve", "--http", &port, "--ledger", &ledger]);
    told.assert_problem(&format!("--http {port}: Address already in use (os error 98)"));
    assert!(!bench.ledger.path().exists());
}

#[test]
fn the_faults_are_listed() {
    let told = Bench::new().run(["drill", "serve", "--faults"]);
    assert_eq!((told.code, told.stdout.lines().count()), (Some(0), 13), "{told:?}");
    assert!(
        told.stdout.contains("  stdout-closed         stdio  runs the tool, closes its output"),
        "{told:?}"
    );
}
