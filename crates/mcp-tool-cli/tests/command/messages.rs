//! What is said where something is wrong: one line, with what to do.

use std::process::Stdio;

use mcp_tool_cli::fault_server::{Fault, Startup};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::bench::{Bench, display, finish, put, safe_put};

/// What is said of a call whose answer was lost.
fn lost(options: &str, safe: bool) -> String {
    let scenario = if safe { safe_put() } else { put() }.on_call(1, Fault::DieAfterCommit);
    let told = Bench::new().run_on(&format!("call put {options}"), &scenario);
    assert_eq!(told.code, Some(4), "{told:?}");
    told.stderr.trim_end().rsplit("; ").next().unwrap().to_owned()
}

#[test]
fn the_options_of_trust_are_named_where_they_would_have_helped_and_no_others() {
    assert_eq!(lost("", true), "with --trust-server and --trust-workspace it would have been sent again");
    assert_eq!(lost("--trust-server", true), "with --trust-workspace it would have been sent again");
    assert_eq!(lost("--trust-workspace", true), "with --trust-server it would have been sent again");
    assert_eq!(lost("--trust-server", false), "--trust-workspace would not have helped: unannotated");
    let never = lost("--never put", true);
    assert!(never.ends_with("verify its effect first (operator_never)"), "{never}");
}

#[test]
fn what_a_server_wrote_is_not_advised_to_who_has_seen_it() {
    let told = |script: &str| Bench::new().run(["list", "-v", "--", "sh", "-c", script]).stderr;
    let last = |text: String| text.lines().last().unwrap().to_owned();
    assert_eq!(
        last(told("echo broken >&2; exit 1")),
        "mcp-tool: server: the server ended before its handshake was complete: see above what it wrote to its standard \
         error"
    );
    assert_eq!(
        last(told("exit 1")),
        "mcp-tool: server: the server ended before its handshake was complete: run it by hand; to its standard error it \
         wrote nothing"
    );
}

#[test]
fn a_call_that_was_cancelled_or_timed_out_says_so() {
    let bench = Bench::new();
    let mut command = bench.command(bench.line_on("call put", &put().on_call(1, Fault::Hang)));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    bench.wait(|record| record.executions().len() == 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let told = finish(child);
    assert_eq!(
        told.stderr,
        "mcp-tool: cancelling; once more to end at once\nmcp-tool: cancelled after the call had been sent, so the tool may \
         have run: verify its effect before running this again (cancelled)\n"
    );
    let told = Bench::new().run_on("call put --timeout 1s", &put().on_call(1, Fault::Hang));
    assert_eq!(
        told.stderr,
        "mcp-tool: no answer came within --timeout, so the tool may have run: verify its effect before running this \
         again (deadline)\n"
    );
    let told = Bench::new().run_on("call put --idle-timeout 500ms", &put().on_call(1, Fault::Hang));
    assert_eq!(
        told.stderr,
        "mcp-tool: neither an answer nor progress came within --idle-timeout, so the tool may have run: verify its \
         effect before running this again (idle_timeout)\n"
    );
}

#[test]
fn a_mistyped_option_is_not_advised_to_be_made_a_server() {
    Bench::new()
        .run("call put --bogus -- server".split(' '))
        .assert_problem("unexpected argument '--bogus' found (see --help)");
    Bench::new().run("call put --trust-servr -- server".split(' ')).assert_problem(
        "unexpected argument '--trust-servr' found; a similar argument exists: '--trust-server' (see --help)",
    );
}

#[test]
fn where_no_servers_are_configured_it_is_said_where_they_were_looked_for() {
    let bench = Bench::new();
    let told = bench.run(["list"]);
    assert_eq!((told.code, &*told.stdout), (Some(0), ""));
    let user = display(&bench.path("config/mcp-tool/mcp.json"));
    assert_eq!(
        told.stderr,
        format!(
            "mcp-tool: no servers are configured in {user} or a trusted ./.mcp.json; name a server by --url URL, or by \
             -- COMMAND at the end\n"
        )
    );
    bench.file("work/mine.json", "{\"mcpServers\": {}}");
    let told = bench.run("list --config mine.json --output json".split(' '));
    assert_eq!(told.json(), json!({ "servers": [] }));
    assert!(told.stderr.starts_with("mcp-tool: no servers are configured in mine.json; "), "{told:?}");
}

#[test]
fn a_server_that_fails_is_told_on_standard_error_and_the_others_on_standard_output() {
    let bench = Bench::new();
    bench.configure(json!({ "dead": { "command": "false" }, "well": bench.entry(&put()) }));
    let told = bench.run(["list"]);
    assert!(told.stdout.starts_with("well: 1 tools;") && !told.stdout.contains("dead"), "{told:?}");
    assert!(told.stderr.starts_with("mcp-tool: dead: the server ended before"), "{told:?}");
}

#[test]
fn a_key_that_stands_twice_is_named_and_nothing_is_started() {
    let bench = Bench::new();
    let line = ["call", "put", "--args", "{\"a\": {\"b\": 1, \"b\": 2}}", "--", "/no/such/server"];
    bench.run(line).assert_problem("--args: the key `a.b` stands twice in its object: give it once");
    bench.file("work/args.json", "{\"a\": 1, \"a\": 1}");
    bench
        .run("call put --args-file args.json -- /no/such/server".split(' '))
        .assert_problem("args.json: the key `a` stands twice in its object: give it once");
}

#[test]
fn a_dry_run_shows_the_request_and_the_verdict_and_calls_nothing() {
    let bench = Bench::new();
    let told = bench.run_on("call put --dry-run --arg n=1 --output json --trust-server", &safe_put());
    let expected = json!({
        "dry_run": true,
        "request": { "method": "tools/call", "params": { "name": "put", "arguments": { "n": 1 } } },
        "trust": { "server": true, "workspace": false },
        "after_loss": { "replay": false, "reason": "workspace_untrusted" },
    });
    assert_eq!((told.code, told.json(), &*told.stderr), (Some(0), expected, ""));
    let told = bench.run_on("call put --dry-run --arg n=1 --trust-server --trust-workspace", &safe_put());
    let (request, verdict) = told.stdout.trim_end().rsplit_once('\n').unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(request).unwrap()["params"]["arguments"]["n"] == 1);
    assert_eq!(
        verdict,
        "nothing was called; if it may have run and its answer were lost, it would be sent again"
    );
    assert_eq!((bench.starts_and_executions(), bench.ledger.received().unwrap().len()), ((2, 0), 0));

    assert_eq!(bench.run_on("call get --dry-run", &put()).code, Some(2));
    let told = Bench::new().run_on("call put --dry-run", &put().startup(Startup::Exit { code: 1 }));
    assert_eq!((told.code, &*told.stdout), (Some(3), ""));
}

#[test]
fn a_folder_for_what_is_no_text_must_be_there() {
    let bench = Bench::new();
    bench
        .run("call put --save-dir nowhere -- /no/such/server".split(' '))
        .assert_problem("--save-dir: nowhere is no folder");
}
