//! What servers declare, and what a lost connection would lead to.

use mcp_tool_cli::fault_server::{Scenario, Startup, ToolSpec};
use serde_json::json;

use crate::bench::{Bench, put};

fn everything() -> Scenario {
    let tool = |name: &str| ToolSpec::new(name);
    Scenario::new()
        .tool(tool("put").annotations(json!({ "idempotentHint": true })).description("Stores"))
        .tool(tool("get").annotations(json!({ "readOnlyHint": true, "destructiveHint": false })))
        .tool(tool("append"))
        .tool(tool("odd").annotations(json!({ "readOnlyHint": "yes" })))
        .tool(tool("bad").raw(json!({ "name": "bad" })))
        .tool(tool("evil\u{1b}[2J"))
}

#[test]
fn the_table_shows_hints_as_declared_and_what_the_policy_says_under_the_given_trust() {
    let told = Bench::new().run_on("list --trust-server --trust-workspace --safe append", &everything());
    let expected = "\
server: 5 tools; server trusted, workspace trusted
  TOOL           READ-ONLY   DESTRUCTIVE  IDEMPOTENT  IF IT MAY HAVE RUN AND THE ANSWER IS LOST
  put            -           -            true        sent again
  get            true        false        -           sent again
  append         -           -            -           sent again
  odd            wrong type  -            -           unknown: malformed_hints
  evil\\u{1b}[2J  -           -            -           unknown: unannotated
  set aside, number 5, bad: input_schema_missing
";
    assert_eq!((told.code, &*told.stdout, &*told.stderr), (Some(0), expected, ""));
    let told = Bench::new().run_on("list", &everything());
    assert!(
        told.stdout.starts_with("server: 5 tools; server not trusted, workspace not trusted\n"),
        "{told:?}"
    );
    assert_eq!(told.stdout.matches("unknown: server_untrusted").count(), 5, "{told:?}");
}

#[test]
fn the_json_says_the_same() {
    let told = Bench::new().run_on("list --output json --trust-server --trust-workspace", &everything());
    let tool = |name: &str,
                description: Option<&str>,
                hints: [serde_json::Value; 3],
                reason: Option<&str>| {
        let [read_only, destructive, idempotent] = hints;
        json!({
            "name": name, "description": description, "ambiguous": false,
            "hints": { "readOnlyHint": read_only, "destructiveHint": destructive, "idempotentHint": idempotent },
            "after_loss": { "replay": reason.is_none(), "reason": reason },
        })
    };
    let (none, yes, no) = (json!(null), json!(true), json!(false));
    let expected = json!({ "servers": [{
        "server": "server",
        "trust": { "server": true, "workspace": true },
        "tools": [
            tool("put", Some("Stores"), [none.clone(), none.clone(), yes.clone()], None),
            tool("get", None, [yes, no, none.clone()], None),
            tool("append", None, [none.clone(), none.clone(), none.clone()], Some("unannotated")),
            tool("odd", None, [json!("malformed"), none.clone(), none.clone()], Some("malformed_hints")),
            tool("evil\u{1b}[2J", None, [none.clone(), none.clone(), none], Some("unannotated")),
        ],
        "left_out": 0,
        "quarantined": [{ "index": 4, "name": "bad", "reason": "input_schema_missing" }],
        "warnings": [],
        "error": null,
    }]});
    assert_eq!((told.code, told.json()), (Some(0), expected));
}

#[test]
fn every_configured_server_is_listed_and_one_that_fails_hides_no_other() {
    let bench = Bench::new();
    let mut first = bench.entry(&put().tool(ToolSpec::new("get")));
    first["excludeTools"] = json!(["get"]);
    first["trust"] = json!(true);
    bench.configure(json!({
        "first": first,
        "dead": { "command": "false" },
        "bad": { "command": 5 },
        "last": bench.entry(&put()),
    }));
    let told = bench.run("list --output json".split(' '));
    assert_eq!(told.code, Some(3), "{told:?}");
    let servers = told.json()["servers"].clone();
    let column = |pointer: &str| -> Vec<_> {
        servers.as_array().unwrap().iter().map(|server| server.pointer(pointer).cloned()).collect()
    };
    assert_eq!(column("/server"), ["bad", "dead", "first", "last"].map(|name| Some(json!(name))));
    assert_eq!(
        column("/error/reason"),
        [Some(json!("configuration")), Some(json!("not_connected")), None, None]
    );
    assert_eq!(column("/tools/0/name"), [None, None, Some(json!("put")), Some(json!("put"))]);
    assert_eq!(column("/left_out"), [0, 0, 1, 0].map(|count| Some(json!(count))));
    assert_eq!(column("/trust/server"), [None, None, Some(json!(true)), Some(json!(false))]);
}

#[test]
fn a_configuration_that_is_wrong_and_a_server_that_cannot_be_reached_are_told_apart() {
    let bench = Bench::new();
    let told = bench.run_on("list", &put().startup(Startup::Exit { code: 1 }));
    assert_eq!((told.code, bench.starts_and_executions()), (Some(3), (6, 0)));
    assert!(
        told.stderr.starts_with("mcp-tool: server: the server ended before its handshake was complete"),
        "{told:?}"
    );
    assert_eq!(told.stdout, "");
    assert_eq!(bench.run("list -- /no/such/server".split(' ')).code, Some(2));
    let told = bench.run_on("list --timeout 500ms", &put().startup(Startup::NeverAnswers));
    assert_eq!(told.code, Some(3));
    assert!(told.stderr.contains("within --timeout"), "{told:?}");
}

#[test]
fn a_server_over_http_is_listed() {
    let bench = Bench::new();
    let server = bench.http_server(&put());
    let told = bench.run(["list", "--url", &server.url]);
    assert!(told.code == Some(0) && told.stdout.contains("\n  put "), "{told:?}");
    server.end();
}

#[test]
fn with_the_schemas_each_tool_is_described_in_full() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "number" } } });
    let scenario = || {
        Scenario::new()
            .tool(ToolSpec::new("put").description("Stores\na number").input_schema(schema.clone()))
            .tool(ToolSpec::new("get"))
    };
    let told = Bench::new().run_on("list --schema", &scenario());
    let described = "
  put
    Stores
    a number
    {
      \"properties\": {
        \"n\": {
          \"type\": \"number\"
        }
      },
      \"type\": \"object\"
    }

  get
    {
      \"type\": \"object\"
    }
";
    assert!(told.stdout.ends_with(described), "{}", told.stdout);
    let told = Bench::new().run_on("list --schema --output json", &scenario());
    assert_eq!(told.json()["servers"][0]["tools"][0]["input_schema"], schema);
}
