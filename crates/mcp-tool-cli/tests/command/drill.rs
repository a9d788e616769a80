//! Clients that are driven through the faults, and what is said of them.

use std::{collections::HashSet, fs, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bench::{Bench, EXE, PATIENCE, Ran, assert_gone, display, finish};

/// A client for `sh` that calls as this command does, and then goes on with `after`.
fn client(options: &str, after: &str) -> String {
    format!("'{EXE}' call {{tool}} --args {{arguments}} {options} -- {{server}} {after}")
}

fn drill(bench: &Bench, client: &str, line: &str) -> Ran {
    bench.run(["drill", "run", "--client", client].into_iter().chain(line.split_whitespace()))
}

/// The rows of the JSON, each as its fault, hints, executions, and verdict.
fn rows(told: &Ran) -> Vec<(String, String, u64, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("null").to_owned();
    let row = |row: &Value| {
        let fault = format!("{} {}", text(&row["transport"]), text(&row["fault"]));
        (fault, text(&row["hints"]["name"]), row["executions"].as_u64().unwrap(), text(&row["verdict"]))
    };
    told.json()["rows"].as_array().unwrap().iter().map(row).collect()
}

/// Drives this command under double trust, and expects every row to be correct; `faults` has how often the tool runs
/// without hints, and declared idempotent.
fn assert_correct(transport: &str, faults: &[(&str, u64, u64)], timeout: &str) {
    let bench = Bench::new();
    let call = format!(
        "'{EXE}' call {{tool}} --args {{arguments}} --trust-server --trust-workspace --timeout {timeout} \
         --server drill --config {{config}}"
    );
    let chosen: String = faults.iter().map(|(fault, ..)| format!(" --fault {fault}")).collect();
    let line = format!("--transport {transport} --hints none --hints idempotent --output json{chosen}");
    let told = drill(&bench, &call, &line);
    assert_eq!((told.code, &*told.stderr), (Some(0), ""), "{told:?}");
    let row = |fault: &str, hints: &str, ran| {
        (format!("{transport} {fault}"), hints.to_owned(), ran, "correct".to_owned())
    };
    let expected: Vec<_> = faults
        .iter()
        .flat_map(|(fault, bare, safe)| [row(fault, "none", *bare), row(fault, "idempotent", *safe)])
        .collect();
    assert_eq!(rows(&told), expected);
    let report = told.json();
    assert_eq!(
        report["summary"],
        json!({
            "rows": expected.len(), "correct": expected.len(), "duplicate": 0, "false_not_executed": 0,
            "false_success": 0, "hung": 0, "lost_recovery": 0,
        })
    );
    let replayed = report["rows"].as_array().unwrap().iter().filter(|row| row["replayed"] == true).count();
    assert_eq!(replayed, faults.iter().filter(|(_, _, safe)| *safe == 2).count());
}

#[test]
fn a_client_that_asks_the_policy_is_correct_in_every_row_over_stdio() {
    let faults = [
        ("die-before-commit", 0, 1),
        ("die-after-commit", 1, 2),
        ("stdout-closed", 1, 2),
        ("partial-response", 1, 2),
        ("died-idle", 1, 1),
    ];
    assert_correct("stdio", &faults, "20s");
}

#[test]
fn a_client_that_asks_the_policy_is_correct_in_every_row_over_http() {
    let faults = [
        ("die-before-commit", 0, 1),
        ("die-after-commit", 1, 2),
        ("partial-response", 1, 2),
        ("died-idle", 1, 1),
        ("reset", 1, 2),
        ("sse-closed", 1, 2),
        ("sse-closed-resumable", 1, 1),
        ("502", 1, 1),
        ("404-restart", 0, 1),
        ("404-after-commit", 1, 2),
    ];
    assert_correct("http", &faults, "20s");
}

#[test]
fn a_client_that_gives_up_is_not_expected_to_recover() {
    for transport in ["stdio", "http"] {
        assert_correct(transport, &[("hang", 1, 1)], "5s");
    }
}

#[test]
fn without_a_choice_every_fault_and_four_sets_of_hints_are_played_and_nothing_going_wrong_once() {
    let bench = Bench::new();
    let call =
        format!("'{EXE}' call {{tool}} --args {{arguments}} --timeout 4s --server drill --config {{config}}");
    let told = drill(&bench, &call, "--output json --jobs 8");
    let rows = rows(&told);
    assert_eq!(rows.len(), (1 + 6 * 4) + (1 + 11 * 4), "{told:?}");
    let distinct: HashSet<_> = rows.iter().map(|(fault, hints, ..)| (fault, hints)).collect();
    assert_eq!(distinct.len(), rows.len());
    let of = |fault: &str| rows.iter().filter(|row| row.0 == fault).map(|row| &*row.1).collect::<Vec<_>>();
    assert_eq!(of("stdio none"), ["none"]);
    assert_eq!(of("http 502"), ["none", "read-only", "idempotent", "destructive"]);
}

#[test]
fn a_client_that_calls_again_after_any_error_is_found_and_not_where_that_is_declared_safe() {
    let bench = Bench::new();
    let twice = client("", &format!("|| {}", client("", "")));
    let told = drill(&bench, &twice, "--fault die-after-commit --output json");
    assert_eq!(told.code, Some(1), "{told:?}");
    let verdicts: Vec<_> =
        rows(&told).into_iter().map(|(_, hints, ran, verdict)| (hints, ran, verdict)).collect();
    let row = |hints: &str, verdict: &str| (hints.to_owned(), 2, verdict.to_owned());
    assert_eq!(
        verdicts,
        [
            row("none", "duplicate"),
            row("read-only", "correct"),
            row("idempotent", "correct"),
            row("destructive", "duplicate")
        ]
    );
    let text = drill(&bench, &twice, "--fault die-after-commit --hints destructive --calls");
    assert_eq!(text.code, Some(1));
    let lines: Vec<_> = text.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "over stdio:",
            "  FAULT             HINTS        RAN  THE CLIENT SAID  VERDICT",
            "  die-after-commit  destructive  2    an answer        DUPLICATE",
            "      sent > it ran > LOST > reconnected, tools listed again > sent again > it ran > answered",
            "      it is not declared safe to run it twice: not_declared_safe",
            "      call 1: start 1, id 3, ran",
            "      call 2: start 2, id 3, ran",
            "",
            "1 row: 1 duplicate",
        ]
    );
}

