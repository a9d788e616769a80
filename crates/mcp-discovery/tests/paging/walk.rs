//! Following the pages of one listing.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use mcp_discovery::{CatalogTool, Discovery, DiscoveryErrorKind, Hint, ListLimits, Warning};
use mcp_transport::{ErrorKind, ToolPage, TransportError};
use tokio::time::Instant;

use crate::server::{Server, Step, page, raw, tool};

/// The number in a cursor; the first page is 0.
fn number(cursor: Option<&str>) -> usize {
    cursor.map_or(0, |cursor| cursor.parse().unwrap())
}

/// Pages without end, each with one tool that is new.
fn endless(cursor: Option<&str>) -> ToolPage {
    let number = number(cursor);
    page(&[tool(&format!("t{number}"))]).with_next((number + 1).to_string())
}

/// Ten pages with one tool each.
fn ten_pages(cursor: Option<&str>) -> ToolPage {
    let number = number(cursor);
    let last = page(&[tool(&format!("t{number}"))]);
    if number == 9 { last } else { last.with_next((number + 1).to_string()) }
}

#[tokio::test]
async fn tools_that_the_host_does_not_want_are_not_listed_from_the_next_listing_on() {
    use mcp_discovery::ToolFilter;
    let server = Server::new();
    server.serve(|_| page(&[tool("a"), tool("b"), tool("c")]));
    let discovery = server.discovery();
    let names = async || {
        let catalog = discovery.refresh().await.unwrap();
        let names: Vec<_> = catalog.tools().iter().map(|tool| tool.name().to_owned()).collect();
        assert!(names.iter().all(|name| catalog.tool(name).is_some_and(|tool| tool.name() == name)));
        assert!(
            ["a", "b", "c"]
                .iter()
                .all(|name| names.contains(&(*name).into()) == catalog.tool(name).is_some())
        );
        names
    };
    discovery.clone().set_filter(ToolFilter::all().including(["c", "b", "none"]));
    assert_eq!(names().await, ["b", "c"]);
    discovery.set_filter(ToolFilter::all().including(["a", "b"]).excluding(["a"]));
    assert_eq!(names().await, ["b"]);
    discovery.set_filter(ToolFilter::all());
    assert_eq!(names().await, ["a", "b", "c"]);
}

