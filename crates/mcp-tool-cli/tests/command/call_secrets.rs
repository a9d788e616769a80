//! Nothing of what the caller or the configuration said leaves through what is told of a lost call.

use mcp_tool_cli::fault_server::{Fault, HttpFault, Moment};
use serde_json::json;

use crate::bench::{Bench, Ran, run, safe_put};

const CANARY: &str = "canary-7f3a";

fn assert_silent(told: &Ran) {
    assert_eq!(told.code, Some(4), "{told:?}");
    assert!(!told.stdout.contains(CANARY) && !told.stderr.contains(CANARY), "{told:?}");
    assert!(told.stderr.contains("the attempt failed"), "{told:?}");
}

#[test]
fn a_lost_call_over_stdio_tells_nothing_of_arguments_environment_command_line_or_server() {
    let bench = Bench::new();
    let mut entry = bench.entry(&safe_put().on_every_call(Fault::DieAfterCommit));
    let server = entry["args"].as_array().unwrap().clone();
    // The server says it all on its standard error, too.
    let mut args = vec![json!("-c"), json!("echo \"$$SECRET $$0\" >&2; exec \"$$@\""), json!(CANARY)];
    args.push(entry["command"].clone());
    args.extend(server);
    entry =
        json!({ "command": "/bin/sh", "args": args, "env": { "SECRET": "${FROM_OUTSIDE}" }, "trust": true });
    bench.configure(json!({ "it": entry }));
    let line = format!("call put -vv --output json --trust-workspace --arg key={CANARY} --server it");
    assert_silent(&run(bench.command(line.split(' ')).env("FROM_OUTSIDE", CANARY)));
    assert_eq!(bench.ledger.executions().unwrap()[0].key, CANARY, "the argument arrived");
}

#[test]
fn a_lost_call_over_http_tells_nothing_of_url_or_headers() {
    let bench = Bench::new();
    let fault = HttpFault::Reset(Moment::AfterCommit);
    let server = bench.http_server(&safe_put().on_every_call(fault));
    let url = format!("{}?key={CANARY}", server.url);
    let header = format!("Authorization: Bearer {CANARY}");
    let told = bench.run([
        "call",
        "put",
        "-vv",
        "--output",
        "json",
        "--trust-server",
        "--trust-workspace",
        "--url",
        &url,
        "--header",
        &header,
    ]);
    assert_silent(&told);
    server.end();
}
