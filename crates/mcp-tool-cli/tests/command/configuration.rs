//! Configured servers: which file, which entry, and what is said when there is none.

use mcp_tool_cli::fault_server::{Fault, ToolSpec};
use serde_json::json;

use crate::bench::{Bench, EXE, PATIENCE, Page, display, put, run, safe_put};

#[test]
fn a_server_is_called_by_its_name_in_the_users_configuration() {
    let bench = Bench::new();
    bench.configure(json!({ "it": bench.entry(&put()) }));
    let told = bench.run("call put --server it".split(' '));
    assert_eq!((told.code, &*told.stdout, &*told.stderr), (Some(0), "put ran\n", ""));
}

#[test]
fn without_xdg_config_home_the_configuration_is_in_dot_config() {
    let bench = Bench::new();
    let text = json!({ "mcpServers": { "it": bench.entry(&put()) } }).to_string();
    bench.file("home/.config/mcp-tool/mcp.json", &text);
    for config in [None, Some("relative")] {
        let mut command = bench.command("call put --server it".split(' '));
        command.env_remove("XDG_CONFIG_HOME");
        config.map(|config| command.env("XDG_CONFIG_HOME", config));
        assert_eq!(run(&mut command).code, Some(0));
    }
}

#[test]
fn variables_expand_when_the_server_is_used_and_one_that_is_not_set_is_named() {
    let bench = Bench::new();
    let mut entry = bench.entry(&put());
    entry["command"] = json!("${PROGRAM}");
    bench.configure(json!({ "it": entry }));
    let told = run(bench.command("call put --server it".split(' ')).env("PROGRAM", EXE));
    assert_eq!(told.code, Some(0), "{told:?}");
    let file = bench.path("config/mcp-tool/mcp.json");
    bench.run("call put --server it".split(' ')).assert_problem(&format!(
        "{}:1:21: server `it`: `command` refers to the environment variable `PROGRAM`, which is not set",
        display(&file)
    ));
}

#[test]
fn a_file_that_is_named_needs_no_trust_and_its_server_is_trusted_if_it_says_so() {
    let bench = Bench::new();
    let mut entry = bench.entry(&safe_put().on_call(1, Fault::DieAfterCommit));
    entry["trust"] = json!(true);
    let text = json!({ "mcpServers": { "it": entry } }).to_string();
    bench.file("work/.mcp.json", &text);
    let line = "call put --output json --server it --config .mcp.json";
    let told = bench.run(line.split(' '));
    // The server is, the workspace is not.
    assert_eq!((told.code, &told.json()["reason"]), (Some(4), &json!("workspace_untrusted")));

    let bench = Bench::new();
    let mut entry = bench.entry(&safe_put().on_call(1, Fault::DieAfterCommit));
    entry["trust"] = json!(true);
    bench.configure(json!({ "it": entry }));
    let told = bench.run("call put --output json --trust-workspace --server it".split(' '));
    assert_eq!((told.code, &told.json()["replays"]), (Some(0), &json!(1)));
}

#[test]
fn a_server_gets_the_environment_and_the_folder_of_its_entry() {
    let bench = Bench::new();
    let mut entry = bench.entry(&put());
    let mut args =
        vec![json!("-c"), json!("echo \"$$A $$PWD\" > $OUT; exec \"$$0\" \"$$@\""), entry["command"].clone()];
    args.extend(entry["args"].as_array().unwrap().clone());
    entry = json!({ "command": "sh", "args": args, "env": { "A": "a $A" }, "cwd": "$HOME" });
    bench.configure(json!({ "it": entry }));
    let out = bench.path("out");
    let told = run(bench.command("call put --server it".split(' ')).env("A", "b").env("OUT", &out));
    assert_eq!(told.code, Some(0), "{told:?}");
    let home = bench.path("home").canonicalize().unwrap();
    assert_eq!(std::fs::read_to_string(out).unwrap(), format!("a b {}\n", display(&home)));
}

#[test]
fn headers_reach_the_server_whether_given_or_configured() {
    let page = Page::new("500 Internal Server Error", "text/plain", "no");
    let bench = Bench::new();
    bench.configure(json!({ "it": { "httpUrl": page.url, "url": "http://other.invalid/", "headers": { "X-One": "a $TOKEN" } } }));
    run(bench.command("call put --server it".split(' ')).env("TOKEN", "b"));
    assert!(page.requests.recv_timeout(PATIENCE).unwrap().contains("\r\nx-one: a b\r\n"));

    let page = Page::new("500 Internal Server Error", "text/plain", "no");
    bench.run(["call", "put", "--url", &page.url, "--header", "X-One: 1", "--header", "X-Two:2"]);
    let request = page.requests.recv_timeout(PATIENCE).unwrap();
    assert!(request.contains("\r\nx-one: 1\r\n") && request.contains("\r\nx-two: 2\r\n"), "{request}");
}

#[test]
fn a_content_type_among_the_headers_is_no_second_one() {
    let bench = Bench::new();
    let server = bench.http_server(&put());
    let header = "Content-Type: application/json";
    let told = bench.run(["call", "put", "--url", &server.url, "--header", header]);
    assert_eq!((told.code, &*told.stdout), (Some(0), "put ran\n"), "{told:?}");
    server.end();
}

#[test]
fn the_time_of_a_request_is_that_of_the_entry_unless_the_command_line_says_otherwise() {
    let bench = Bench::new();
    let mut entry = bench.entry(&put().on_every_call(Fault::Hang));
    entry["timeout"] = json!(4000);
    bench.configure(json!({ "it": entry }));
    let told = bench.run("call put --output json --server it".split(' '));
    assert_eq!((told.code, &told.json()["reason"]), (Some(4), &json!("deadline")));
    let told = bench.run("call put --output json --timeout 600s --idle-timeout 5s --server it".split(' '));
    assert_eq!((told.code, &told.json()["reason"]), (Some(4), &json!("idle_timeout")));
}