#[tokio::test]
async fn hints_of_page_seven_count_like_those_of_page_one() {
    let server = Server::new();
    server.serve(|cursor| {
        let number = number(cursor);
        let json =
            format!(r#"{{"name":"t{number}","inputSchema":{{}},"annotations":{{"idempotentHint":true}}}}"#);
        let last = page(&[raw(&json)]);
        if number == 6 { last } else { last.with_next((number + 1).to_string()) }
    });
    let catalog = server.discovery().catalog().await.unwrap();
    assert_eq!(catalog.len(), 7);
    for tool in catalog.tools() {
        assert_eq!(tool.hints().unwrap().idempotent, Hint::Declared(true), "{tool:?}");
    }
}

#[tokio::test]
async fn ten_thousand_tools_come_in_a_hundred_pages_in_the_servers_order() {
    let server = Server::new();
    server.serve(|cursor| {
        let number = number(cursor);
        let tools: Vec<_> = (0..100).map(|i| tool(&format!("t{}", number * 100 + i))).collect();
        let last = page(&tools);
        if number == 99 { last } else { last.with_next((number + 1).to_string()) }
    });
    let catalog = server.discovery().catalog().await.unwrap();
    assert_eq!(server.count("list"), 100);
    assert_eq!(catalog.len(), 10_000);
    for (place, tool) in catalog.tools().iter().enumerate() {
        assert_eq!(tool.name(), format!("t{place}"));
    }
    assert!(catalog.warnings().is_empty());
}

#[tokio::test]
async fn the_same_page_behind_a_constant_cursor_ends_with_a_warning_after_two_requests() {
    let server = Server::new();
    server.serve(|_| page(&[tool("put")]).with_next("again"));
    let catalog = server.discovery().catalog().await.unwrap();
    assert_eq!(server.count("list"), 2);
    assert_eq!(catalog.tools().iter().map(CatalogTool::name).collect::<Vec<_>>(), ["put"]);
    assert_eq!(catalog.warnings(), [Warning::NoProgress]);
}

#[tokio::test]
async fn pages_that_lead_in_a_long_circle_end_with_a_warning_once_nothing_is_new() {
    let server = Server::new();
    server.serve(|cursor| {
        let number = number(cursor) % 3;
        page(&[tool(&format!("t{number}"))]).with_next((number + 1).to_string())
    });
    let catalog = server.discovery().catalog().await.unwrap();
    assert_eq!((catalog.len(), server.count("list")), (3, 4));
    assert_eq!(catalog.warnings(), [Warning::NoProgress]);
}

#[tokio::test]
async fn a_repeated_cursor_is_followed_as_long_as_it_brings_something_new() {
    let server = Server::new();
    let asked = AtomicUsize::new(0);
    server.serve(move |_| {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        let last = page(&[tool(&format!("t{number}"))]);
        if number == 4 { last } else { last.with_next("same") }
    });
    let catalog = server.discovery().catalog().await.unwrap();
    assert_eq!((catalog.len(), server.count("list")), (5, 5));
    assert!(catalog.warnings().is_empty());
}

#[tokio::test]
async fn the_empty_string_is_a_cursor_like_any_other() {
    let server = Server::new();
    server.serve(|cursor| match cursor {
        None => page(&[tool("a")]).with_next(""),
        Some("") => page(&[tool("b")]),
        Some(_) => unreachable!(),
    });
    let catalog = server.discovery().catalog().await.unwrap();
    assert_eq!(server.cursors(), [None, Some(String::new())]);
    assert_eq!(catalog.len(), 2);
    assert!(catalog.warnings().is_empty());
}

#[tokio::test]
async fn empty_pages_are_followed_while_their_cursors_are_new() {
    let server = Server::new();
    server.serve(|cursor| match number(cursor) {
        5 => page(&[tool("put")]),
        number => page(&[]).with_next((number + 1).to_string()),
    });
    let catalog = server.discovery().catalog().await.unwrap();
    assert!(catalog.tool("put").is_some());
    assert!(catalog.warnings().is_empty());
}

#[tokio::test]
async fn a_walk_without_end_stops_at_each_limit_after_a_bounded_number_of_requests() {
    use DiscoveryErrorKind as Kind;
    let bytes = tool("t0").json().len();
    let rows = [
        (ListLimits::default().with_pages(7), Kind::TooManyPages, 7),
        (ListLimits::default().with_tools(5), Kind::TooManyTools, 6),
        // Each page costs a tool and a cursor of one byte.
        (ListLimits::default().with_bytes(4 * (bytes + 1)), Kind::TooManyBytes, 5),
        (ListLimits::default().with_bytes(4 * (bytes + 1) - 1), Kind::TooManyBytes, 4),
        (ListLimits::default().with_pages(0), Kind::TooManyPages, 0),
        (ListLimits::default(), Kind::TooManyPages, 1_000),
    ];
    for (limits, kind, requests) in rows {
        let server = Server::new();
        server.serve(endless);
        let error = server.discovery().with_limits(limits).catalog().await.unwrap_err();
        assert_eq!((error.kind(), server.count("list")), (kind, requests), "{limits:?}");
        assert!(error.transport_error().is_none());
        // A limit is no loss: nobody reconnects, and nothing is left open.
        assert_eq!((server.count("connect"), server.open()), (1, 0), "{limits:?}");
    }
}

#[tokio::test]
async fn a_listing_of_exactly_the_limits_is_taken() {
    let server = Server::new();
    server.serve(ten_pages);
    let bytes = 10 * tool("t0").json().len() + 9;
    let limits = ListLimits::default().with_pages(10).with_tools(10).with_bytes(bytes);
    assert_eq!(server.discovery().with_limits(limits).catalog().await.unwrap().len(), 10);
}

#[tokio::test]
async fn cursors_alone_cannot_use_up_the_memory() {
    let server = Server::new();
    server.serve(|cursor| page(&[]).with_next(format!("{}x", cursor.unwrap_or_default())));
    let limits = ListLimits::default().with_bytes(1 + 2 + 3 + 4);
    let error = server.discovery().with_limits(limits).catalog().await.unwrap_err();
    assert_eq!((error.kind(), server.count("list")), (DiscoveryErrorKind::TooManyBytes, 5));
}

#[tokio::test]
async fn repeated_and_malformed_tools_count_against_the_limit() {
    let server = Server::new();
    server.serve(|_| page(&[tool("put"), tool("put"), raw("7")]));
    let limits = ListLimits::default().with_tools(2);
    let error = server.discovery().with_limits(limits).catalog().await.unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::TooManyTools);
}

#[tokio::test(start_paused = true)]
async fn a_slow_walk_ends_by_the_time_over_all_pages() {
    let server = Server::new();
    server.serve(endless);
    server.on_list((0..100).map(|_| Step::Slow(Duration::from_secs(7))));
    let start = Instant::now();
    let error = server.discovery().catalog().await.unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::TooSlow);
    assert_eq!(start.elapsed().as_secs(), 60);
    assert_eq!((server.count("list"), server.count("connect")), (9, 1));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_hangs_is_asked_for_twice() {
    let server = Server::new();
    server.on_list([Step::Hang]);
    let start = Instant::now();
    assert!(server.discovery().catalog().await.is_ok());
    assert_eq!((start.elapsed().as_secs(), server.count("list")), (30, 2));

    let server = Server::new();
    server.on_list([Step::Hang, Step::Hang]);
    let limits = ListLimits::default().with_page_time(Duration::from_secs(5));
    let start = Instant::now();
    let error = server.discovery().with_limits(limits).catalog().await.unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::TooSlow);
    assert_eq!((start.elapsed().as_secs(), server.count("list")), (10, 2));
}

