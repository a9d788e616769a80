//! Hints that nobody chose tool by tool.

use std::collections::HashSet;

use mcp_tool::mcp_discovery::{DeclaredHints, Hint};

use super::{AuditedTool, Finding, Rule, Severity, naming::writing_verb};

pub(super) fn look(tools: &[AuditedTool], findings: &mut Vec<Finding>) {
    serialised_defaults(tools, findings);
    same_hints(tools, findings);
}

/// Go SDKs write these two hints whether or not an author set them, so the second says nothing there. An
/// author who sets it on one tool that only reads has chosen for the others, too.
fn serialised_defaults(tools: &[AuditedTool], findings: &mut Vec<Finding>) {
    const READS: Hint = Hint::Declared(true);
    let annotated: Vec<DeclaredHints> = tools.iter().filter_map(|tool| tool.hints).collect();
    let count = |is: fn(&DeclaredHints) -> bool| annotated.iter().filter(|hints| is(hints)).count();
    let contradict = count(|hints| (hints.read_only, hints.idempotent) == (READS, Hint::Declared(false)));
    let chosen = count(|hints| (hints.read_only, hints.idempotent) == (READS, Hint::Declared(true)));
    let have_both = count(|hints| hints.read_only != Hint::Absent && hints.idempotent != Hint::Absent);
    // Some tools of such a server may be defined without its SDK.
    let nearly_all = have_both * 10 >= annotated.len() * 9;
    if contradict > 0 && chosen == 0 && nearly_all {
        let message = format!(
            "{contradict} {} readOnlyHint: true and idempotentHint: false, and hardly any tool leaves either \
             out: it seems that an SDK serialised its defaults (Go SDKs do), and that no author chose them",
            if contradict == 1 { "tool declares" } else { "tools declare" }
        );
        findings.push(Finding::of_server(Rule::SerialisedDefaults, message));
    }
}

/// Fewer tools than this may well be all of one kind.
const MANY: usize = 5;

fn same_hints(tools: &[AuditedTool], findings: &mut Vec<Finding>) {
    let different: HashSet<Option<DeclaredHints>> = tools.iter().map(|tool| tool.hints).collect();
    let [Some(hints)] = different.into_iter().collect::<Vec<_>>()[..] else { return };
    if tools.len() < MANY || hints == DeclaredHints::default() || hints.is_malformed() {
        return;
    }
    let writing = tools.iter().filter(|tool| writing_verb(&tool.name).is_some()).count();
    let total = tools.len();
    findings.push(if writing == 0 || writing == total {
        Finding::of_server(Rule::SameHints, format!("all {total} tools have the same hints"))
    } else {
        let message = format!(
            "all {total} tools have the same hints, though by their names {writing} write and the others do not"
        );
        Finding::of_server(Rule::SameHints, message).with_severity(Severity::Warning)
    });
}
