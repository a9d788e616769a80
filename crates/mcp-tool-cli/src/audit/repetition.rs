//! Names that are listed more than once.

use mcp_tool::Catalog;

use super::{Evidence, Finding, Rule, Severity};

pub(super) fn look(evidence: &Evidence, catalog: &Catalog, findings: &mut Vec<Finding>) {
    for (name, places) in evidence.listing.names() {
        let (Some(tool), [first, _, ..]) = (catalog.tool(&name), &places[..]) else { continue };
        let times = places.len();
        let found = |message| Finding::at(*first, Some(name.clone()), Rule::DuplicateName, message);
        findings.push(if tool.is_ambiguous() {
            found(format!("listed {times} times with different definitions: nobody knows which one runs"))
        } else {
            found(format!("listed {times} times, with the same definition")).with_severity(Severity::Warning)
        });
    }
}
