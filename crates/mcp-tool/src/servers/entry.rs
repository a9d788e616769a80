use std::{fmt, sync::Arc};

use mcp_discovery::ToolFilter;
use mcp_transport::Connector;

/// One server of a [`Servers`](crate::Servers): its name, how it is reached, and which of its tools are
/// wanted.
///
/// The name is the host's own. Together with a tool's exact name it addresses the tool; two servers may
/// list tools of the same name.
#[derive(Clone)]
pub struct ServerEntry {
    pub(super) name: Arc<str>,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) filter: ToolFilter,
    settings: Option<Arc<str>>,
}

impl ServerEntry {
    /// The server of this name, reached by this connector, with all its tools.
    pub fn new(name: impl Into<Arc<str>>, connector: impl Connector + 'static) -> Self {
        Self { name: name.into(), connector: Arc::new(connector), filter: ToolFilter::all(), settings: None }
    }

    /// Which tools are wanted. Default: all.
    #[must_use]
    pub fn with_filter(mut self, filter: ToolFilter) -> Self {
        self.filter = filter;
        self
    }

    /// What the connector was made from (the text of a configuration, say), to tell an entry that was
    /// edited from one that was not. Never printed. Default: none, and the connector's
    /// [identity](mcp_transport::Connector::identity) alone tells, which does not know of the values of
    /// environment variables and headers.
    #[must_use]
    pub fn with_settings(mut self, settings: impl Into<Arc<str>>) -> Self {
        self.settings = Some(settings.into());
        self
    }

    pub(super) fn reaches_as(&self, other: &Self) -> bool {
        self.settings == other.settings && self.connector.identity() == other.connector.identity()
    }
}

impl fmt::Debug for ServerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerEntry")
            .field("name", &self.name)
            .field("identity", &self.connector.identity())
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}