#[tokio::test]
async fn a_page_that_fails_once_is_asked_for_again_with_the_same_cursor() {
    for error in [TransportError::lost(), TransportError::rejected(-32603)] {
        let server = Server::new();
        server.serve(ten_pages);
        server.on_list([Step::Well, Step::Well, Step::Fail(error)]);
        let catalog = server.discovery().catalog().await.unwrap();
        assert_eq!(catalog.len(), 10);
        assert_eq!(server.cursors()[1..5], ["1", "2", "2", "3"].map(|cursor| Some(cursor.to_owned())));
        assert_eq!(server.count("connect"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_that_fails_twice_fails_the_walk_rather_than_leaving_a_partial_list() {
    for error in [TransportError::lost(), TransportError::rejected(-32603)] {
        let server = Server::new();
        server.serve(ten_pages);
        server.on_list([Step::Well, Step::Well, Step::Fail(error.clone()), Step::Fail(error.clone())]);
        let failed = server.discovery().catalog().await.unwrap_err();
        assert_eq!(failed.kind(), DiscoveryErrorKind::Listing);
        assert_eq!(failed.transport_error().unwrap().kind(), error.kind());
        // Only a first page is worth another connection.
        assert_eq!(
            server.log(),
            ["connect 1", "list 1", "list 1", "list 1", "list 1", "close 1", "closed 1"]
        );
    }
}

#[tokio::test]
async fn a_page_is_not_asked_for_again_over_a_connection_that_ended() {
    let server = Server::new();
    server.serve(ten_pages);
    server.on_list([Step::Well, Step::Die]);
    let failed = server.discovery().catalog().await.unwrap_err();
    assert_eq!(failed.transport_error().unwrap().kind(), ErrorKind::Lost);
    assert_eq!(server.count("list"), 2);
}

#[tokio::test]
async fn a_server_that_does_not_know_tools_list_has_no_tools() {
    let server = Server::new();
    server.on_list([Step::Fail(TransportError::rejected(-32601))]);
    let catalog = server.discovery().catalog().await.unwrap();
    assert!(catalog.is_empty());
    assert_eq!(catalog.warnings(), [Warning::ToolsUnsupported]);
    assert_eq!(server.log(), ["connect 1", "list 1"]);
}

#[tokio::test]
async fn a_server_that_forgets_tools_list_in_mid_walk_fails_it() {
    let server = Server::new();
    server.serve(ten_pages);
    server.on_list([Step::Well, Step::Fail(TransportError::rejected(-32601))]);
    let failed = server.discovery().catalog().await.unwrap_err();
    assert_eq!(failed.transport_error().unwrap().kind(), ErrorKind::Rejected(-32601));
}

#[tokio::test]
async fn malformed_tools_are_set_aside_over_all_pages_and_the_others_live() {
    let server = Server::new();
    server.serve(|cursor| match number(cursor) {
        0 => page(&[tool("a"), raw("7"), tool("b")]).with_next("1"),
        1 => page(&[raw(r#"{"name":"c"}"#), tool("d")]).with_next("2"),
        _ => page(&[raw(r#"{"name":"e","inputSchema":{},"annotations":{"readOnlyHint":"yes"}}"#)]),
    });
    let catalog = server.discovery().catalog().await.unwrap();
    assert_eq!(catalog.tools().iter().map(CatalogTool::name).collect::<Vec<_>>(), ["a", "b", "d", "e"]);
    let aside: Vec<_> =
        catalog.quarantined().iter().map(|tool| (tool.index(), tool.reason().code())).collect();
    assert_eq!(aside, [(1, "tool_not_an_object"), (3, "input_schema_missing")]);
    assert!(catalog.tool("e").unwrap().hints().unwrap().is_malformed());
}

#[tokio::test]
async fn names_that_come_again_on_another_page_merge_or_become_ambiguous() {
    let server = Server::new();
    server.serve(|cursor| match number(cursor) {
        0 => page(&[tool("same"), tool("differs")]).with_next("1"),
        _ => page(&[tool("same"), raw(r#"{"name":"differs","inputSchema":{}}"#)]),
    });
    let catalog = server.discovery().catalog().await.unwrap();
    assert_eq!(catalog.len(), 2);
    assert!(!catalog.tool("same").unwrap().is_ambiguous());
    assert!(catalog.tool("differs").unwrap().is_ambiguous());
    assert_eq!(catalog.warnings(), [Warning::AmbiguousTool("differs".into())]);
}
