//! The audit of a server and of a saved list.

use std::fs;

use mcp_tool_cli::fault_server::{Cursors, Ending, Era, PageFault, Scenario, Startup, ToolSpec, Tools};
use serde_json::{Value, json};

use crate::bench::{Bench, PATIENCE, Ran, finish, put, safe_put};

/// The rules of all findings, each with the tool it is about.
fn rules(told: &Ran) -> Vec<String> {
    let report = told.json();
    let of_tools =
        report["tools"].as_array().unwrap().iter().flat_map(|tool| tool["findings"].as_array().unwrap());
    let all = of_tools.chain(report["findings"].as_array().unwrap());
    all.map(|finding| {
        let tool = finding["tool"].as_str().map(|tool| format!(" {tool}")).unwrap_or_default();
        format!("{}{tool}", finding["rule"].as_str().unwrap())
    })
    .collect()
}

fn saved(bench: &Bench, tools: Value) -> Ran {
    saved_as(bench, "json", tools)
}

fn saved_as(bench: &Bench, output: &str, tools: Value) -> Ran {
    let file = bench.file("work/saved.json", &json!({ "tools": tools }).to_string());
    bench.run(["audit".as_ref(), "--output".as_ref(), output.as_ref(), "--from".as_ref(), file.as_os_str()])
}

fn tool(name: &str, annotations: Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": annotations })
}

#[test]
fn each_rule_about_a_tool_finds_what_it_is_about_and_nothing_else() {
    let schema = |schema: Value| json!({ "name": "t", "inputSchema": schema, "annotations": { "idempotentHint": true } });
    let annotated = |annotations: Value| tool("t", annotations);
    let rows = [
        (annotated(json!({ "idempotentHint": true })), vec![]),
        (annotated(json!({ "readOnlyHint": true })), vec![]),
        (annotated(json!({ "readOnlyHint": false, "idempotentHint": false })), vec![]),
        (annotated(json!(null)), vec!["no-annotations t"]),
        (annotated(json!({ "title": "T" })), vec!["undecided-hints t"]),
        (annotated(json!({ "readOnlyHint": false })), vec!["undecided-hints t"]),
        (annotated(json!({ "destructiveHint": true })), vec!["undecided-hints t"]),
        (annotated(json!({ "readOnlyHint": true, "destructiveHint": true })), vec!["contradictory-hints t"]),
        (
            annotated(json!({ "readOnlyHint": true, "idempotentHint": false })),
            vec!["contradictory-hints t", "serialised-defaults"],
        ),
        (annotated(json!({ "idempotentHint": "true" })), vec!["malformed-hint t"]),
        (annotated(json!({ "idempotentHint": true, "openWorldHint": 1 })), vec!["malformed-hint t"]),
        (annotated(json!([true])), vec!["malformed-hint t"]),
        (annotated(json!({ "read_only_hint": true })), vec!["undecided-hints t", "misplaced-hint t"]),
        (annotated(json!({ "readOnlyHint": true, "read_only_hint": true })), vec![]),
        (
            json!({ "name": "t", "inputSchema": { "type": "object" }, "readOnlyHint": true }),
            vec!["no-annotations t", "misplaced-hint t"],
        ),
        (
            json!({ "name": "t", "inputSchema": { "type": "object" }, "_meta": { "idempotentHint": true } }),
            vec!["no-annotations t", "misplaced-hint t"],
        ),
        (tool("delete_all", json!({ "readOnlyHint": true })), vec!["read-only-name delete_all"]),
        (tool("delete_all", json!({ "idempotentHint": true })), vec![]),
        (schema(json!({})), vec!["schema-root t"]),
        (schema(json!({ "type": "array" })), vec!["schema-root t"]),
        (
            schema(json!({ "type": "object", "properties": { "a": { "type": "text" } } })),
            vec!["invalid-schema t"],
        ),
        (
            schema(json!({ "type": "object", "properties": { "a": { "$ref": "#/nowhere" } } })),
            vec!["invalid-schema t"],
        ),
        (
            schema(json!({ "type": "object", "properties": { "a": { "$ref": "https://example.com/a" } } })),
            vec!["invalid-schema t"],
        ),
        (schema(json!({ "type": "object", "properties": { "a": { "pattern": "(?!a)" } } })), vec![]),
        (
            schema(json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                "properties": { "a": { "pattern": "(?!a)", "items": [{ "type": "string" }] } } })),
            vec![],
        ),
        (json!({ "name": "t" }), vec!["uncallable-tool t"]),
        (json!({ "name": "t", "inputSchema": [] }), vec!["uncallable-tool t"]),
        (json!(5), vec!["uncallable-tool"]),
    ];
    let bench = Bench::new();
    for (tool, expected) in rows {
        assert_eq!(rules(&saved(&bench, json!([tool]))), expected, "{tool}");
    }
}

