use mcp_tool::{ToolCall, ToolHandle, Trust, replay_policy::Decision};
use serde_json::json;

use crate::command::{
    exit::Exit,
    output::{self, Format},
    problem::Problem,
};

/// Shows what would be sent, and what would follow if the answer were lost. The id and `_meta`, which are
/// of one attempt, are left out.
pub(super) fn tell(
    tool: &ToolHandle,
    call: &ToolCall,
    trust: Trust,
    after_loss: Decision,
    output: Format,
) -> Result<Exit, Problem> {
    let arguments = call.arguments().cloned().unwrap_or_default();
    let request =
        json!({ "method": "tools/call", "params": { "name": tool.name(), "arguments": arguments } });
    let reason = match after_loss {
        Decision::Replay => None,
        Decision::Deny(reason) => Some(reason.code()),
    };
    let text = match output {
        Format::Json => format!(
            "{}\n",
            json!({
                "dry_run": true,
                "request": request,
                "trust": { "server": trust.server_trusted(), "workspace": trust.workspace_trusted() },
                "after_loss": { "replay": reason.is_none(), "reason": reason },
            })
        ),
        Format::Text => {
            let pretty = serde_json::to_string_pretty(&request).unwrap_or_default();
            let then = match reason {
                None => "it would be sent again".to_owned(),
                Some(reason) => format!("its outcome would be unknown ({reason})"),
            };
            format!("{pretty}\nnothing was called; if it may have run and its answer were lost, {then}\n")
        }
    };
    output::write(&text)?;
    Ok(Exit::Completed)
}
