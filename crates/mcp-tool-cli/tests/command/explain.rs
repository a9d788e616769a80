//! What the policy would say, and what codes mean.

use mcp_tool::replay_policy::Reason;
use serde_json::{Value, json};

use crate::bench::{Bench, Ran};

fn explain(line: &str) -> Ran {
    Bench::new().run(format!("explain {line}").split_whitespace())
}

/// The decision and its reason.
fn decided(line: &str) -> (Value, Value) {
    let told = explain(&format!("--output json {line}"));
    assert_eq!((told.code, &*told.stderr), (Some(0), ""), "{told:?}");
    (told.json()["decision"].clone(), told.json()["reason"].clone())
}

const TRUSTED: &str = "--trust-server --trust-workspace";

#[test]
fn the_verdict_is_the_policys_for_the_facts_that_are_given() {
    let rows = [
        ("", Some("server_untrusted")),
        ("--trust-server", Some("workspace_untrusted")),
        (TRUSTED, Some("unannotated")),
        ("--trust-server --trust-workspace --hints none", Some("unannotated")),
        ("--trust-server --trust-workspace --hints readOnly", None),
        ("--trust-server --trust-workspace --hints readOnly,destructive", Some("contradictory_hints")),
        ("--trust-server --trust-workspace --hints destructive,idempotent", None),
        ("--trust-server --trust-workspace --hints {\"idempotentHint\":true}", None),
        ("--trust-server --trust-workspace --hints {\"idempotentHint\":1}", Some("malformed_hints")),
        ("--trust-server --trust-workspace --safe tool", None),
        ("--trust-server --trust-workspace --tool put --safe tool", Some("unannotated")),
        ("--trust-server --trust-workspace --safe tool --never tool", Some("operator_never")),
        ("--trust-server --trust-workspace --hints readOnly --max-replays 0", Some("replay_limit")),
        ("--trust-server --trust-workspace --hints readOnly --replays 3", Some("replay_limit")),
        (
            "--trust-server --trust-workspace --hints readOnly --definition schema-changed",
            Some("tool_changed"),
        ),
        ("--trust-server --trust-workspace --hints readOnly --definition changed", None),
        ("--trust-server --trust-workspace --hints readOnly --definition ambiguous", Some("ambiguous_tool")),
        ("--delivery unsent", None),
        ("--delivery unsent --definition changed", Some("tool_changed")),
        ("--delivery unsent --replays 3", Some("resend_limit")),
        ("--delivery unsent --began-trusted", Some("trust_withdrawn")),
        ("--delivery unsent --no-resend-unsent", Some("server_untrusted")),
        (
            "--delivery unsent --no-resend-unsent --hints readOnly --replays 2 --trust-server --trust-workspace",
            None,
        ),
        ("--delivery refused --trust-server --trust-workspace", Some("unannotated")),
        ("--delivery refused --trust-server --trust-workspace --accept-refusals", None),
    ];
    for (line, reason) in rows {
        let decision = if reason.is_none() { "replay" } else { "deny" };
        assert_eq!(decided(line), (json!(decision), json!(reason)), "{line}");
    }
}

#[test]
fn the_path_has_every_reason_of_the_policy_once_and_says_what_would_have_to_change() {
    let told = explain("--output json --hints readOnly,idempotent=false").json();
    let path = told["path"].as_array().unwrap();
    let reasons: Vec<&str> = path
        .iter()
        .flat_map(|step| step["reasons"].as_array().unwrap())
        .map(|code| code.as_str().unwrap())
        .collect();
    assert_eq!(reasons, Reason::fixed().map(Reason::code).collect::<Vec<_>>());
    let failed: Vec<_> =
        path.iter().filter(|step| !step["change"].is_null()).map(|step| &step["reason"]).collect();
    assert_eq!(failed, ["server_untrusted", "workspace_untrusted", "contradictory_hints"]);
    let step = |reason: &str| path.iter().find(|step| step["reasons"] == json!([reason])).unwrap();
    assert_eq!(
        (&step("tool_changed")["before_reconnect"], &step("tool_changed")["before_replay"]),
        (&json!("not_asked"), &json!("passed"))
    );
    assert_eq!(step("server_untrusted")["before_reconnect"], "failed");
    assert_eq!(step("trust_withdrawn")["before_replay"], "not_asked");
}

#[test]
fn the_folder_that_it_runs_in_plays_no_part() {
    let bench = Bench::new();
    assert_eq!(bench.run(["trust", "add"]).code, Some(0));
    let told = bench.run("explain --trust-server --hints readOnly --output json".split(' '));
    assert_eq!(told.json()["reason"], "workspace_untrusted");
}

#[test]
fn a_code_is_explained_once_for_each_list_that_has_it() {
    let told = explain("cancelled --output json").json();
    let of: Vec<_> = told["codes"].as_array().unwrap().iter().map(|code| &code["of"]).collect();
    assert_eq!(of, ["mcp_tool::Reason", "mcp_transport::ErrorKind"]);
    let told = explain("unannotated");
    assert_eq!(
        told.stdout,
        "unannotated: replay_policy::Reason\n  meaning     the tool has no annotations, or none of the three hints\n  \
         what to do  the server's author can declare it; the operator can vouch for it (with_safe_on)\n"
    );
    assert!(explain("stray-output").stdout.starts_with("stray-output: a rule of mcp-tool audit (error)\n"));
}

#[test]
fn what_is_no_code_no_hint_or_both_at_once_is_a_problem() {
    explain("unanotated")
        .assert_problem("there is no code or rule `unanotated` (did you mean `unannotated`?)");
    explain("zebra").assert_problem("there is no code or rule `zebra`: docs/errors.md lists them all");
    let told = explain("--hints readonly");
    assert_eq!(told.code, Some(2));
    assert!(
        told.stderr.contains("hints are names such as `readOnly,destructive=false,idempotent`"),
        "{told:?}"
    );
    assert_eq!(explain("unannotated --trust-server").code, Some(2));
}
