use std::{fmt, sync::Arc};

use mcp_transport::{Fence, RawTool, ServerIdentity, Transport, rmcp::model::Tool};

use crate::{CatalogTool, ConnectionId, Generation, Quarantined, Warning, listing::Listing};

/// One generation of a server: its complete list of tools, and the connection that they came from.
///
/// The two never separate: who holds a catalog calls its tools over its [`transport`](Self::transport).
/// A discovery of one's own, or a mock, builds one by hand:
///
/// ```
/// use mcp_discovery::{Catalog, Generation};
/// use mcp_transport::{ScriptedTransport, rmcp::model::Tool};
///
/// let catalog = Catalog::new(Generation::FIRST, ScriptedTransport::new())
///     .with_tool(Tool::new("put", "Stores a value", serde_json::Map::new()));
/// assert!(catalog.tool("put").is_some_and(|tool| tool.hints().is_none()));
/// ```
pub struct Catalog {
    generation: Generation,
    connection: ConnectionId,
    identity: ServerIdentity,
    transport: Arc<dyn Transport>,
    listing: Listing,
    predecessor_fence: Option<Fence>,
}

impl Catalog {
    /// A catalog without tools, on the first connection, to a server of unspecified identity.
    pub fn new(generation: Generation, transport: impl Transport + 'static) -> Self {
        Self::on(Arc::new(transport), generation)
    }

    /// As [`new`](Self::new), over a transport that is shared already.
    pub(crate) fn on(transport: Arc<dyn Transport>, generation: Generation) -> Self {
        Self {
            generation,
            connection: ConnectionId::FIRST,
            identity: ServerIdentity::unspecified(),
            transport,
            listing: Listing::default(),
            predecessor_fence: None,
        }
    }

    /// The number of the connection. Default: the first.
    #[must_use]
    pub fn with_connection(mut self, connection: ConnectionId) -> Self {
        self.connection = connection;
        self
    }

    /// What the connection reaches. Default: unspecified.
    #[must_use]
    pub fn with_identity(mut self, identity: ServerIdentity) -> Self {
        self.identity = identity;
        self
    }

    /// Adds a tool, as if the server had listed it next.
    #[must_use]
    pub fn with_tool(self, tool: Tool) -> Self {
        self.with_raw_tool(RawTool::from(tool))
    }

    /// Adds a tool as it came, as if the server had listed it next; a malformed one is quarantined.
    #[must_use]
    pub fn with_raw_tool(mut self, tool: RawTool) -> Self {
        self.listing.add(tool);
        self
    }

    /// What is known of the connection before this one. Default: nothing.
    #[must_use]
    pub fn with_predecessor_fence(mut self, fence: Fence) -> Self {
        self.predecessor_fence = Some(fence);
        self
    }

    pub(crate) fn with_listing(mut self, listing: Listing) -> Self {
        self.listing = listing;
        self
    }

    /// Which listing this is.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Which connection it came over.
    pub fn connection(&self) -> ConnectionId {
        self.connection
    }

    /// What the connection reaches, as it was configured when the connection was made.
    pub fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    /// The connection.
    pub fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    /// The tool with exactly this name.
    pub fn tool(&self, name: &str) -> Option<&CatalogTool> {
        self.listing.get(name)
    }

    /// The tools, in the server's order.
    pub fn tools(&self) -> &[CatalogTool] {
        self.listing.tools()
    }

    /// How many tools can be called.
    pub fn len(&self) -> usize {
        self.tools().len()
    }

    /// Whether no tool can be called.
    pub fn is_empty(&self) -> bool {
        self.tools().is_empty()
    }

    /// The tools that were set aside, in the server's order.
    pub fn quarantined(&self) -> &[Quarantined] {
        self.listing.quarantined()
    }

    /// What else is odd about the listing.
    pub fn warnings(&self) -> &[Warning] {
        self.listing.warnings()
    }

    /// What is known of the connection before this one's, on the first generation of a connection.
    ///
    /// None when this connection has no predecessor, and on every later generation of it: a listing
    /// over the same connection fences nothing. It speaks of the one connection whose
    /// [`ConnectionId::next`] is this one, not of those before.
    pub fn predecessor_fence(&self) -> Option<Fence> {
        self.predecessor_fence
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("generation", &self.generation.get())
            .field("connection", &self.connection.get())
            .field("tools", &self.len())
            .field("quarantined", &self.quarantined().len())
            .field("warnings", &self.warnings().len())
            .field("predecessor_fence", &self.predecessor_fence)
            .finish_non_exhaustive()
    }
}
