//! Listing over the connection that there is, and replacing it when it is lost.

use std::time::Duration;

use mcp_discovery::{ConnectionId, Discovery, DiscoveryErrorKind, Generation, ListLimits, Reconnect};
use mcp_transport::{ErrorClass, ErrorKind, Fence, ServerIdentity, TransportError};

use crate::server::{Server, Step, page, tool};

#[tokio::test]
async fn a_rebuild_lists_over_an_open_connection_first_and_leaves_it_alone() {
    let server = Server::new();
    server.fence_with(Fence::GroupGone);
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap();
    assert_eq!((stale.generation(), stale.connection()), (Generation::FIRST, ConnectionId::FIRST));
    server.serve(|_| page(&[tool("put"), tool("new")]));

    let fresh = discovery.rebuild(stale.generation()).await.unwrap();
    assert_eq!((fresh.generation(), fresh.connection()), (Generation::FIRST.next(), ConnectionId::FIRST));
    assert_eq!((stale.len(), fresh.len()), (1, 2));
    assert_eq!(fresh.predecessor_fence(), None);
    assert!(std::sync::Arc::ptr_eq(stale.transport(), fresh.transport()));
    assert_eq!(server.log(), ["connect 1", "list 1", "list 1"]);
}

#[tokio::test]
async fn a_rebuild_closes_the_connection_and_makes_another_when_its_listing_is_lost() {
    let server = Server::new();
    server.fence_with(Fence::GroupGone);
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap();
    assert_eq!(stale.predecessor_fence(), None);
    // The connection itself stays open, as over HTTP.
    server.on_list([Step::Fail(TransportError::lost()), Step::Fail(TransportError::lost())]);

    let fresh = discovery.rebuild(stale.generation()).await.unwrap();
    assert!(fresh.generation() > stale.generation());
    assert_eq!(fresh.connection(), ConnectionId::FIRST.next());
    assert_eq!(fresh.predecessor_fence(), Some(Fence::GroupGone));
    assert!(stale.transport().is_closed());
    let expected = ["connect 1", "list 1", "list 1", "list 1", "close 1", "closed 1", "connect 2", "list 2"];
    assert_eq!(server.log(), expected);
    // It spoke of the connection before, once.
    assert_eq!(discovery.refresh().await.unwrap().predecessor_fence(), None);
}

#[tokio::test]
async fn a_connection_known_closed_is_fenced_and_replaced_without_asking_it() {
    for way in ["rebuild", "catalog"] {
        let server = Server::new();
        server.fence_with(Fence::GroupGone);
        let discovery = server.discovery();
        let stale = discovery.catalog().await.unwrap();
        server.link(1).disconnect();
        let fresh = match way {
            "rebuild" => discovery.rebuild(stale.generation()).await.unwrap(),
            _ => discovery.catalog().await.unwrap(),
        };
        assert_eq!(fresh.predecessor_fence(), Some(Fence::GroupGone));
        assert_eq!(server.log(), ["connect 1", "list 1", "close 1", "closed 1", "connect 2", "list 2"]);
    }
}

#[tokio::test]
async fn a_listing_that_fails_in_another_way_leaves_the_connection_alone() {
    let too_large = || Step::Fail(TransportError::reply_too_large());
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap();
    server.on_list([too_large(), too_large()]);
    let error = discovery.rebuild(stale.generation()).await.unwrap_err();
    assert_eq!(error.transport_error().unwrap().kind(), ErrorKind::ReplyTooLarge);
    assert!(!stale.transport().is_closed());

    // Whoever reported it had reason to: the next caller gets a new listing, not the old one.
    let next = discovery.catalog().await.unwrap();
    assert!(next.generation() > stale.generation());
    assert_eq!(next.connection(), stale.connection());
    assert_eq!(server.log(), ["connect 1", "list 1", "list 1", "list 1", "list 1"]);
}

