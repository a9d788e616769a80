use std::fmt::Write as _;

use mcp_tool::{
    mcp_discovery::{Hint, ToolName},
    replay_policy::Decision,
};

use super::view::{Known, ServerView, ToolView};
use crate::command::columns;

/// The views for a person. Names are escaped: they are whatever a server chose.
pub(super) fn of(views: &[ServerView]) -> String {
    if views.is_empty() {
        return "no servers are configured\n".into();
    }
    let mut text = String::new();
    for (number, view) in views.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        let name = ToolName::from(view.name.as_str());
        match &view.known {
            Ok(known) => server(&mut text, &name, known),
            Err(failure) => {
                let _ = writeln!(text, "{name}: {}", failure.line());
            }
        }
    }
    text
}

fn server(text: &mut String, name: &ToolName, known: &Known) {
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
