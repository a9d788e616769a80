use std::fmt::Write as _;

use mcp_tool::mcp_discovery::ToolName;
use mcp_tool_cli::audit::{AuditedTool, Finding, Report};

use super::text::{hints, summary};

/// The report for a comment on a pull request. Whatever a server chose is escaped.
pub(super) fn of(subject: &str, report: &Report) -> String {
    let mut text = format!("### Lost calls of {}\n\n", code(subject));
    let _ = writeln!(text, "{}.", capital(&escaped(&summary(&report.summary()))));
    let counted: Vec<_> = report.findings.iter().filter(|finding| !finding.known).collect();
    if !counted.is_empty() {
        text.push_str("\n| severity | rule | tool | finding |\n|---|---|---|---|\n");
        counted.iter().for_each(|finding| text.push_str(&line(finding)));
    }
    if !report.tools.is_empty() {
        text.push_str("\n<details><summary>All tools</summary>\n\n");
        text.push_str("| tool | hints | a lost call | reason | advice |\n|---|---|---|---|---|\n");
        report.tools.iter().for_each(|tool| text.push_str(&row(tool)));
        text.push_str("\n</details>\n");
    }
    text
}

fn line(finding: &Finding) -> String {
    format!(
        "| {} | {} | {} | {} |\n",
        finding.severity.word(),
        code(finding.rule.id()),
        finding.tool.as_deref().map(code).unwrap_or_default(),
        escaped(&finding.message),
    )
}

fn row(tool: &AuditedTool) -> String {
    format!(
        "| {} | {} | {} | {} | {} |\n",
        code(&tool.name),
        hints(tool.hints),
        if tool.is_recovered() { "recovered" } else { "unknown" },
        tool.reason().map(|reason| code(reason.code())).unwrap_or_default(),
        tool.advice.map(|advice| escaped(advice.text())).unwrap_or_default(),
    )
}

/// A name as code, in which nothing acts but what ends it.
fn code(name: &str) -> String {
    let name = ToolName::from(name).to_string().replace('|', "\\|");
    // A run of backquotes inside ends with another one of its length only.
    let longest = name.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest == 0 { format!("`{name}`") } else { format!("{fence} {name} {fence}") }
}

/// Text in which nothing acts: neither a link nor a tag, nor somebody's name.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '<' => escaped.push_str("&lt;"),
            '@' => escaped.push_str("&#64;"),
            '|' | '[' | ']' | '*' | '_' | '#' | '\\' | '!' => {
                escaped.push('\\');
                escaped.push(char);
            }
            char => escaped.push(char),
        }
    }
    escaped
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_server_chose_acts() {
        assert_eq!(code("put"), "`put`");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("a`<img>`"), "`` a`<img>` ``");
        assert_eq!(escaped("<a> [x](y) @you a_b"), "&lt;a> \\[x\\](y) &#64;you a\\_b");
    }
}