#[test]
fn a_hint_that_stands_twice_is_malformed() {
    let bench = Bench::new();
    let tool = r#"[{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"readOnlyHint":true}}]"#;
    let file = bench.file("work/twice.json", tool);
    let told = bench.run(["audit", "--output", "json", "--from", file.to_str().unwrap()]);
    assert_eq!(rules(&told), ["malformed-hint t"]);
    assert_eq!(told.json()["tools"][0]["reason"], "malformed_hints");
}

#[test]
fn a_name_that_is_listed_twice_is_an_error_where_the_definitions_differ_else_a_warning() {
    let bench = Bench::new();
    let one = || tool("t", json!({ "idempotentHint": true }));
    let told = saved(&bench, json!([one(), tool("t", json!({ "idempotentHint": false }))]));
    assert_eq!((told.code, rules(&told)), (Some(1), vec!["duplicate-name t".to_owned()]));
    assert_eq!(told.json()["tools"][0]["reason"], "ambiguous_tool");
    let told = saved(&bench, json!([one(), one()]));
    assert_eq!((told.code, rules(&told)), (Some(0), vec!["duplicate-name t".to_owned()]));
    assert_eq!(told.json()["tools"][0]["replayable"], true);
}

#[test]
fn hints_that_are_the_same_on_every_tool_are_noted_and_a_warning_where_the_names_differ_in_kind() {
    let stamped = |names: [&str; 5]| names.map(|name| tool(name, json!({ "idempotentHint": true }))).to_vec();
    let bench = Bench::new();
    let told = saved(&bench, json!(stamped(["get_a", "get_b", "get_c", "get_d", "get_e"])));
    assert_eq!(told.json()["findings"][0]["severity"], "note");
    let told = saved(&bench, json!(stamped(["get_a", "get_b", "get_c", "get_d", "delete_e"])));
    assert_eq!(
        (rules(&told), &told.json()["findings"][0]["severity"]),
        (vec!["same-hints".into()], &json!("warning"))
    );
    let mut one_less = stamped(["get_a", "get_b", "get_c", "get_d", "delete_e"]);
    one_less.pop();
    assert_eq!(rules(&saved(&bench, json!(one_less))), [""; 0]);
}

#[test]
fn the_json_says_of_each_tool_what_the_policy_says_of_a_lost_call() {
    let told = saved(
        &Bench::new(),
        json!([
            tool("a", json!({ "readOnlyHint": true, "destructiveHint": false })),
            tool("b", json!({ "idempotentHint": "yes" })),
            tool("c", json!(null)),
        ]),
    );
    let finding = |rule: &str, severity: &str, tool: &str, message: &str| json!({ "rule": rule, "severity": severity, "tool": tool, "message": message, "known": false });
    let expected = json!({
        "tools": [
            { "name": "a", "replayable": true, "reason": null, "findings": [],
              "hints": { "readOnlyHint": true, "destructiveHint": false, "idempotentHint": null } },
            { "name": "b", "replayable": false, "reason": "malformed_hints",
              "hints": { "readOnlyHint": null, "destructiveHint": null, "idempotentHint": "malformed" },
              "findings": [finding("malformed-hint", "error", "b", "idempotentHint is a string, not a boolean")] },
            { "name": "c", "replayable": false, "reason": "unannotated", "hints": {},
              "findings": [finding("no-annotations", "warning", "c", "no annotations")] },
        ],
        "findings": [],
        "summary": { "tools": 3, "replayable": 1, "reasons": { "malformed_hints": 1, "unannotated": 1 },
                     "errors": 1, "warnings": 1, "notes": 0, "known": 0 },
    });
    assert_eq!(told.json(), expected);
    assert_eq!((told.code, &*told.stderr), (Some(1), ""));
}

