//! What the compiler has to keep true for everybody who builds on the trait.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use mcp_discovery::{
    Catalog, CatalogTool, ConnectionId, Discovery, DiscoveryError, DiscoveryErrorKind, Generation,
    QuarantineReason, Warning,
};
use mcp_transport::{ErrorKind, ScriptedTransport, TransportError};

/// A discovery with one fixed catalog, which counts how often it is doubted.
struct Fixed(Arc<Catalog>, Arc<AtomicUsize>);

#[async_trait::async_trait]
impl Discovery for Fixed {
    async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        Ok(Arc::clone(&self.0))
    }
    async fn rebuild(&self, _: Generation) -> Result<Arc<Catalog>, DiscoveryError> {
        Err(DiscoveryErrorKind::Stopped.into())
    }
    fn suspect(&self, _: Generation) {}
    fn doubt(&self, _: Generation) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

fn fixed() -> Fixed {
    Fixed(Arc::new(Catalog::new(Generation::FIRST, ScriptedTransport::new())), Arc::default())
}

#[tokio::test]
async fn the_trait_is_dyn_compatible_and_forwards_through_pointers() {
    fn generic(discovery: impl Discovery + 'static) -> Arc<dyn Discovery> {
        Arc::new(discovery)
    }
    let fixed = fixed();
    let doubts = Arc::clone(&fixed.1);
    let boxed: Box<dyn Discovery> = Box::new(fixed);
    let discovery = generic(Arc::new(boxed));
    assert!(discovery.catalog().await.unwrap().is_empty());
    assert_eq!(discovery.rebuild(Generation::FIRST).await.unwrap_err().kind(), DiscoveryErrorKind::Stopped);
    discovery.suspect(Generation::FIRST);
    discovery.doubt(Generation::FIRST);
    assert_eq!(doubts.load(Ordering::Relaxed), 1);
}

#[test]
fn values_cross_threads_and_errors_are_small() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<Arc<Catalog>>();
    shared::<CatalogTool>();
    shared::<DiscoveryError>();
    shared::<Warning>();
    assert!(size_of::<DiscoveryError>() <= 48, "{}", size_of::<DiscoveryError>());
}

#[test]
fn numbers_grow() {
    assert_eq!(Generation::FIRST.get(), 1);
    assert!(Generation::FIRST < Generation::FIRST.next());
    assert_eq!(ConnectionId::FIRST.next().get(), 2);
}

#[test]
fn codes_are_unique_and_stable() {
    use DiscoveryErrorKind as Kind;
    use QuarantineReason as Reason;
    let codes = [
        (Kind::Connect.code(), "not_connected"),
        (Kind::Listing.code(), "listing_failed"),
        (Kind::TooManyPages.code(), "too_many_pages"),
        (Kind::TooManyTools.code(), "too_many_tools"),
        (Kind::TooManyBytes.code(), "too_many_bytes"),
        (Kind::TooSlow.code(), "listing_too_slow"),
        (Kind::IdentityChanged.code(), "identity_changed"),
        (Kind::Stopped.code(), "discovery_stopped"),
        (Kind::Parked.code(), "server_parked"),
        (Reason::NotAnObject.code(), "tool_not_an_object"),
        (Reason::NameMissing.code(), "tool_name_missing"),
        (Reason::NameNotAString.code(), "tool_name_not_a_string"),
        (Reason::SchemaMissing.code(), "input_schema_missing"),
        (Reason::SchemaNotAnObject.code(), "input_schema_not_an_object"),
        (Reason::Unreadable.code(), "tool_unreadable"),
        (Warning::NoProgress.code(), "no_progress"),
        (Warning::AmbiguousTool("put".into()).code(), "ambiguous_tool"),
        (Warning::ToolsUnsupported.code(), "tools_unsupported"),
    ];
    let mut seen = std::collections::HashSet::new();
    for (code, expected) in codes {
        assert_eq!(code, expected);
        assert!(seen.insert(code), "{code} stands twice");
    }
}

#[test]
fn an_error_prints_one_level_of_fixed_words_and_hands_on_the_transports_error() {
    let secret = "https://user:hunter2@example.org";
    let error = DiscoveryError::from(TransportError::connect(secret));
    assert_eq!(error.kind(), DiscoveryErrorKind::Connect);
    assert_eq!(error.to_string(), "the server could not be reached");
    let source = error.source().unwrap();
    assert_eq!(source.to_string(), "the server could not be started or reached");
    assert!(source.source().is_none());
    assert!(!format!("{error:?}").contains("hunter2"));
    assert_eq!(error.transport_error().unwrap().kind(), ErrorKind::Connect);

    let lost = DiscoveryError::from(TransportError::lost());
    assert_eq!(lost.kind(), DiscoveryErrorKind::Listing);
    let own = DiscoveryError::from(DiscoveryErrorKind::TooManyTools);
    assert!(own.transport_error().is_none() && own.source().is_none());
}
