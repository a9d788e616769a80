use std::{fmt, future::Future, sync::Arc};

use mcp_discovery::CatalogTool;
use mcp_transport::ToolCall;
use replay_policy::Hints;

use crate::{Answer, ToolError, bridge, client::Shared, driver};

/// One tool as its caller saw it. Remembers the definition, not the connection.
///
/// A call through a handle is sent only while the server lists that very definition; otherwise it ends
/// as not executed, `tool_changed`.
#[derive(Clone)]
pub struct ToolHandle {
    shared: Arc<Shared>,
    tool: CatalogTool,
}

impl ToolHandle {
    pub(crate) fn new(shared: Arc<Shared>, tool: CatalogTool) -> Self {
        Self { shared, tool }
    }

    /// The host's name for the server that the tool belongs to.
    pub fn server(&self) -> &str {
        &self.shared.name
    }

    /// The tool's exact name.
    pub fn name(&self) -> &str {
        self.tool.name()
    }

    /// The definition that this handle stands for.
    pub fn definition(&self) -> &CatalogTool {
        &self.tool
    }

    /// The hints as a policy takes them.
    pub fn hints(&self) -> Option<Hints> {
        bridge::policy_hints(self.tool.hints())
    }

    /// A call of this tool, to be given arguments and bounds.
    pub fn to_call(&self) -> ToolCall {
        ToolCall::new(self.name())
    }

    /// Makes one invocation of this tool. The call's name is this tool's, whatever it says.
    ///
    /// # Errors
    ///
    /// As [`Client::call`](crate::Client::call).
    pub fn call(&self, call: ToolCall) -> impl Future<Output = Result<Answer, ToolError>> + Send {
        driver::invoke(&self.shared, call.with_name(self.name()), Some(self.tool.clone()))
    }
}

impl fmt::Debug for ToolHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolHandle").field("server", &self.shared.name).field("tool", &self.tool).finish()
    }
}
