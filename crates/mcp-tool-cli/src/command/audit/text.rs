use std::fmt::Write as _;

use mcp_tool::mcp_discovery::{DeclaredHints, Hint, ToolName};
use mcp_tool_cli::audit::{AuditedTool, Finding, Report, Summary};

use crate::command::columns;

/// The report for a person. Names are escaped: they are whatever a server chose.
pub(super) fn of(subject: &str, report: &Report) -> String {
    let mut text = format!("{}: {}\n", ToolName::from(subject), count(report.tools.len(), "tool"));
    if !report.tools.is_empty() {
        let heads = ["TOOL", "HINTS", "A LOST CALL", "REASON", "ADVICE"].map(str::to_owned);
        let lines: Vec<_> = std::iter::once(heads).chain(report.tools.iter().map(row)).collect();
        columns::aligned(&mut text, &lines);
    }
    let counted: Vec<_> = report.findings.iter().filter(|finding| !finding.known).map(line).collect();
    if !counted.is_empty() {
        text.push('\n');
        columns::aligned(&mut text, &counted);
    }
    let _ = writeln!(text, "\n{}", summary(&report.summary()));
    text
}

fn row(tool: &AuditedTool) -> [String; 5] {
    [
        ToolName::from(tool.name.as_str()).to_string(),
        hints(tool.hints),
        if tool.is_recovered() { "recovered" } else { "unknown" }.into(),
        tool.reason().map(|reason| reason.code().to_owned()).unwrap_or_default(),
        tool.advice.map(|advice| advice.text().to_owned()).unwrap_or_default(),
    ]
}

fn line(finding: &Finding) -> [String; 3] {
    let message = match &finding.tool {
        Some(tool) => format!("{}: {}", ToolName::from(tool.as_str()), finding.message),
        None => finding.message.clone(),
    };
    [finding.severity.word().into(), finding.rule.id().into(), message]
}

/// The hints as declared, in the short form that `explain --hints` takes.
pub(super) fn hints(hints: Option<DeclaredHints>) -> String {
    let Some(hints) = hints else { return "-".into() };
    let given =
        [("readOnly", hints.read_only), ("destructive", hints.destructive), ("idempotent", hints.idempotent)];
    let given: Vec<String> = given
        .into_iter()
        .filter_map(|(name, hint)| match hint {
            Hint::Absent => None,
            Hint::Declared(true) => Some(name.to_owned()),
            Hint::Declared(false) => Some(format!("{name}=false")),
            Hint::Malformed => Some(format!("{name}=?")),
        })
        .collect();
    if given.is_empty() { "none".into() } else { given.join(",") }
}

/// The numbers, in one line.
pub(super) fn summary(summary: &Summary) -> String {
    let reasons: Vec<_> = summary.reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    let known = if summary.known == 0 { String::new() } else { format!(", {} known", summary.known) };
    format!(
        "a lost call of {} of {} is recovered under double trust{reasons}; {}, {}, {}{known}",
        summary.recovered,
        count(summary.tools, "tool"),
        count(summary.errors, "error"),
        count(summary.warnings, "warning"),
        count(summary.notes, "note"),
    )
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