#[tokio::test]
async fn a_limit_leaves_the_present_connection_alone() {
    let server = Server::new();
    let discovery = server.discovery().with_limits(ListLimits::default().with_tools(1));
    let present = discovery.catalog().await.unwrap();
    server.serve(|_| page(&[tool("put"), tool("new")]));
    let error = discovery.refresh().await.unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::TooManyTools);
    assert_eq!(server.log(), ["connect 1", "list 1", "list 1"]);
    // Nobody doubted the present catalog, and it was not replaced by a part of the new one.
    assert!(std::sync::Arc::ptr_eq(&discovery.catalog().await.unwrap(), &present));
}

#[tokio::test]
async fn any_page_that_is_lost_over_the_present_connection_replaces_it() {
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap();
    server.serve(|cursor| match cursor {
        None => page(&[tool("a")]).with_next("1"),
        Some(_) => page(&[tool("b")]),
    });
    server.on_list([Step::Well, Step::Die]);
    let fresh = discovery.rebuild(stale.generation()).await.unwrap();
    assert_eq!((fresh.connection(), fresh.len()), (ConnectionId::FIRST.next(), 2));
}

#[tokio::test]
async fn the_transports_own_classification_decides() {
    let server = Server::new();
    let discovery = server.discovery();
    let stale = discovery.catalog().await.unwrap().generation();
    server.classify_as(ErrorClass::Other);
    server.on_list([Step::Fail(TransportError::lost()), Step::Fail(TransportError::lost())]);
    assert!(discovery.rebuild(stale).await.is_err());
    assert_eq!(server.count("close"), 0);

    server.classify_as(ErrorClass::Connection);
    let rejected = || Step::Fail(TransportError::rejected(-32000));
    server.on_list([rejected(), rejected()]);
    assert_eq!(discovery.rebuild(stale).await.unwrap().connection(), ConnectionId::FIRST.next());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_late_is_tried_six_times_with_growing_pauses() {
    let server = Server::new();
    let refused = || Step::Fail(TransportError::connect("refused"));
    server.on_connect((0..5).map(|_| refused()));
    assert!(server.discovery().catalog().await.is_ok());
    let tries = server.times("connect");
    assert_eq!(tries.len(), 6);
    for (pair, longest) in tries.windows(2).zip([100, 200, 400, 800, 1_600]) {
        let pause = pair[1] - pair[0];
        // The clock's granularity is a millisecond.
        let bounds = Duration::from_millis(longest / 2)..=Duration::from_millis(longest + 1);
        assert!(bounds.contains(&pause), "{pause:?} of {longest} ms");
    }

    let server = Server::new();
    server.on_connect((0..6).map(|_| refused()));
    let error = server.discovery().catalog().await.unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::Connect);
    assert_eq!(error.transport_error().unwrap().kind(), ErrorKind::Connect);
    assert_eq!((server.count("connect"), server.count("list")), (6, 0));
}

