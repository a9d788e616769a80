//! What the audit says of servers that nobody here wrote. A new version of one may change its row.

use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{family::Family, program::mcp_tool, server};

/// What is expected of one server.
struct Row {
    name: &'static str,
    tools: u64,
    recovered: u64,
    reasons: &'static [(&'static str, u64)],
    findings: &'static [(&'static str, u64)],
}

const ROWS: [Row; 7] = [
    Row {
        name: "everything",
        tools: 13,
        recovered: 10,
        reasons: &[("not_declared_safe", 3)],
        findings: &[("read-only-name", 1)],
    },
    Row { name: "filesystem", tools: 14, recovered: 12, reasons: &[("not_declared_safe", 2)], findings: &[] },
    Row { name: "memory", tools: 9, recovered: 6, reasons: &[("not_declared_safe", 3)], findings: &[] },
    Row { name: "time", tools: 2, recovered: 2, reasons: &[], findings: &[] },
    Row { name: "git", tools: 12, recovered: 9, reasons: &[("not_declared_safe", 3)], findings: &[] },
    Row { name: "sequential-thinking", tools: 1, recovered: 1, reasons: &[], findings: &[] },
    Row {
        name: "chrome-devtools",
        tools: 32,
        recovered: 8,
        reasons: &[("not_declared_safe", 24)],
        findings: &[("undecided-hints", 24)],
    },
];

fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn findings(report: &Value) -> BTreeMap<String, u64> {
    let of_tools = report["tools"].as_array().unwrap().iter().map(|tool| &tool["findings"]);
    let all = of_tools.chain([&report["findings"]]).flat_map(|findings| findings.as_array().unwrap());
    let mut counts = BTreeMap::new();
    for finding in all {
        *counts.entry(finding["rule"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the servers that tests/real-servers/install installs"]
async fn each_server_is_audited_and_nothing_of_it_is_left() {
    let program = mcp_tool();
    let servers = server::audited();
    assert!(servers.iter().map(|server| server.name).eq(ROWS.iter().map(|row| row.name)));
    for (server, row) in servers.iter().zip(ROWS) {
        let family = Family::new();
        let mut audit = Command::new(&program);
        audit.args(["audit", "--output", "json", "--"]).args(server.command_line());
        let told = audit.envs(server.environment(&family)).stdin(Stdio::null()).output().unwrap();
        assert_eq!((told.status.code(), &*told.stderr), (Some(0), &b""[..]), "{}: {told:?}", row.name);
        let report: Value = serde_json::from_slice(&told.stdout).unwrap();
        let reasons = serde_json::from_value(report["summary"]["reasons"].clone()).unwrap();
        let said =
            (&report["summary"]["tools"], &report["summary"]["replayable"], reasons, findings(&report));
        let expected = (&row.tools.into(), &row.recovered.into(), counts(row.reasons), counts(row.findings));
        assert_eq!(said, expected, "{}", row.name);
        family.all_gone().await;
    }
}