#[test]
fn the_exit_code_depends_on_the_gravest_finding_that_counts() {
    let bench = Bench::new();
    let (warning, error) = (tool("w", json!(null)), tool("e", json!({ "readOnlyHint": 1 })));
    let note =
        json!((0..5).map(|n| tool(&format!("get_{n}"), json!({ "readOnlyHint": true }))).collect::<Vec<_>>());
    let rows = [
        (json!([warning]), [0, 0, 1, 0]),
        (json!([warning, error]), [1, 1, 1, 0]),
        (note, [0, 0, 0, 0]),
        (json!([]), [0, 0, 0, 0]),
    ];
    for (tools, codes) in rows {
        bench.file("work/saved.json", &json!({ "tools": tools }).to_string());
        for (option, code) in
            ["", "--fail-on error", "--fail-on warning", "--fail-on never"].into_iter().zip(codes)
        {
            let told = bench.run(format!("audit --from saved.json {option}").split_whitespace());
            assert_eq!(told.code, Some(code), "{tools} {option}: {told:?}");
        }
    }
}

#[test]
fn a_file_that_is_no_list_or_cannot_be_read_is_a_problem() {
    let bench = Bench::new();
    bench.file("work/none.json", "{\"secret\": 1}");
    bench.file("work/text.json", "secret");
    bench.run("audit --from none.json".split(' ')).assert_problem(
        "none.json: there are no tools in it: save the result of tools/list, {\"tools\": […]}, the whole answer, or \
         the array of the tools",
    );
    bench.run("audit --from text.json".split(' ')).assert_problem("text.json: 1:1: this is not JSON");
    bench
        .run("audit --from absent.json".split(' '))
        .assert_problem("absent.json: No such file or directory (os error 2)");
    let told = bench.run("audit --from none.json --server files".split(' '));
    assert_eq!(told.code, Some(2), "{told:?}");
}

#[test]
fn a_saved_page_is_told_from_a_whole_list() {
    let bench = Bench::new();
    bench.file("work/page.json", &json!({ "tools": [], "nextCursor": "more" }).to_string());
    assert_eq!(rules(&bench.run("audit --from page.json --output json".split(' '))), ["incomplete-list"]);
}

#[test]
fn a_baseline_takes_what_is_known_out_of_the_count_and_tells_what_is_stale() {
    let bench = Bench::new();
    let tools =
        |more: Value| json!({ "tools": [tool("old", json!({ "readOnlyHint": 1 })), more] }).to_string();
    bench.file("work/saved.json", &tools(tool("gone", json!(null))));
    let told = bench.run("audit --from saved.json --fail-on warning --write-baseline known.json".split(' '));
    assert_eq!((told.code, &*told.stderr), (Some(0), ""), "{told:?}");
    let written = fs::read_to_string(bench.work().join("known.json")).unwrap();
    assert_eq!(
        written,
        "{\n  \"version\": 1,\n  \"findings\": [\n    {\"rule\":\"malformed-hint\",\"tool\":\"old\"},\n    \
         {\"rule\":\"no-annotations\",\"tool\":\"gone\"}\n  ]\n}\n"
    );

    bench.file("work/saved.json", &tools(tool("new", json!({ "readOnlyHint": 1 }))));
    let told = bench.run("audit --from saved.json --baseline known.json --output json".split(' '));
    assert_eq!(told.code, Some(1));
    let known = |place: usize| told.json()["tools"][place]["findings"][0]["known"].clone();
    assert_eq!((known(0), known(1)), (json!(true), json!(false)));
    let summary = &told.json()["summary"];
    assert_eq!((&summary["errors"], &summary["known"]), (&json!(1), &json!(1)));
    assert_eq!(
        told.stderr,
        "mcp-tool: stale in the baseline, since it is not found any more: no-annotations of `gone`\n"
    );
    let told = bench.run("audit --from saved.json --baseline known.json".split(' '));
    assert!(!told.stdout.contains("old: ") && told.stdout.contains("new: "), "{told:?}");
    assert!(told.stdout.ends_with("1 error, 0 warnings, 0 notes, 1 known\n"), "{told:?}");

    bench.file("work/known.json", "[]");
    let told = bench.run("audit --from saved.json --baseline known.json".split(' '));
    told.assert_problem("known.json: this is no baseline: write one with --write-baseline");
    bench.file("work/known.json", "{\"version\": 2, \"findings\": []}");
    let told = bench.run("audit --from saved.json --baseline known.json".split(' '));
    told.assert_problem("known.json: this baseline is of version 2, and only version 1 is known here");
}