#[tokio::test(start_paused = true)]
async fn the_tries_can_be_set() {
    let server = Server::new();
    server.on_connect((0..9).map(|_| Step::Fail(TransportError::connect_timeout())));
    let reconnect = Reconnect::default()
        .with_retries(3)
        .with_base(Duration::from_secs(10))
        .with_cap(Duration::from_secs(15));
    assert!(server.discovery().with_reconnect(reconnect).catalog().await.is_err());
    let tries = server.times("connect");
    assert_eq!(tries.len(), 4);
    let total = tries[3] - tries[0];
    assert!((20..=41).contains(&total.as_secs()), "{total:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_no_further_try_can_mend_ends_the_tries_at_once() {
    for error in [
        TransportError::command_not_found("no such file"),
        TransportError::tls(),
        TransportError::handshake("not MCP"),
        TransportError::rejected(-32602),
        TransportError::unsupported(),
    ] {
        let server = Server::new();
        server.on_connect([Step::Fail(error.clone())]);
        let failed = server.discovery().catalog().await.unwrap_err();
        assert_eq!(failed.kind(), DiscoveryErrorKind::Connect);
        assert_eq!(failed.transport_error().unwrap().kind(), error.kind());
        assert_eq!(server.log(), ["connect 1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_lost_on_its_first_page_is_closed_and_counts_as_a_try() {
    let server = Server::new();
    server.on_list((0..6).map(|_| Step::Die));
    let error = server.discovery().catalog().await.unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::Listing);
    assert_eq!((server.count("connect"), server.count("list"), server.count("close ")), (6, 6, 6));
    assert_eq!(server.open(), 0);

    // A connection that never gave a catalog has no number: the next one is still the first.
    let discovery = server.discovery();
    server.on_list([Step::Die]);
    let catalog = discovery.catalog().await.unwrap();
    assert_eq!(catalog.connection(), ConnectionId::FIRST);
    assert_eq!(catalog.predecessor_fence(), None);
    assert_eq!(server.log()[24..], ["connect 7", "list 7", "close 7", "closed 7", "connect 8", "list 8"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_that_refuses_to_list_ends_the_tries_at_once() {
    let server = Server::new();
    let rejected = || Step::Fail(TransportError::rejected(-32603));
    server.on_list([rejected(), rejected()]);
    let error = server.discovery().catalog().await.unwrap_err();
    assert_eq!(error.transport_error().unwrap().kind(), ErrorKind::Rejected(-32603));
    assert_eq!(server.log(), ["connect 1", "list 1", "list 1", "close 1", "closed 1"]);
}

#[tokio::test]
async fn a_catalog_carries_the_identity_that_its_connection_was_made_for() {
    let identity = |name| ServerIdentity::of([("command", name)]);
    let server = Server::new();
    server.identify_as([identity("old")]);
    let discovery = server.discovery();
    assert_eq!(*discovery.catalog().await.unwrap().identity(), identity("old"));

    // An entry that was edited: the old connection is still to the old server.
    server.identify_as([identity("new")]);
    assert_eq!(*discovery.refresh().await.unwrap().identity(), identity("old"));
    server.link(1).disconnect();
    let fresh = discovery.catalog().await.unwrap();
    assert_eq!(*fresh.identity(), identity("new"));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_made_while_the_configuration_changed_is_not_used() {
    let identity = |name| ServerIdentity::of([("command", name)]);
    let server = Server::new();
    // Asked before and after each connect.
    server.identify_as([identity("old"), identity("new")]);
    let catalog = server.discovery().catalog().await.unwrap();
    assert_eq!(*catalog.identity(), identity("new"));
    assert_eq!(server.log(), ["connect 1", "close 1", "closed 1", "connect 2", "list 2"]);

    let server = Server::new();
    server.identify_as((0..).map(|n| identity(["a", "b"][n % 2])).take(100));
    let error = server.discovery().catalog().await.unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::IdentityChanged);
    assert_eq!((server.count("connect"), server.count("list"), server.open()), (6, 0, 0));
}

#[tokio::test]
async fn debug_tells_the_state_and_no_content() {
    let server = Server::new();
    let discovery = server.discovery();
    assert!(format!("{discovery:?}").contains("present: None"));
    discovery.catalog().await.unwrap();
    let text = format!("{discovery:?}");
    assert!(text.contains("generation: 1") && text.contains("retries: 5"), "{text}");
    assert!(!text.contains("put"), "{text}");
}

#[tokio::test]
async fn a_connector_that_panics_costs_its_callers_an_error_and_nothing_else() {
    let server = Server::new();
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let inner = server.clone();
    let connector = mcp_transport::connector_fn(move || {
        let first = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        let inner = inner.clone();
        async move {
            assert!(!first, "a fault of the connector");
            mcp_transport::Connector::connect(&inner).await
        }
    });
    let discovery = mcp_discovery::PagingDiscovery::new(connector);
    let error = discovery.catalog().await.unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::Stopped);
    assert!(discovery.catalog().await.is_ok());
}
