use mcp_tool_cli::audit::ProcessFacts;

use crate::command::server::Launch;

/// What a server does besides answering is looked at on Unix only: elsewhere its descendants could not be
/// ended with it.
pub(super) async fn watch(_: &Launch) -> Option<ProcessFacts> {
    None
}
