use std::fmt::Write as _;

use mcp_tool::{
    mcp_discovery::{Hint, ToolName},
    replay_policy::Decision,
};

use super::{
    Detail,
    view::{Known, ServerView, ToolView},
};
use crate::command::columns;

/// The views for a person. Names are escaped: they are whatever a server chose. Failures are not among them.
pub(super) fn of(views: &[ServerView], detail: Detail) -> String {
    let mut text = String::new();
    for view in views {
        let Ok(known) = &view.known else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        server(&mut text, &ToolName::from(view.name.as_str()), known, detail);
    }
    text
}

fn server(text: &mut String, name: &ToolName, known: &Known, detail: Detail) {
    let trusted = |trusted| if trusted { "trusted" } else { "not trusted" };
    let _ = writeln!(
        text,
        "{name}: {} tools; server {}, workspace {}",
        known.tools.len(),
        trusted(known.trust.server_trusted()),
        trusted(known.trust.workspace_trusted()),
    );
    if !known.tools.is_empty() {
        let heads = HEADS.map(str::to_owned);
        let lines: Vec<_> = std::iter::once(heads).chain(known.tools.iter().map(row)).collect();
        columns::aligned(text, &lines);
        if !known.trust.is_trusted_server_in_trusted_workspace() {
            let _ = writeln!(text, "  what the hints lead to under trust: --trust-server --trust-workspace");
        }
    }
    if detail == Detail::Schemas {
        known.tools.iter().for_each(|tool| definition(text, tool));
    }
    for tool in &known.set_aside {
        let name = tool.name.as_deref().unwrap_or("without a name");
        let _ = writeln!(text, "  set aside, number {}, {name}: {}", tool.index + 1, tool.reason);
    }
    for warning in &known.warnings {
        let _ = writeln!(text, "  warning: {warning}");
    }
    if known.left_out > 0 {
        let _ = writeln!(text, "  {} left out by the configuration", known.left_out);
    }
}

/// What a tool is for, and what it takes.
fn definition(text: &mut String, tool: &ToolView) {
    let _ = writeln!(text, "\n  {}", ToolName::from(tool.name.as_str()));
    for line in tool.description.iter().flat_map(|description| description.lines()) {
        let _ = writeln!(text, "    {line}");
    }
    let schema = serde_json::to_string_pretty(&tool.input_schema).unwrap_or_default();
    for line in schema.lines() {
        let _ = writeln!(text, "    {line}");
    }
}

const HEADS: [&str; 5] =
    ["TOOL", "READ-ONLY", "DESTRUCTIVE", "IDEMPOTENT", "IF IT MAY HAVE RUN AND THE ANSWER IS LOST"];

fn row(tool: &ToolView) -> [String; 5] {
    let hint = |hint| match hint {
        Hint::Absent => "-",
        Hint::Declared(true) => "true",
        Hint::Declared(false) => "false",
        Hint::Malformed => "wrong type",
    };
    let after_loss = match tool.after_loss {
        Decision::Replay => "sent again".into(),
        Decision::Deny(reason) => format!("unknown: {}", reason.code()),
    };
    [
        ToolName::from(tool.name.as_str()).to_string(),
        hint(tool.hints.read_only).into(),
        hint(tool.hints.destructive).into(),
        hint(tool.hints.idempotent).into(),
        after_loss,
    ]
}
