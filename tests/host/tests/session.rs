//! Whole sessions against servers that lose calls, over both transports. What ran is read from the ledgers
//! that the servers keep.
//!
//! FAULT_SERVER is the path of the binary `mcp-tool` of this repository, whose subcommand `fault-server`
//! they are.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// A session that has ended.
struct Session {
    /// What the host wrote, a line each.
    said: Vec<Value>,
    log: String,
    ledgers: [Ledger; 2],
}

impl Session {
    /// Runs the host with a server over standard input and output and one over HTTP.
    fn run(name: &str, [notes, desk]: [Value; 2], script: &[Value]) -> Self {
        let ledgers = ["notes", "desk"].map(|server| Ledger::new(&format!("{name}.{server}")));
        let over_http = HttpServer::start(&desk, &ledgers[1]);
        let program = env::var_os("FAULT_SERVER").expect("FAULT_SERVER is the path of mcp-tool");
        let mut host = Command::new(env!("CARGO_BIN_EXE_notes-host"))
            .arg(over_http.url(&ledgers[1]))
            .arg(program)
            .args(arguments(&notes, &ledgers[0]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the host starts");
        let lines: String = script.iter().map(|line| format!("{line}\n")).collect();
        let mut input = host.stdin.take().expect("a pipe");
        input.write_all(lines.as_bytes()).expect("the host reads");
        drop(input);
        let output = host.wait_with_output().expect("the host ends");
        let log = String::from_utf8(output.stderr).expect("text");
        assert!(output.status.success(), "{log}");
        let said = String::from_utf8(output.stdout).expect("text");
        let said = said.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        Self { said, log, ledgers }
    }

    /// What the person was asked at the nth call of the script, and the model was told.
    fn turn(&self, n: usize) -> (Vec<&str>, &str) {
        // Before the calls there is a line for each server.
        let line = &self.said[2 + n];
        let asked = line["asked"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        (asked, line["told"]["content"][0]["text"].as_str().unwrap_or_default())
    }
}

/// What a server did.
struct Ledger(PathBuf);

impl Ledger {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.jsonl"));
        _ = fs::remove_file(&path);
        Self(path)
    }

    fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        // A last line without its end is still being written.
        let complete = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        complete.map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// How often the call with this key ran.
    fn ran(&self, key: &str) -> usize {
        self.events().iter().filter(|event| event["event"] == "executed" && event["key"] == key).count()
    }
}

struct HttpServer(Child);

impl HttpServer {
    fn start(scenario: &Value, ledger: &Ledger) -> Self {
        let program = env::var_os("FAULT_SERVER").expect("FAULT_SERVER is the path of mcp-tool");
        let mut command = Command::new(program);
        command.args(arguments(scenario, ledger)).args(["--http", "0"]);
        // It ends with its standard input.
        Self(command.stdin(Stdio::piped()).spawn().expect("the server starts"))
    }

    fn url(&self, ledger: &Ledger) -> String {
        let until = Instant::now() + Duration::from_secs(30);
        while Instant::now() < until {
            let port = ledger.events().iter().find_map(|event| event["port"].as_u64());
            if let Some(port) = port {
                return format!("http://127.0.0.1:{port}/mcp");
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("the server does not listen");
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn arguments(scenario: &Value, ledger: &Ledger) -> Vec<String> {
    let ledger = ledger.0.to_str().expect("a path that is text");
    ["fault-server", "--ledger", ledger, "--scenario", &scenario.to_string()].map(str::to_owned).to_vec()
}

/// A server with two tools, on which these faults strike, each at the call of this number.
fn scenario<const N: usize>(faults: [(u32, Value); N]) -> Value {
    let calls: Vec<Value> =
        faults.into_iter().map(|(call, fault)| json!([{"of_ledger": call}, fault])).collect();
    let put = json!({"name": "put", "fields": {"annotations": {"idempotentHint": true}}});
    json!({"tools": [{"one": {"name": "append"}}, {"one": put}], "calls": calls})
}

fn call(server: &str, tool: &str, key: &str) -> Value {
    json!({"server": server, "tool": tool, "arguments": {"key": key}})
}

fn with(mut line: Value, field: &str, value: Value) -> Value {
    line[field] = value;
    line
}

fn trusted() -> Value {
    json!({"trust": ["notes", "desk"], "workspace": true})
}

const LOST: &str = "append of notes may have run (unannotated). Please look: did it?";

#[test]
#[ignore = "needs FAULT_SERVER"]
fn a_write_that_was_lost_is_not_made_again_unless_the_person_says_so() {
    let notes = scenario([(1, json!("die_after_commit"))]);
    let desk = scenario([(1, json!({"http": {"reset": "after_commit"}}))]);
    let script = [
        trusted(),
        call("notes", "append", "a"),
        call("notes", "append", "a"),
        with(call("desk", "append", "b"), "look", json!("ran")),
        with(call("notes", "append", "a"), "confirm", json!(true)),
    ];
    let session = Session::run("lost_write", [notes, desk], &script);

    let (asked, told) = session.turn(0);
    assert_eq!(asked, [LOST]);
    assert!(told.starts_with("Unknown (unannotated): the tool may have run. The user could not tell."));
    let (asked, told) = session.turn(1);
    assert_eq!(asked, ["append may have run already. Run it again?"]);
    assert!(told.starts_with("Not executed (declined)"));
    let (asked, told) = session.turn(2);
    assert_eq!(asked, [LOST.replace("notes", "desk")]);
    assert!(told.contains("it did run. Do not call it again."));
    assert_eq!(session.turn(3).0, ["append may have run already. Run it again?"]);

    assert_eq!((session.ledgers[0].ran("a"), session.ledgers[1].ran("b")), (2, 1));
    assert_eq!(
        session.said.last(),
        Some(&json!({"closed": ["desk: None", "notes: GroupGone"], "in_doubt": 2}))
    );
    assert!(session.log.contains("unknown (unannotated), attempts: 1, replays: 0"), "{}", session.log);
}

#[test]
#[ignore = "needs FAULT_SERVER"]
fn a_call_that_is_safe_to_repeat_is_answered_and_nobody_is_asked() {
    let notes = scenario([(1, json!("die_after_commit"))]);
    let desk = scenario([(1, json!({"http": {"reset": "after_commit"}}))]);
    let script = [trusted(), call("notes", "put", "a"), call("desk", "put", "b")];
    let session = Session::run("safe", [notes, desk], &script);
    for turn in 0..2 {
        assert!(session.turn(turn).0.is_empty());
        let told = session.said[2 + turn]["told"]["content"].as_array().and_then(|content| content.last());
        assert!(told.is_some_and(|last| last["text"].to_string().contains("An earlier attempt")), "{told:?}");
    }
    assert_eq!((session.ledgers[0].ran("a"), session.ledgers[1].ran("b")), (2, 2));
}

#[test]
#[ignore = "needs FAULT_SERVER"]
fn without_trust_a_safe_call_needs_a_yes_and_is_not_repeated() {
    let notes = scenario([(1, json!("die_after_commit"))]);
    let desk = scenario([(1, json!({"http": {"reset": "after_commit"}}))]);
    let agreed = |line| with(line, "confirm", json!(true));
    let script = [
        json!({"trust": ["desk"], "workspace": false}),
        call("notes", "put", "a"),
        agreed(call("notes", "put", "a")),
        agreed(call("desk", "put", "b")),
    ];
    let session = Session::run("untrusted", [notes, desk], &script);
    assert!(session.turn(0).1.starts_with("Not executed (declined)"));
    assert!(session.turn(1).1.starts_with("Unknown (server_untrusted)"));
    assert!(session.turn(2).1.starts_with("Unknown (workspace_untrusted)"));
    assert_eq!((session.ledgers[0].ran("a"), session.ledgers[1].ran("b")), (1, 1));
}

#[test]
#[ignore = "needs FAULT_SERVER"]
fn what_was_never_read_is_delivered_and_what_is_never_read_may_be_called_again() {
    let never_reads = scenario([(1, json!({"die_unread": {"when": {"millis": 50}}}))]);
    let comes_back = with(never_reads.clone(), "later", json!([[2, scenario([])]]));
    let append = call("notes", "append", "a");
    let session = Session::run("unread", [comes_back, scenario([])], &[trusted(), append.clone()]);
    assert_eq!(session.turn(0), (vec![], "append ran"));
    assert_eq!(session.ledgers[0].ran("a"), 1);

    let session = Session::run("never_read", [never_reads, scenario([])], &[trusted(), append]);
    let (asked, told) = session.turn(0);
    assert!(asked.is_empty() && told.starts_with("Not executed ("), "{told}");
    assert!(told.ends_with("You may call the tool again."), "{told}");
    assert_eq!(session.ledgers[0].ran("a"), 0);
}

#[test]
#[ignore = "needs FAULT_SERVER"]
fn a_call_that_reports_progress_is_cancelled_under_way() {
    let slow = json!({"progress": {"every_ms": 5, "times": 100_000}});
    let scenarios = [scenario([(1, slow.clone())]), scenario([(1, slow)])];
    let cancelled = |server| with(call(server, "put", "a"), "cancel", json!("at_progress"));
    let session = Session::run("cancelled", scenarios, &[trusted(), cancelled("notes"), cancelled("desk")]);
    for turn in 0..2 {
        assert!(session.turn(turn).1.starts_with("Unknown (cancelled)"));
        assert_ne!(session.said[2 + turn]["progress"], 0);
        assert_eq!(session.ledgers[turn].ran("a"), 1);
    }
}