#[test]
fn a_second_call_is_a_duplicate_though_its_arguments_are_others() {
    let bench = Bench::new();
    let other = format!("|| '{EXE}' call {{tool}} --arg key=other --arg value=x -- {{server}}");
    let told = drill(&bench, &client("", &other), "--fault die-after-commit --hints none --output json");
    assert_eq!(told.code, Some(1), "{told:?}");
    let row = ("stdio die-after-commit".to_owned(), "none".to_owned(), 2, "duplicate".to_owned());
    assert_eq!(rows(&told), [row]);
}

#[test]
fn what_a_client_says_is_held_against_what_ran() {
    let always = |code: u32| format!("|| exit {code}");
    #[rustfmt::skip]
    let rows = [
        // what follows the call     fault                hints         said            verdict              possible      exit
        (String::new(),              "die-after-commit",  "none",       "unknown",      "correct",           None,               0),
        (always(3),                  "die-after-commit",  "none",       "not_executed", "false_not_executed", None,              1),
        (always(3),                  "die-before-commit", "none",       "not_executed", "correct",           None,               0),
        (always(0),                  "die-before-commit", "none",       "answered",     "false_success",     None,               0),
        (always(0),                  "die-after-commit",  "none",       "answered",     "correct",           None,               0),
        (always(1),                  "die-after-commit",  "none",       "error_answer", "correct",           None,               0),
        (always(7),                  "die-after-commit",  "none",       "error",        "correct",           None,               0),
        // Without trust nothing is sent again, though it would have been allowed.
        (String::new(),              "die-after-commit",  "idempotent", "unknown",      "lost_recovery",     Some("repetition"), 0),
        (String::new(),              "die-before-commit", "read-only",  "unknown",      "lost_recovery",     Some("repetition"), 0),
        (always(7),                  "stdout-closed",     "contradictory", "error",     "correct",           None,               0),
        (always(3),                  "die-after-commit",  "idempotent", "not_executed", "false_not_executed", Some("repetition"), 1),
    ];
    for (after, fault, hints, said, verdict, possible, exit) in rows {
        let bench = Bench::new();
        let line = format!("--fault {fault} --hints {hints} --output json");
        let told = drill(&bench, &client("", &after), &line);
        assert_eq!((told.code, &*told.stderr), (Some(exit), ""), "{after} {line}: {told:?}");
        let report = told.json();
        let row = &report["rows"][0];
        assert_eq!(
            [&row["said"], &row["verdict"], &row["possible"]],
            [&json!(said), &json!(verdict), &json!(possible)],
            "{after} {line}"
        );
        assert_eq!(report["summary"][verdict], 1);
    }
}

