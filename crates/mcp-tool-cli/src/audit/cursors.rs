//! The pages of a list, and how it ends.

use std::collections::HashSet;

use super::{Finding, Listing, ListingEnd, Rule, Severity};

/// The most tools that a list has without being very large: what a request to a language model may
/// commonly carry.
const MANY_TOOLS: usize = 128;
/// The same in bytes.
const MUCH_JSON: usize = 1024 * 1024;

pub(super) fn look(listing: &Listing, findings: &mut Vec<Finding>) {
    let mut seen = HashSet::new();
    let cursors = listing.pages().iter().filter_map(|page| page.next.as_ref());
    let repeated = cursors.filter(|cursor| !seen.insert(*cursor)).count();
    let mut found = |rule, message: String| findings.push(Finding::of_server(rule, message));
    match listing.end() {
        ListingEnd::Circle => {
            found(
                Rule::IgnoredCursor,
                "the cursors lead to tools that were listed before, without end".into(),
            );
        }
        ListingEnd::NotFollowed => {
            found(Rule::IncompleteList, "the list has a nextCursor: there are more tools".into());
        }
        ListingEnd::LastPage | ListingEnd::Limit if repeated > 0 => {
            found(
                Rule::RepeatedCursor,
                "a cursor comes more than once, and means another page each time".into(),
            );
        }
        ListingEnd::LastPage | ListingEnd::Limit => {}
    }
    let (tools, bytes) = (listing.tools().count(), listing.bytes());
    if listing.end() == ListingEnd::Limit {
        let message = format!("the list did not end within {} pages, {tools} tools", listing.pages().len());
        findings.push(Finding::of_server(Rule::VeryLargeList, message).with_severity(Severity::Error));
    } else if tools > MANY_TOOLS || bytes > MUCH_JSON {
        let message = format!("{tools} tools, {} KiB of JSON", bytes.div_ceil(1024));
        findings.push(Finding::of_server(Rule::VeryLargeList, message));
    }
}