#[test]
fn tools_that_the_entry_leaves_out_are_neither_called_nor_suggested() {
    let bench = Bench::new();
    let scenario = put().tool(ToolSpec::new("get")).tool(ToolSpec::new("got"));
    let mut entry = bench.entry(&scenario);
    entry["includeTools"] = json!(["put", "get"]);
    entry["excludeTools"] = json!(["get"]);
    bench.configure(json!({ "it": entry }));
    for tool in ["get", "got"] {
        bench.run(format!("call {tool} --server it").split(' ')).assert_problem(&format!(
            "`{tool}` is left out by `includeTools` or `excludeTools` of the server's configuration"
        ));
    }
    assert_eq!(bench.ledger.received().unwrap(), []);
    assert!(bench.run("call put --server it".split(' ')).code == Some(0));
}

#[test]
fn an_unknown_server_is_told_with_the_nearest_name() {
    let bench = Bench::new();
    bench.configure(json!({ "files": { "command": "files" }, "memory": { "command": "memory" } }));
    let problem = |line: &str, problem: &str| bench.run(line.split(' ')).assert_problem(problem);
    problem("call put --server flies", "no server `flies` is configured (did you mean `files`?)");
    problem("call put --server zebra", "no server `zebra` is configured");
}

#[test]
fn a_malformed_file_is_told_with_line_and_column_and_a_bad_entry_spoils_no_other() {
    let bench = Bench::new();
    let file = bench.file("config/mcp-tool/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {,}\n  }\n}");
    let malformed = format!("{}:3:11: this is not JSON", display(&file));
    bench.run("call put --server a".split(' ')).assert_problem(&malformed);
    bench.run(["list"]).assert_problem(&malformed);
    bench.run("call put --server a --config /no/such".split(' '));
    bench.configure(json!({ "bad": { "command": ["secret"] }, "good": bench.entry(&put()) }));
    bench
        .run("call put --server bad".split(' '))
        .assert_problem(&format!("{}:1:33: server `bad`: `command` must be a string", display(&file)));
    assert_eq!(bench.run("call put --server good".split(' ')).code, Some(0));
}

#[test]
fn entries_that_cannot_work_say_why() {
    let bench = Bench::new();
    bench.configure(json!({
        "old": { "type": "sse", "url": "http://a/sse" },
        "nowhere": { "command": "sh", "cwd": "/no/such" },
        "url": { "url": "secret" },
        "header": { "url": "http://a", "headers": { "X": "a\nsecret" } },
        "missing": { "command": "/no/such/$SECRET" },
    }));
    let rows = [
        ("nowhere", "server `nowhere`: its `cwd` is no folder"),
        (
            "url",
            "server `url`: what is given as the URL is not a URL of the form http://host/path or https://host/path",
        ),
        ("header", "server `header`: the value of the header x is not one that HTTP allows"),
        (
            "missing",
            "the `command` of server `missing` does not exist or may not be run: install it, or correct its path",
        ),
    ];
    for (server, problem) in rows {
        let line = format!("call put --server {server}");
        run(bench.command(line.split(' ')).env("SECRET", "secret")).assert_problem(problem);
    }
    let told = bench.run("call put --server old".split(' '));
    assert!(
        told.code == Some(2) && told.stderr.contains("the SSE transport of 2024, which is not supported")
    );
}

#[test]
fn the_file_of_an_untrusted_folder_starts_nothing_and_that_is_said() {
    let bench = Bench::new();
    let mut entry = bench.entry(&put());
    entry["env"] = json!({ "A": "${NOT_SET}" });
    let file = bench.file("work/.mcp.json", &json!({ "mcpServers": { "theirs": entry } }).to_string());
    let file = bench.work().join(file.file_name().unwrap());
    let left_out = format!(
        "{} is left out, because its folder is not trusted: look at it, then run `mcp-tool trust add`, or name it by \
         --config",
        display(&file)
    );
    bench
        .run("call put --server theirs".split(' '))
        .assert_problem(&format!("no server `theirs` is configured; {left_out}"));
    let told = bench.run(["list"]);
    assert_eq!((told.code, &*told.stdout), (Some(0), ""));
    let none = format!(
        "no servers are configured in {} or a trusted ./.mcp.json; name a server by --url URL, or by -- COMMAND at the \
         end",
        display(&bench.path("config/mcp-tool/mcp.json"))
    );
    assert_eq!(told.stderr, format!("mcp-tool: {left_out}\nmcp-tool: {none}\n"));
    assert_eq!(bench.starts_and_executions(), (0, 0));

    // Once it is trusted, its entries are read like any other.
    assert_eq!(bench.run(["trust", "add"]).code, Some(0));
    bench.run("call put --server theirs".split(' ')).assert_problem(&format!(
        "{}:1:25: server `theirs`: `env.A` refers to the environment variable `NOT_SET`, which is not set",
        display(&file)
    ));
}

#[test]
fn the_users_own_entry_is_not_replaced_by_that_of_a_trusted_folder() {
    let bench = Bench::new();
    bench.configure(json!({ "it": bench.entry(&put()) }));
    bench.file("work/.mcp.json", r#"{"mcpServers": {"it": {"command": "/no/such/server"}}}"#);
    bench.run(["trust", "add"]);
    assert_eq!(bench.run("call put --server it".split(' ')).code, Some(0));
    let told = bench.run(["list"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let hidden = format!(
        "mcp-tool: `it` of {} is not used: your own configuration has a server of that name\n",
        display(&bench.work().join(".mcp.json"))
    );
    assert_eq!(told.stderr, hidden);
}
