//! What is wrong before anything is sent: one line, exit code 2.

use std::{io::Write, process::Stdio};

use mcp_tool_cli::fault_server::{Scenario, ToolSpec};
use serde_json::json;

use crate::bench::{Bench, display, ended, put};

fn append() -> Scenario {
    let schema =
        json!({ "type": "object", "required": ["line"], "properties": { "line": { "type": "string" } } });
    Scenario::new().tool(ToolSpec::new("append").input_schema(schema)).tool(ToolSpec::new("put"))
}

#[test]
fn a_command_line_that_makes_no_sense_is_told_in_one_line_and_starts_nothing() {
    let bench = Bench::new();
    let rows = [
        ("cal put", "unrecognized subcommand 'cal'; a similar subcommand exists: 'call' (see --help)"),
        ("call", "the following required arguments were not provided: <TOOL> (see --help)"),
        (
            "call put --args {} --arg a=1",
            "the argument '--args <JSON>' cannot be used with '--arg <KEY=VALUE>' (see --help)",
        ),
        (
            "call put --args {} --args-file f",
            "the argument '--args <JSON>' cannot be used with '--args-file <FILE>' (see --help)",
        ),
        (
            "call put --server a --url http://b",
            "the argument '--server <NAME>' cannot be used with '--url <URL>' (see --help)",
        ),
        (
            "call put --url http://b -- server",
            "the argument '--url <URL>' cannot be used with '[COMMAND]...' (see --help)",
        ),
        (
            "call put --header a:b -- server",
            "the argument '--header <NAME: VALUE>' cannot be used with '[COMMAND]...' (see --help)",
        ),
        (
            "call put --timeout 5 -- server",
            "invalid value '5' for '--timeout <DURATION>': a duration is a whole number above zero with its unit, \
             such as 500ms, 30s, 2m or 1h (see --help)",
        ),
        (
            "call put --output yaml -- server",
            "invalid value 'yaml' for '--output <text|json>' [possible values: text, json] (see --help)",
        ),
        ("call put", "no server is named: say --server NAME, --url URL, or -- COMMAND at the end"),
        ("call put --args [1] -- server", "--args: the arguments are not a JSON object"),
        ("call put --args {\"a\":secret} -- server", "--args:1:6: this is not JSON"),
        ("call put --arg secret -- server", "an --arg is not of the form key=value"),
        ("call put --arg a=1 --arg a=2 -- server", "--arg a is given more than once"),
        (
            "call put --url secret",
            "what is given as the URL is not a URL of the form http://host/path or https://host/path",
        ),
        (
            "call put --url ftp://secret/",
            "what is given as the URL is not a URL of the form http://host/path or https://host/path",
        ),
        ("call put --header a:b", "--header is for a server that is given by --url"),
        ("call put --header secret --url http://b", "a --header is not of the form 'Name: value'"),
        ("call put --header se(cret:x --url http://b", "the name of a header is not one that HTTP allows"),
        ("call put --header A:1 --header a:2 --url http://b", "the header a is given more than once"),
        (
            "call put --header Accept:1 --url http://b",
            "the header accept is the protocol's own and cannot be set",
        ),
        (
            "call put --header Content-Length:3 --url http://b",
            "the header content-length is the protocol's own and cannot be set",
        ),
        (
            "call put -- /no/such/server",
            "the server's command `/no/such/server` does not exist or may not be run: install it, or correct its path",
        ),
    ];
    for (line, problem) in rows {
        bench.run(line.split(' ')).assert_problem(problem);
    }
}

#[test]
fn help_and_version_are_no_problem() {
    for line in ["--help", "--version", "call --help", "list -h", "trust add --help"] {
        let told = Bench::new().run(line.split(' '));
        assert_eq!((told.code, &*told.stderr), (Some(0), ""), "{line}");
        assert!(told.stdout.contains("mcp-tool"), "{line}");
    }
}

#[test]
fn an_unknown_tool_is_told_with_the_nearest_name() {
    let bench = Bench::new();
    bench.run_on("call pitt", &put()).assert_problem(
        "the server has no tool `pitt` (did you mean `put`?): `mcp-tool list` shows those that it has",
    );
    bench
        .run_on("call zebra", &put())
        .assert_problem("the server has no tool `zebra`: `mcp-tool list` shows those that it has");
    let bad = put().tool(ToolSpec::new("bad").raw(json!({ "name": "bad" })));
    bench
        .run_on("call bad", &bad)
        .assert_problem("the server lists `bad` in a way that it cannot be called: input_schema_missing");
    assert_eq!(bench.ledger.received().unwrap(), []);
}

#[test]
fn arguments_that_do_not_fit_the_schema_are_not_sent() {
    let bench = Bench::new();
    let told = bench.run_on("call append", &append());
    told.assert_problem(
        "the arguments do not fit the input schema of `append`: the arguments: missing properties 'line'",
    );
    let told = bench.run_on("call append --arg line=5", &append());
    told.assert_problem(
        "the arguments do not fit the input schema of `append`: `/line`: want string, but got number",
    );
    assert_eq!(bench.ledger.received().unwrap(), []);
    let told = bench.run_on("call append --arg line=\"5\"", &append());
    assert_eq!((told.code, &*told.stdout), (Some(0), "append ran\n"));
}

#[test]
fn a_schema_that_is_none_is_a_note_and_no_obstacle() {
    let odd = Scenario::new().tool(ToolSpec::new("put").input_schema(json!({ "type": 5 })));
    let told = Bench::new().run_on("call put", &odd);
    assert_eq!((told.code, &*told.stderr), (Some(0), ""));
    let told = Bench::new().run_on("call put -v", &odd);
    let note = "mcp-tool: the arguments are not checked: the tool's input schema is no JSON Schema\n";
    assert!(told.code == Some(0) && told.stderr.contains(note), "{told:?}");
}

#[test]
fn arguments_come_from_a_file_from_standard_input_or_one_by_one_and_arrive_the_same() {
    let bench = Bench::new();
    let arguments = json!({ "key": "a", "n": 1 }).to_string();
    let file = bench.file("arguments.json", &arguments);
    bench.run_on(&format!("call put --args-file {}", file.display()), &put());
    bench.run_on("call put --arg key=a --arg n=1", &put());
    bench.run_on(&format!("call put --args {arguments}"), &put());
    let mut child = bench
        .command(bench.line_on("call put --args-file -", &put()))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(arguments.as_bytes()).unwrap();
    assert!(ended(&mut child).unwrap().success());
    let received = bench.ledger.received().unwrap();
    assert_eq!(received.len(), 4);
    assert!(received.iter().all(|call| call.arguments == received[0].arguments), "{received:?}");
}

#[test]
fn a_file_of_arguments_that_is_of_no_use_is_named() {
    let bench = Bench::new();
    let file = bench.file("arguments.json", "{\n  \"key\": }");
    let line = format!("call put --args-file {} -- server", file.display());
    bench.run(line.split(' ')).assert_problem(&format!("{}:2:10: this is not JSON", display(&file)));
    let told = bench.run("call put --args-file /no/such -- server".split(' '));
    assert_eq!(told.code, Some(2));
    assert!(told.stderr.starts_with("mcp-tool: /no/such: ") && told.stderr.lines().count() == 1, "{told:?}");
}
