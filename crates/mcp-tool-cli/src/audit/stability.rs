//! Two lists of one server, one after the other.

use mcp_tool::Catalog;

use super::{Evidence, Finding, Rule, catalog};

pub(super) fn look(evidence: &Evidence, first: &Catalog, findings: &mut Vec<Finding>) {
    let Some(second) = &evidence.second else { return };
    let second = catalog(second);
    let names = |catalog: &Catalog| -> Vec<String> {
        catalog.tools().iter().map(|tool| tool.name().to_owned()).collect()
    };
    let (before, after) = (names(first), names(&second));
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    let mut found = |message: String| findings.push(Finding::of_server(Rule::UnstableList, message));
    if sorted(&before) != sorted(&after) {
        found("two lists, one after the other, do not have the same tools".into());
    } else if before != after {
        found("two lists, one after the other, have the tools in another order".into());
    }
    let changed = first
        .tools()
        .iter()
        .filter(|tool| second.tool(tool.name()).is_some_and(|again| again.digest() != tool.digest()));
    match changed.count() {
        0 => {}
        1 => found("two lists, one after the other, define a tool differently".into()),
        count => found(format!("two lists, one after the other, define {count} tools differently")),
    }
}