#[test]
fn a_row_in_which_the_fault_did_not_strike_says_so_and_nothing_was_to_be_recovered() {
    let bench = Bench::new();
    let gate = display(&bench.path("gate"));
    // The control passes; later it fails by itself.
    let fails = format!("[ -e '{gate}' ] && exit 7; touch '{gate}'; {}", client("", ""));
    let line = "--hints idempotent --fault die-after-commit --fault died-idle";
    let told = drill(&bench, &fails, line);
    assert_eq!((told.code, &*told.stderr), (Some(0), ""), "{told:?}");
    let lines: Vec<_> = told.stdout.lines().skip(2).collect();
    assert_eq!(
        lines,
        [
            "  die-after-commit  idempotent  0    an error         correct",
            "      told an error",
            "      the fault did not strike: it waits for a call",
            "  died-idle         idempotent  0    an error         correct",
            "      told an error",
            "      the fault did not strike: it waits for the tools to be listed",
            "",
            "2 rows: 2 correct",
        ]
    );
    let told = drill(&bench, &client("", ""), &format!("{line} --fault none --output json"));
    let struck: Vec<_> =
        told.json()["rows"].as_array().unwrap().iter().map(|row| row["struck"].clone()).collect();
    assert_eq!(struck, [false, true, true], "{told:?}");
}

#[test]
fn hints_are_played_once_however_often_they_are_asked_for() {
    let line =
        "--fault die-after-commit --fault die-after-commit --hints none --hints read-only --hints none";
    let told = drill(&Bench::new(), &client("", ""), &format!("{line} --output json"));
    let hints: Vec<_> = rows(&told).into_iter().map(|row| row.1).collect();
    assert_eq!(hints, ["none", "read-only"], "{told:?}");
}

/// A client that lists, calls, and looks for the answer, and then goes on with `after`.
fn raw(after: &str) -> String {
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let call = r#"{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "{tool}", "arguments": '{arguments}'}}"#;
    format!("printf '%s\\n' '{initialize}' '{list}' '{call}' | {{server}} | grep -q 'write ran' {after}")
}

#[test]
fn a_call_that_was_never_read_could_have_been_delivered_whatever_its_hints() {
    for hints in ["none", "destructive"] {
        let line = format!("--fault died-idle --hints {hints}");
        let told = drill(&Bench::new(), &raw("|| exit 7"), &line);
        assert_eq!((told.code, &*told.stderr), (Some(0), ""), "{told:?}");
        let lines: Vec<_> = told.stdout.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                &format!("  died-idle  {hints:<5}  0    an error         lost recovery"),
                "      DIED idle > told an error",
                "      the server never read the call: it could have been delivered after reconnecting",
                "",
                "1 row: 1 lost_recovery",
            ]
        );
    }
    // Whoever hears "not executed" may run it again, which is as good.
    let told = drill(&Bench::new(), &raw("|| exit 3"), "--fault died-idle --hints none --output json");
    let row = &told.json()["rows"][0];
    assert_eq!([&row["said"], &row["verdict"], &row["possible"]], ["not_executed", "correct", "delivery"]);
}

