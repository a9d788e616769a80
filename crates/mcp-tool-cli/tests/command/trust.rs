//! Trusted folders, as their user keeps them.

use std::{fs, os::unix::fs::symlink, process::Stdio};

use mcp_tool_cli::fault_server::{Fault, When};
use serde_json::json;

use crate::bench::{Bench, display, finish, safe_put};

#[test]
fn a_folder_is_trusted_from_add_to_remove_with_all_that_is_below_it() {
    let bench = Bench::new();
    let work = display(&bench.work());
    let inner = bench.work().join("inner");
    fs::create_dir(&inner).unwrap();
    let say = |line: &str| {
        let told = bench.run(line.split(' '));
        assert_eq!(told.stderr, "");
        (told.code, told.stdout)
    };
    assert_eq!(say("trust status"), (Some(1), "not trusted\n".into()));
    assert_eq!(say("trust list"), (Some(0), String::new()));
    assert_eq!(say("trust add"), (Some(0), format!("trusted: {work}\n")));
    assert_eq!(say("trust status"), (Some(0), format!("trusted, by {work}\n")));
    assert_eq!(say("trust status inner"), (Some(0), format!("trusted, by {work}\n")));
    assert_eq!(say("trust status .."), (Some(1), "not trusted\n".into()));
    assert_eq!(say("trust add inner"), (Some(0), format!("trusted: {work}/inner\n")));
    assert_eq!(say("trust list"), (Some(0), format!("{work}\n{work}/inner\n")));
    assert_eq!(say("trust remove inner"), (Some(1), format!("still trusted, by {work}\n")));
    assert_eq!(say("trust remove"), (Some(0), "no longer trusted\n".into()));
    assert_eq!(say("trust remove"), (Some(0), "it was not trusted\n".into()));
    assert_eq!(say("trust list"), (Some(0), String::new()));
}

#[test]
fn each_command_answers_in_json_too() {
    let bench = Bench::new();
    let work = display(&bench.work());
    let rows = [
        ("status", json!({ "trusted": false, "by": null })),
        ("add", json!({ "trusted": true, "by": work })),
        ("status", json!({ "trusted": true, "by": work })),
        ("list", json!({ "folders": [work] })),
        ("remove", json!({ "trusted": false, "by": null })),
        ("list", json!({ "folders": [] })),
    ];
    for (command, json) in rows {
        assert_eq!(bench.run(["trust", command, "--output", "json"]).json(), json, "{command}");
    }
}

#[test]
fn a_file_that_cannot_be_understood_trusts_nothing_and_says_so() {
    let bench = Bench::new();
    bench.run(["trust", "add"]);
    let file = bench.file("config/mcp-tool/trusted_folders.json", "{");
    let problem = format!(
        "{}: this is no list of trusted folders; none is trusted. Correct or remove it",
        display(&file)
    );
    for command in ["list", "status", "add", "remove"] {
        bench.run(["trust", command]).assert_problem(&problem);
    }
    // A call is made, on no trust.
    let scenario = safe_put().on_call(1, Fault::DieAfterCommit);
    let told = bench.run_on("call put --output json --trust-server", &scenario);
    assert_eq!((told.code, &told.json()["reason"]), (Some(4), &json!("workspace_untrusted")));
}

#[test]
fn a_folder_that_does_not_exist_cannot_be_trusted() {
    let told = Bench::new().run("trust add /no/such".split(' '));
    assert_eq!(told.code, Some(2));
    assert!(told.stderr.starts_with("mcp-tool: /no/such: "), "{told:?}");
}

#[test]
fn calls_from_a_trusted_folder_are_made_in_a_trusted_workspace() {
    let bench = Bench::new();
    bench.run(["trust", "add"]);
    let scenario = safe_put().on_call(1, Fault::DieAfterCommit);
    let told = bench.run_on("call put --output json --trust-server", &scenario);
    assert_eq!((told.code, &told.json()["replays"]), (Some(0), &json!(1)));
}

#[test]
fn a_folder_is_judged_by_where_it_really_is() {
    let bench = Bench::new();
    bench.run(["trust", "add"]);
    let elsewhere = bench.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, bench.work().join("out")).unwrap();
    symlink(bench.work(), bench.path("in")).unwrap();
    assert_eq!(bench.run(["trust", "status", "out"]).code, Some(1));
    assert_eq!(bench.run(["trust", "status", "../in"]).code, Some(0));
}

#[test]
fn trust_that_is_withdrawn_while_a_call_is_under_way_is_gone_for_it() {
    let bench = Bench::new();
    bench.run(["trust", "add"]);
    let trigger = bench.path("die");
    let scenario = safe_put().on_call(1, Fault::Hang).dies(When::Trigger(trigger.clone()));
    let line = bench.line_on("call put --output json --trust-server", &scenario);
    let child = bench.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    bench.wait(|record| record.executions().len() == 1);
    bench.run(["trust", "remove"]);
    fs::write(trigger, "").unwrap();
    let told = finish(child);
    assert_eq!((told.code, &told.json()["reason"]), (Some(4), &json!("workspace_untrusted")));
    assert_eq!(bench.starts_and_executions(), (1, 1));
}
