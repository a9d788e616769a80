//! The audit over public servers: the counts that docs/audit.md states.

use std::collections::BTreeMap;

use mcp_tool_cli::audit::{Evidence, Report, Rule, Saved, Severity, audit};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Line {
    server: String,
    tool: String,
    annotations: Value,
}

/// One report for each server, as if it listed nothing but what is known here.
fn reports() -> BTreeMap<String, Report> {
    let mut servers: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in include_str!("data/annotations.jsonl").lines() {
        let Line { server, tool, annotations } = serde_json::from_str(line).unwrap();
        // The data has an empty object for a tool that declares nothing.
        let annotations = Some(annotations).filter(|given| given != &json!({}));
        let tool = json!({ "name": tool, "annotations": annotations, "inputSchema": { "type": "object" } });
        servers.entry(server).or_default().push(tool);
    }
    let report = |tools: Vec<Value>| {
        let saved = Saved::parse(&json!({ "tools": tools }).to_string()).unwrap();
        audit(&Evidence::new(saved.listing))
    };
    servers.into_iter().map(|(server, tools)| (server, report(tools))).collect()
}

/// The rows of the table under this heading, first cell without its backquotes.
fn table(heading: &str) -> Vec<Vec<String>> {
    let document = include_str!("../../../docs/audit.md");
    let section = document.split(&format!("\n{heading}\n")).nth(1).expect(heading);
    let rows = section.lines().skip_while(|line| !line.starts_with('|')).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect())
        .collect()
}

#[test]
fn the_counts_by_verdict_are_those_of_the_document() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for report in reports().values() {
        let summary = report.summary();
        *counts.entry("recovered".into()).or_default() += summary.recovered;
        *counts.entry("all".into()).or_default() += summary.tools;
        for (reason, count) in summary.reasons {
            *counts.entry(reason.into()).or_default() += count;
        }
    }
    let stated = table("### Verdicts").into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap()));
    assert_eq!(stated.collect::<BTreeMap<String, usize>>(), counts);
}

#[test]
fn the_counts_by_rule_are_those_of_the_document() {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for report in reports().values() {
        let mut found: Vec<&str> = report.findings.iter().map(|finding| finding.rule.id()).collect();
        found.iter().for_each(|rule| counts.entry(rule).or_default()[0] += 1);
        found.sort_unstable();
        found.dedup();
        found.iter().for_each(|rule| counts.entry(rule).or_default()[1] += 1);
    }
    let rows = table("### Findings");
    let stated = rows.iter().map(|row| (&*row[0], [1, 2].map(|column| row[column].parse().unwrap())));
    assert_eq!(stated.collect::<BTreeMap<&str, [usize; 2]>>(), counts);
}

#[test]
fn defaults_that_a_go_library_serialised_are_told_from_an_authors_contradictions() {
    let reports = reports();
    let has = |report: &Report, rule: Rule| report.findings.iter().any(|finding| finding.rule == rule);
    let noted: Vec<&str> = reports
        .iter()
        .filter(|(_, report)| has(report, Rule::SerialisedDefaults))
        .map(|(server, _)| &**server)
        .collect();
    for (server, report) in &reports {
        if has(report, Rule::SerialisedDefaults) {
            assert!(has(report, Rule::ContradictoryHints), "{server}");
        }
    }
    assert_eq!(noted, ["github", "slack (korotovsky)", "terraform"]);
}

#[test]
fn every_rule_stands_in_the_document_with_its_severity_and_its_words() {
    let rows = table("## Rules");
    assert_eq!(rows.len(), Rule::ALL.len());
    for (rule, row) in Rule::ALL.into_iter().zip(rows) {
        let words = |text: &str| text.replace('`', "");
        let expected = [rule.id(), rule.severity().word(), &words(rule.summary()), &words(rule.remedy())];
        assert_eq!(row, expected);
    }
}

#[test]
fn severities_are_ordered_by_how_grave_they_are() {
    assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Note);
}