#[test]
fn a_client_that_hangs_is_killed_with_all_that_it_started() {
    let bench = Bench::new();
    let pids = bench.path("pids");
    let after = format!("|| {{ sleep 600 & echo $! $$ > '{}'; wait; }}", display(&pids));
    let told = drill(
        &bench,
        &client("", &after),
        "--fault die-after-commit --hints none --timeout 6s --output json",
    );
    assert_eq!(told.code, Some(0), "{told:?}");
    let row = &told.json()["rows"][0];
    assert_eq!(
        [&row["said"], &row["verdict"], &row["exit_code"]],
        [&json!("hung"), &json!("hung"), &Value::Null]
    );
    assert_eq!(row["timeline"], json!(["sent", "it ran", "LOST", "HUNG"]));
    let pids = fs::read_to_string(pids).unwrap();
    pids.split_whitespace().for_each(|pid| assert_gone(pid.parse().unwrap()));
}

#[test]
fn what_a_client_leaves_behind_is_ended_too() {
    let bench = Bench::new();
    let pid = bench.path("pid");
    let left = format!("; code=$?; sleep 600 & echo $! > '{}'; exit $code", display(&pid));
    let told = drill(&bench, &client("", &left), "--fault none");
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_gone(fs::read_to_string(pid).unwrap().trim().parse().unwrap());
}

#[test]
fn what_a_client_writes_to_standard_error_fills_no_disk() {
    let bench = Bench::new();
    let size = bench.path("size");
    let flood = format!(
        "; head -c 8000000 /dev/zero | tr '\\0' x >&2; printf '\nlast\n' >&2; \
         du -sk \"$(dirname {{config}})\" > '{}'; exit 7",
        display(&size)
    );
    let told = drill(&bench, &client("", &flood), "--transport stdio --fault none");
    assert!(told.stderr.ends_with("and it exited with 7; it said: last\n"), "{told:?}");
    let size = fs::read_to_string(size).unwrap();
    let kilobytes: u64 = size.split_whitespace().next().unwrap().parse().unwrap();
    assert!(kilobytes < 1000, "{size}");
}

#[test]
fn a_client_that_fails_when_nothing_goes_wrong_is_a_problem() {
    let must =
        "the client must call the tool once and exit with 0 when nothing goes wrong; over stdio the tool ran";
    let rows = [
        (": {server}; echo one >&2; echo ' two ' >&2; echo >&2; exit 7", format!("{must} 0 times, and it exited with 7; it said: two")),
        (": {server}; kill -9 $$", format!("{must} 0 times, and a signal ended it")),
        (": {server}; sleep 600", format!("{must} 0 times, and it did not end within 5s")),
        ("exit 0 # {sever}", "--client has no {server}, {url} or {config} (did you mean `server`?), and made no call: it exited with 0".to_owned()),
    ];
    for (client, line) in rows {
        drill(&Bench::new(), client, "--timeout 5s").assert_problem(&line);
    }
    let twice = client("", &format!("&& {}", client("", "")));
    drill(&Bench::new(), &twice, "").assert_problem(&format!("{must} 2 times, and it exited with 0"));
    let once = client("", "; exit 1");
    drill(&Bench::new(), &once, "").assert_problem(&format!("{must} once, and it exited with 1"));
    let told = drill(&Bench::new(), "no-such-client {server}", "");
    assert_eq!((told.code, &*told.stdout), (Some(2), ""), "{told:?}");
    assert!(told.stderr.contains("it exited with 127; it said: sh: "), "{told:?}");
}

#[test]
fn a_client_may_take_all_from_its_environment() {
    let bench = Bench::new();
    let script = format!(
        "eval \"'{EXE}' call $MCP_DRILL_TOOL --args '$MCP_DRILL_ARGUMENTS' -- $MCP_DRILL_SERVER\"; code=$?\n\
         grep -q '\"drill\"' \"$MCP_DRILL_CONFIG\" && exit $code"
    );
    let script = display(&bench.file("client.sh", &script));
    let told = drill(&bench, &format!("sh '{script}'"), "--fault none");
    assert_eq!((told.code, &*told.stderr), (Some(0), ""), "{told:?}");
    let over_http = format!("'{EXE}' call write --args \"$MCP_DRILL_ARGUMENTS\" --url $MCP_DRILL_URL");
    let told = drill(&bench, &over_http, "--transport http --fault 502 --hints none --output json");
    assert_eq!(
        rows(&told),
        [("http 502".to_owned(), "none".to_owned(), 1, "correct".to_owned())],
        "{told:?}"
    );
}

