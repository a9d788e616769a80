//! How the tools of a server change, told to whoever listens.

use std::time::Duration;

use futures_util::FutureExt;
use mcp_discovery::{CatalogChange, CatalogChanges, DefinitionChange, SupervisedDiscovery, ToolName};
use mcp_transport::{Event, RawTool};
use tokio::time::{Instant, sleep, timeout};

use crate::server::{AGES, Server, replaced, tool};

fn names<const N: usize>(names: [&str; N]) -> Vec<ToolName> {
    names.map(|name| ToolName::from(name.to_owned())).to_vec()
}

async fn next(changes: &mut CatalogChanges) -> CatalogChange {
    timeout(AGES, changes.next()).await.expect("a change").expect("the server is watched over")
}

async fn nothing(changes: &mut CatalogChanges) {
    assert!(timeout(AGES, changes.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_is_added_removed_and_changed_is_told_after_a_refresh() {
    let server = Server::new();
    server.tools([tool("a", "{}"), tool("b", "{}"), tool("c", "{}")]);
    let discovery = SupervisedDiscovery::new(server.clone());
    let mut all = discovery.changes();
    discovery.connect().await.unwrap();
    let mut changes = discovery.changes();
    let first = next(&mut all).await;
    assert_eq!((first.added, first.removed, first.changed), (names(["a", "b", "c"]), vec![], vec![]));

    server.tools([tool("d", "{}"), tool("c", r#"{"description":"x"}"#), tool("a", "{}"), tool("e", "{}")]);
    let generation = discovery.refresh().await.unwrap().generation();
    let described = DefinitionChange { description: true, ..DefinitionChange::default() };
    for changes in [&mut all, &mut changes] {
        let change = next(changes).await;
        assert_eq!(change.generation, generation);
        assert_eq!((change.added, change.removed), (names(["d", "e"]), names(["b"])));
        assert_eq!(change.changed, [(names(["c"])[0].clone(), described)]);
        nothing(changes).await;
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_told_what_of_a_definition_changed() {
    let what = |input_schema, output_schema, hints, description| DefinitionChange {
        input_schema,
        output_schema,
        hints,
        description,
        ambiguity: false,
    };
    let whole = r#"{"description":"x","outputSchema":{},"annotations":{"readOnlyHint":true}}"#;
    let rows = [
        ("{}", r#"{"inputSchema":{"type":"object","required":["x"]}}"#, what(true, false, false, false)),
        ("{}", r#"{"outputSchema":{}}"#, what(false, true, false, false)),
        ("{}", r#"{"annotations":{"readOnlyHint":true}}"#, what(false, false, true, false)),
        (r#"{"annotations":{"readOnlyHint":true}}"#, "{}", what(false, false, true, false)),
        (r#"{"description":"x"}"#, r#"{"description":"y"}"#, what(false, false, false, true)),
        ("{}", whole, what(false, true, true, true)),
    ];
    for (before, after, expected) in rows {
        let server = Server::new();
        server.tools([tool("put", before)]);
        let discovery = SupervisedDiscovery::new(server.clone());
        discovery.connect().await.unwrap();
        let mut changes = discovery.changes();
        server.tools([tool("put", after)]);
        discovery.refresh().await.unwrap();
        let change = next(&mut changes).await;
        assert_eq!(change.changed, [(names(["put"])[0].clone(), expected)], "{before} {after}");
        assert!(change.added.is_empty() && change.removed.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_has_become_ambiguous_is_a_change() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    let mut changes = discovery.changes();
    server.tools([tool("put", "{}"), tool("put", r#"{"description":"another"}"#)]);
    discovery.refresh().await.unwrap();
    let ambiguous = DefinitionChange { ambiguity: true, ..DefinitionChange::default() };
    assert_eq!(next(&mut changes).await.changed, [(names(["put"])[0].clone(), ambiguous)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_only_written_differently_is_no_change() {
    let raw = |json: &str| RawTool::new(serde_json::from_str(json).unwrap());
    let server = Server::new();
    server.tools([raw(r#"{"name":"put","inputSchema":{"type":"object","required":[]},"description":null}"#)]);
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    let mut changes = discovery.changes();
    server.tools([raw(r#"{ "inputSchema": {"required":[],"type":"obj\u0065ct"}, "name": "put"}"#)]);
    discovery.refresh().await.unwrap();
    nothing(&mut changes).await;
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_list_changed_is_one_listing_and_one_change() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    let mut changes = discovery.changes();
    for number in 0..20 {
        server.tools((0..=number).map(|number| tool(&format!("t{number}"), "{}")));
        server.link().tell(Event::ToolsChanged);
        sleep(Duration::from_millis(10)).await;
    }
    let change = next(&mut changes).await;
    assert_eq!((change.added.len(), change.removed), (20, names(["put"])));
    assert_eq!(server.lists(), 2);
    nothing(&mut changes).await;
}

#[tokio::test(start_paused = true)]
async fn changes_without_end_are_told_all_the_same() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    let mut changes = discovery.changes();
    let teller = server.clone();
    let telling = tokio::spawn(async move {
        for number in 0.. {
            teller.tools([tool(&format!("t{number}"), "{}")]);
            teller.link().tell(Event::ToolsChanged);
            sleep(Duration::from_millis(10)).await;
        }
    });
    let begun = Instant::now();
    for _ in 0..10 {
        let change = next(&mut changes).await;
        assert_eq!((change.added.len(), change.removed.len()), (1, 1));
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    telling.abort();
}

#[tokio::test(start_paused = true)]
async fn listings_without_end_put_off_a_change_only_for_a_while() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    let mut changes = discovery.changes();
    let (teller, listing) = (server.clone(), discovery.clone());
    let telling = tokio::spawn(async move {
        for number in 0.. {
            teller.tools([tool(&format!("t{number}"), "{}")]);
            listing.refresh().await.unwrap();
            sleep(Duration::from_millis(100)).await;
        }
    });
    let begun = Instant::now();
    next(&mut changes).await;
    let took = begun.elapsed();
    assert!((1_000..=1_100).contains(&took.as_millis()), "{took:?}");
    telling.abort();
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_brings_the_same_tools_is_no_change_and_one_with_others_is() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    let first = discovery.connect().await.unwrap();
    let mut changes = discovery.changes();
    sleep(AGES).await;
    server.link().end();
    let status = replaced(&discovery, first.connection()).await;
    nothing(&mut changes).await;

    server.tools([tool("put", "{}"), tool("get", "{}")]);
    server.link().end();
    replaced(&discovery, status.connection.unwrap()).await;
    assert_eq!(next(&mut changes).await.added, names(["get"]));
}

#[tokio::test(start_paused = true)]
async fn whoever_reads_slowly_gets_all_differences_as_one() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    let mut changes = discovery.changes();
    for name in ["one", "two", "three"] {
        server.tools([tool(name, "{}")]);
        discovery.refresh().await.unwrap();
        sleep(AGES).await;
    }
    let change = next(&mut changes).await;
    assert_eq!((change.added, change.removed), (names(["three"]), names(["put"])));
    nothing(&mut changes).await;
    // What was undone meanwhile is not told.
    server.tools([]);
    discovery.refresh().await.unwrap();
    server.tools([tool("three", "{}")]);
    discovery.refresh().await.unwrap();
    nothing(&mut changes).await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_was_cancelled_loses_no_change() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    let mut changes = discovery.changes();
    server.tools([]);
    discovery.refresh().await.unwrap();
    assert!(Box::pin(changes.next()).now_or_never().is_none());
    assert!(timeout(Duration::from_millis(100), changes.next()).await.is_err());
    assert_eq!(next(&mut changes).await.removed, names(["put"]));
}

#[tokio::test(start_paused = true)]
async fn the_changes_end_with_the_server_and_keep_nothing_running() {
    let server = Server::new();
    let discovery = SupervisedDiscovery::new(server.clone());
    discovery.connect().await.unwrap();
    let mut changes = discovery.changes();
    drop(discovery);
    assert_eq!(changes.next().await, None);
    assert_eq!(server.open(), 0);
}
