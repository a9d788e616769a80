use mcp_tool::rmcp::model::{CallToolResult, JsonObject};

use crate::told;

/// A tool call as a model makes it.
///
/// The server stands beside the tool's name, since two servers may have tools of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    pub server: String,
    pub tool: String,
    pub arguments: JsonObject,
}

impl ModelCall {
    /// A call with the arguments as the model wrote them: JSON, or nothing at all.
    ///
    /// # Errors
    ///
    /// What the model is told when they are no JSON object.
    pub fn new(server: &str, tool: &str, arguments: &str) -> Result<Self, CallToolResult> {
        let arguments = match arguments.trim() {
            "" => JsonObject::new(),
            text => serde_json::from_str(text).map_err(|_| told::no_object())?,
        };
        Ok(Self { server: server.to_owned(), tool: tool.to_owned(), arguments })
    }
}
