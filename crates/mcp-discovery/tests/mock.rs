//! The mock, as a downstream crate would use it.

use std::sync::Arc;

use mcp_discovery::{Catalog, Discovery, DiscoveryErrorKind, Generation, MockDiscovery};
use mcp_transport::{MockTransport, rmcp::model::Tool};
use mockall::predicate::eq;

#[tokio::test]
async fn a_mock_hands_out_catalogs_built_by_hand_and_counts() {
    let put = Tool::new("put", "Stores a value", serde_json::Map::new());
    let catalog = Arc::new(Catalog::new(Generation::FIRST, MockTransport::new()).with_tool(put));
    let mut mock = MockDiscovery::new();
    mock.expect_catalog().times(1).return_once(move || Ok(catalog));
    mock.expect_rebuild()
        .with(eq(Generation::FIRST))
        .return_once(|_| Err(DiscoveryErrorKind::Connect.into()));
    mock.expect_suspect().with(eq(Generation::FIRST)).times(1).return_const(());

    let discovery: Arc<dyn Discovery> = Arc::new(mock);
    let catalog = discovery.catalog().await.unwrap();
    assert!(catalog.tool("put").is_some());
    discovery.suspect(catalog.generation());
    let error = discovery.rebuild(catalog.generation()).await.unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::Connect);
}