#[test]
fn a_server_is_listed_twice_and_watched_once_and_none_of_its_tools_is_called() {
    let bench = Bench::new();
    let told = bench.run_on("audit --output json", &safe_put());
    assert_eq!((told.code, rules(&told), &*told.stderr), (Some(0), vec![], ""), "{told:?}");
    assert_eq!(bench.starts_and_executions(), (3, 0));
    let record = bench.ledger.read().unwrap();
    assert_eq!((record.lists().len(), record.received().len()), (3, 0));
}

#[test]
fn servers_of_every_era_are_watched() {
    for era in [Era::Legacy, Era::Modern, Era::Dual] {
        let scenario = safe_put().era(era).startup(Startup::Banner { line: "welcome".into() });
        let told = Bench::new().run_on("audit --output json", &scenario);
        assert_eq!(rules(&told), ["stray-output"], "{era:?}");
    }
}

#[test]
fn a_server_that_lives_on_when_its_input_is_closed_is_found_and_ended() {
    let bench = Bench::new();
    let told = bench.run_on("audit --output json", &safe_put().ending(Ending::AtKill));
    assert_eq!(rules(&told), ["outlives-input"]);
}

#[test]
fn a_flood_on_standard_error_is_found_and_blocks_nothing() {
    let bench = Bench::new();
    let mut server = vec!["-c".into(), "head -c 200000 /dev/zero >&2; exec \"$0\" \"$@\"".into()];
    server.extend(bench.server(&safe_put()));
    let line = ["audit", "--output", "json", "--", "sh"].map(Into::into).into_iter().chain(server);
    let told = bench.run(line);
    assert_eq!(rules(&told), ["stderr-flood"]);
    assert_eq!(told.json()["findings"][0]["message"], "196 KiB on standard error, without a call");
}

#[test]
fn what_differs_between_two_lists_is_found() {
    let two = |names: [&str; 2]| {
        names.into_iter().fold(Scenario::new(), |scenario, name| {
            scenario.tool(ToolSpec::new(name).annotations(json!({ "idempotentHint": true })))
        })
    };
    let other = two(["a", "b"]).tool(ToolSpec::new("c").annotations(json!({ "idempotentHint": true })));
    let described = Scenario::new()
        .tool(ToolSpec::new("a").annotations(json!({ "idempotentHint": true })).description("again"))
        .tool(ToolSpec::new("b").annotations(json!({ "idempotentHint": true })));
    let rows = [
        (two(["b", "a"]), "two lists, one after the other, have the tools in another order"),
        (other, "two lists, one after the other, do not have the same tools"),
        (described, "two lists, one after the other, define a tool differently"),
    ];
    for (second, message) in rows {
        let told = Bench::new().run_on("audit --output json", &two(["a", "b"]).from_start(2, second));
        assert_eq!(
            (rules(&told), &told.json()["findings"][0]["message"]),
            (vec!["unstable-list".into()], &json!(message))
        );
    }
}

#[test]
fn cursors_that_lead_nowhere_are_found_and_the_tools_audited_all_the_same() {
    let tools = |count| Scenario::new().tools(Tools::new().with_numbered("t", count)).page_size(2);
    let unannotated: Vec<String> = (0..4).map(|n| format!("no-annotations t{n}")).collect();
    let rows = [
        (Cursors::Numbered, 4, None),
        (Cursors::Empty, 4, None),
        (Cursors::Constant, 2, Some("ignored-cursor")),
        (Cursors::Cycle { pages: 2 }, 4, Some("ignored-cursor")),
        (Cursors::ConstantMovingOn, 6, Some("repeated-cursor")),
    ];
    for (cursors, count, rule) in rows {
        let told = Bench::new().run_on("audit --output json", &tools(count).cursors(cursors));
        let found = rules(&told);
        let of_tools = unannotated.iter().cloned().chain((4..6).map(|n| format!("no-annotations t{n}")));
        let expected: Vec<_> = of_tools.take(count).chain(rule.map(str::to_owned)).collect();
        assert_eq!(found, expected, "{cursors:?}");
    }
}