#[test]
fn what_is_asked_for_wrongly_is_one_line() {
    let run = |line: &str| drill(&Bench::new(), "x {server}", line);
    run("--fault die-after-comit").assert_problem(
        "invalid value 'die-after-comit' for '--fault <NAME>': there is no such fault (did you mean \
         `die-after-commit`?) (see --help)",
    );
    assert!(
        run("--fault zebra").stderr.contains("there is no such fault; there are none, die-before-commit,")
    );
    run("--fault 502").assert_problem("502 cannot happen over stdio: it needs HTTP");
    run("--transport http").assert_problem("over http --client needs {url} or {config}");
    run("--transport both").assert_problem("over http --client needs {url} or {config}");
    assert!(run("--hints idempotnt").stderr.contains("(did you mean `idempotent`?)"));
    assert_eq!(run("--jobs 0").code, Some(2));
    assert_eq!(run("--timeout 5").code, Some(2));
    let http = drill(&Bench::new(), "x {url}", "--fault stdout-closed");
    http.assert_problem("stdout-closed cannot happen over http: it needs stdio");
    assert_eq!(Bench::new().run(["drill", "run"]).code, Some(2));
}

#[test]
fn a_signal_ends_every_row_and_prints_none() {
    for (signals, transport) in [(1, "--transport stdio"), (1, "--transport http"), (2, "--transport stdio")]
    {
        let bench = Bench::new();
        let (pids, gate) = (bench.path("pids"), bench.path("gate"));
        // The control passes; whatever comes after it stays.
        let stay = format!(
            "; code=$?; [ -e '{gate}' ] || {{ touch '{gate}'; exit $code; }}; sleep 600 & echo $! $$ >> '{pids}'; wait",
            gate = display(&gate),
            pids = display(&pids),
        );
        let call =
            format!("'{EXE}' call {{tool}} --args {{arguments}} --server drill --config {{config}}{stay}");
        let mut command = bench.command(["drill", "run", "--jobs", "2", "--client", &call]);
        command.args(transport.split(' '));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = || fs::read_to_string(&pids).unwrap_or_default().lines().count();
        let until = std::time::Instant::now() + PATIENCE;
        while lines() < 2 {
            assert!(std::time::Instant::now() < until, "the rows have not begun");
            std::thread::yield_now();
        }
        for _ in 0..signals {
            let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
            kill_process(pid, Signal::INT).unwrap();
        }
        let told = finish(child);
        assert_eq!((told.code, &*told.stdout), (Some(130), ""), "{told:?}");
        assert!(told.stderr.starts_with("mcp-tool: cancelling"), "{told:?}");
        let left = fs::read_to_string(&pids).unwrap();
        left.split_whitespace().for_each(|pid| assert_gone(pid.parse().unwrap()));
    }
}

#[test]
fn the_server_speaks_the_revisions_that_are_asked_for() {
    for (era, transport) in [("modern", "stdio"), ("dual", "stdio"), ("modern", "http")] {
        let bench = Bench::new();
        let call = format!(
            "'{EXE}' call {{tool}} --args {{arguments}} --trust-server --trust-workspace --server drill --config \
             {{config}}"
        );
        let line = format!(
            "--era {era} --transport {transport} --fault die-after-commit --hints idempotent --output json"
        );
        let told = drill(&bench, &call, &line);
        let fault = format!("{transport} die-after-commit");
        assert_eq!(
            rows(&told),
            [(fault, "idempotent".to_owned(), 2, "correct".to_owned())],
            "{era}: {told:?}"
        );
        let timeline = &told.json()["rows"][0]["timeline"];
        assert_eq!(timeline.as_array().unwrap().last().unwrap(), "answered");
    }
}
