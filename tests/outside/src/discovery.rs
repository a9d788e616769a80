//! mcp-discovery alone: what a listing says.

use mcp_discovery::{Discovery, DiscoveryError, Hint};

/// The names of the tools that declare themselves read-only.
///
/// # Errors
///
/// When there is no catalog.
pub async fn read_only_tools(discovery: &dyn Discovery) -> Result<Vec<String>, DiscoveryError> {
    let catalog = discovery.catalog().await?;
    let is_read_only = |hint| hint == Hint::Declared(true);
    let tools = catalog.tools().iter().filter(|tool| tool.hints().is_some_and(|h| is_read_only(h.read_only)));
    Ok(tools.map(|tool| tool.name().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mcp_discovery::{Catalog, DiscoveryErrorKind, Generation, MockDiscovery, PagingDiscovery};
    use mcp_transport::{
        ScriptedTransport, ToolPage, Transport, connector_fn,
        rmcp::model::{JsonObject, Tool, ToolAnnotations},
    };

    use super::*;

    fn tool(name: &'static str, read_only: bool) -> Tool {
        Tool::new(name, "a tool", JsonObject::new())
            .with_annotations(ToolAnnotations::new().read_only(read_only))
    }

    #[tokio::test]
    async fn tools_of_later_pages_count_like_those_of_the_first() {
        let discovery = PagingDiscovery::new(connector_fn(|| async {
            let first = ToolPage::of([tool("get", true), tool("put", false)]).with_next("more");
            let server = ScriptedTransport::new().with_pages([first, ToolPage::of([tool("list", true)])]);
            Ok(Arc::new(server) as Arc<dyn Transport>)
        }));
        assert_eq!(read_only_tools(&discovery).await.unwrap(), ["get", "list"]);
    }

    #[tokio::test]
    async fn our_code_asks_for_the_catalog_once() {
        let catalog = Catalog::new(Generation::FIRST, ScriptedTransport::new()).with_tool(tool("get", true));
        let mut discovery = MockDiscovery::new();
        discovery.expect_catalog().times(1).return_once(move || Ok(Arc::new(catalog)));
        assert_eq!(read_only_tools(&discovery).await.unwrap(), ["get"]);
    }

    #[tokio::test]
    async fn our_code_hands_an_error_on() {
        let mut discovery = MockDiscovery::new();
        discovery.expect_catalog().return_once(|| Err(DiscoveryErrorKind::TooManyPages.into()));
        let error = read_only_tools(&discovery).await.unwrap_err();
        assert_eq!(error.kind(), DiscoveryErrorKind::TooManyPages);
    }
}