#[test]
fn a_list_without_end_is_an_error_and_one_that_is_very_large_a_warning() {
    let told = Bench::new()
        .run_on("audit --output json", &Scenario::new().cursors(Cursors::Endless).page_size(1000));
    let finding = told.json()["findings"][0].clone();
    assert_eq!((&finding["rule"], &finding["severity"]), (&json!("very-large-list"), &json!("error")));
    assert_eq!(finding["message"], "the list did not end within 11 pages, 11000 tools");
    let many = |count| Scenario::new().tools(Tools::new().with_numbered("t", count));
    for (count, found) in [(128, false), (129, true)] {
        let told = Bench::new().run_on("audit --output json", &many(count));
        assert_eq!(rules(&told).contains(&"very-large-list".to_owned()), found, "{count}");
    }
}

#[test]
fn a_server_that_cannot_be_listed_is_not_audited() {
    let bench = Bench::new();
    let told = bench.run_on("audit", &put().startup(Startup::Exit { code: 1 }));
    assert_eq!((told.code, &*told.stdout), (Some(3), ""));
    assert!(
        told.stderr.starts_with("mcp-tool: the server ended before its handshake was complete"),
        "{told:?}"
    );
    let told = Bench::new().run_on("audit", &put().on_page(1, PageFault::FailAlways));
    assert_eq!((told.code, &*told.stdout), (Some(3), ""), "{told:?}");
    let told = Bench::new().run_on("audit --timeout 500ms", &put().startup(Startup::NeverAnswers));
    assert_eq!(told.code, Some(3));
    assert!(told.stderr.contains("within --timeout"), "{told:?}");
    let told = Bench::new().run("audit -- /no/such/server".split(' '));
    assert_eq!(told.code, Some(2));
    Bench::new()
        .run(["audit"])
        .assert_problem("no server is named: say --server NAME, --url URL, or -- COMMAND at the end");
}

#[test]
fn a_page_that_fails_once_and_a_server_without_the_method_are_no_obstacle() {
    let told = Bench::new().run_on("audit --output json", &safe_put().on_page(1, PageFault::FailOnce));
    assert_eq!((told.code, rules(&told)), (Some(0), vec![]), "{told:?}");
}

#[test]
fn a_server_over_http_is_listed_twice() {
    let bench = Bench::new();
    let server = bench.http_server(&safe_put());
    let told = bench.run(["audit", "--output", "json", "--url", &server.url]);
    assert_eq!((told.code, rules(&told)), (Some(0), vec![]), "{told:?}");
    server.end();
}

#[test]
fn nothing_of_a_servers_command_line_or_url_is_printed() {
    let bench = Bench::new();
    let server = bench.http_server(&put());
    for output in ["text", "json"] {
        let url = server.url.replace("/mcp", "/mcp?token=SECRET");
        let told = bench.run(["audit", "--output", output, "--url", &url]);
        assert!(!told.stdout.contains("SECRET") && !told.stdout.contains("127.0.0.1"), "{told:?}");
    }
    server.end();
}

#[test]
fn an_interrupt_while_the_server_is_watched_ends_it() {
    let bench = Bench::new();
    // Healthy twice, then mute: what is watched never answers.
    let scenario = safe_put().from_start(3, safe_put().startup(Startup::NeverAnswers).ending(Ending::AtKill));
    let mut command = bench.command(bench.line_on("audit", &scenario));
    let child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    bench.ledger.wait_for(PATIENCE, |record| record.starts().len() == 3).unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let told = finish(child);
    assert_eq!((told.code, &*told.stdout), (Some(130), ""), "{told:?}");
}

