use std::fmt;

use rmcp::model::Tool;
use serde_json::value::RawValue;

/// The place in a listing where the next page begins: opaque, the empty string included.
///
/// (2026-07-28, server/utilities/pagination: clients must treat cursors as opaque.)
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cursor(String);

impl Cursor {
    /// A cursor as the server gave it.
    pub fn new(cursor: impl Into<String>) -> Self {
        Self(cursor.into())
    }

    /// The text to hand back to the server.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor({} bytes)", self.0.len())
    }
}

/// One tool of a listing, as it came: raw JSON, not yet judged.
///
/// Keeping the text lets one malformed tool be set aside without losing the others, and keeps what a
/// typed form would drop.
#[derive(Clone)]
pub struct RawTool(Box<RawValue>);

impl RawTool {
    /// A tool from the JSON value that stood in the listing.
    pub fn new(json: Box<RawValue>) -> Self {
        Self(json)
    }

    /// The JSON text.
    pub fn json(&self) -> &str {
        self.0.get()
    }
}

impl From<&Tool> for RawTool {
    fn from(tool: &Tool) -> Self {
        let json = serde_json::value::to_raw_value(tool);
        Self(json.expect("a tool of rmcp's model has string keys only, so it always serialises"))
    }
}

impl From<Tool> for RawTool {
    fn from(tool: Tool) -> Self {
        Self::from(&tool)
    }
}

impl fmt::Debug for RawTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawTool({} bytes)", self.0.get().len())
    }
}

/// One page of `tools/list`.
#[derive(Clone, Debug, Default)]
pub struct ToolPage {
    /// The tools in the server's order.
    pub tools: Vec<RawTool>,
    /// Where the next page begins; none on the last page.
    pub next: Option<Cursor>,
}

impl ToolPage {
    /// A last page from rmcp's typed tools, for custom transports.
    pub fn of(tools: impl IntoIterator<Item = Tool>) -> Self {
        Self { tools: tools.into_iter().map(RawTool::from).collect(), next: None }
    }

    /// Says where the next page begins.
    #[must_use]
    pub fn with_next(mut self, cursor: impl Into<String>) -> Self {
        self.next = Some(Cursor::new(cursor));
        self
    }
}