/// Validates a log, and returns its only run.
fn sarif(told: &Ran) -> Value {
    let log = told.json();
    let schema: Value = serde_json::from_str(include_str!("../data/sarif-schema-2.1.0.json")).unwrap();
    let mut compiler = boon::Compiler::new();
    compiler.enable_format_assertions();
    let mut schemas = boon::Schemas::new();
    compiler.add_resource("http://sarif.invalid/", schema).unwrap();
    let index = compiler.compile("http://sarif.invalid/", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(&log, index) {
        panic!("{error:#}");
    }
    assert_eq!((&log["version"], log["runs"].as_array().unwrap().len()), (&json!("2.1.0"), 1));
    log["runs"][0].clone()
}

#[test]
fn the_sarif_log_of_a_file_is_valid_and_points_at_the_line_of_each_tool() {
    let bench = Bench::new();
    bench.file(
        "work/my tools.json",
        "{\"tools\":\n[{\"name\": \"a\"},\n\n{\"name\": \"b\", \"inputSchema\": {}}]}",
    );
    let told = bench.run(["audit", "--output", "sarif", "--from", "my tools.json"]);
    let run = sarif(&told);
    assert_eq!(told.code, Some(1));
    let column = |pointer: &str| -> Vec<Value> {
        run["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| result.pointer(pointer).cloned().unwrap())
            .collect()
    };
    assert_eq!(column("/ruleId"), ["uncallable-tool", "no-annotations", "schema-root"]);
    assert_eq!(column("/level"), ["error", "warning", "error"]);
    assert_eq!(column("/locations/0/physicalLocation/region/startLine"), [2, 4, 4]);
    assert_eq!(column("/locations/0/physicalLocation/artifactLocation/uri")[0], "my%20tools.json");
    assert_eq!(column("/locations/0/logicalLocations/0/name"), ["a", "b", "b"]);
    assert_eq!(column("/partialFingerprints/ruleAndTool~1v1")[1], "no-annotations/b");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for (rule, index) in column("/ruleId").iter().zip(column("/ruleIndex")) {
        assert_eq!(rules[index.as_u64().unwrap() as usize]["id"], *rule);
    }
}

#[test]
fn the_sarif_log_of_a_server_is_valid_and_has_its_name_and_nothing_of_its_address() {
    let bench = Bench::new();
    bench.configure(json!({ "notes": bench.entry(&put().startup(Startup::Banner { line: "hi".into() })) }));
    let told = bench.run("audit --output sarif --server notes".split(' '));
    let run = sarif(&told);
    let location = |place: usize| run["results"][place]["locations"][0].clone();
    let of_tool = json!({ "name": "put", "fullyQualifiedName": "notes/put", "kind": "function" });
    assert_eq!(location(0), json!({ "logicalLocations": [of_tool] }));
    assert_eq!(location(1), json!({ "logicalLocations": [{ "name": "notes", "kind": "module" }] }));
    assert!(!told.stdout.contains("fault-server") && !told.stdout.contains("ledger"), "{told:?}");
}

#[test]
fn the_sarif_log_has_what_a_baseline_knows_suppressed_and_one_from_standard_input_no_file() {
    let bench = Bench::new();
    let file = bench.file("work/saved.json", &json!({ "tools": [tool("t", json!(null))] }).to_string());
    let line = "audit --from - --output sarif --write-baseline known.json";
    let mut command = bench.command(line.split(' '));
    let told = crate::bench::run(command.stdin(fs::File::open(file).unwrap()));
    let result = sarif(&told)["results"][0].clone();
    assert_eq!(result["suppressions"][0]["kind"], "external");
    assert_eq!(result["locations"], json!([{ "logicalLocations": [{ "name": "t", "kind": "function" }] }]));
}

#[test]
fn a_log_without_results_is_valid_too() {
    assert_eq!(sarif(&Bench::new().run_on("audit --output sarif", &safe_put()))["results"], json!([]));
}

#[test]
fn the_markdown_of_a_server_with_evil_names_has_its_tables_whole() {
    let evil = "a|b`<img src=x>\n[x](y)";
    let told = saved_as(&Bench::new(), "markdown", json!([tool(evil, json!(null))]));
    let rows: Vec<_> = told.stdout.lines().filter(|line| line.contains("img")).collect();
    assert_eq!(rows.len(), 2, "{told:?}");
    for row in rows {
        assert!(row.contains(r"`` a\|b`<img src=x>\n[x](y) ``"), "{row}");
    }
}
