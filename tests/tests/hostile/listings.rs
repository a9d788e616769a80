//! Servers whose list of tools is the weapon.

use std::{
    fs,
    time::{Duration, Instant},
};

use mcp_tool::{Client, DiscoveryError, PagingDiscovery, Reason, mcp_discovery::ListLimits};
use tokio::time::sleep;

use crate::{
    alone::alone,
    stdio::{call, client, server},
};

fn limited(what: &str) -> Client {
    let limits = ListLimits::default().with_time(Duration::from_secs(20));
    Client::with_discovery("hostile", PagingDiscovery::new(server(what)).with_limits(limits)).build()
}

async fn refused(what: &str) -> DiscoveryError {
    let before = Instant::now();
    let error = limited(what).catalog().await.unwrap_err();
    assert!(before.elapsed() < Duration::from_secs(60), "{:?}", before.elapsed());
    error
}

#[test]
fn tools_of_nesting_without_end_are_set_aside() {
    alone("listings::tools_of_nesting_without_end_are_set_aside", 24, async || {
        let client = client(server("deep_tools"));
        let catalog = client.catalog().await.unwrap();
        assert_eq!((catalog.len(), catalog.quarantined().len()), (1, 4));
        drop(catalog);
    });
}

#[test]
fn a_hundred_thousand_tools_are_listed_and_one_more_is_too_many() {
    alone("listings::a_hundred_thousand_tools_are_listed_and_one_more_is_too_many", 160, async || {
        assert_eq!(limited("many_tools").catalog().await.unwrap().len(), 100_000);
        assert_eq!(refused("too_many_tools").await.kind().code(), "too_many_tools");
    });
}

#[test]
fn names_of_a_mebibyte_cost_no_time() {
    alone("listings::names_of_a_mebibyte_cost_no_time", 160, async || {
        let before = Instant::now();
        let client = client(server("long_names"));
        let catalog = client.catalog().await.unwrap();
        let text = format!("{catalog:?} {:?}", catalog.tools());
        assert!(text.len() < 1 << 16, "{}", text.len());
        for tool in client.tools().await.unwrap() {
            assert!(format!("{tool:?}").len() < 1 << 12);
        }
        assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
    });
}

#[test]
fn cursors_count_among_the_bytes_of_a_listing() {
    alone("listings::cursors_count_among_the_bytes_of_a_listing", 256, async || {
        assert_eq!(refused("long_cursors").await.kind().code(), "too_many_bytes");
    });
}

#[test]
fn pages_without_end_are_given_up() {
    alone("listings::pages_without_end_are_given_up", 48, async || {
        assert_eq!(refused("pages_without_end").await.kind().code(), "too_many_pages");
        assert_eq!(refused("empty_pages_without_end").await.kind().code(), "too_many_pages");
        assert_eq!(limited("one_page_without_end").catalog().await.unwrap().len(), 1);
    });
}

#[test]
fn a_schema_of_small_values_by_the_million_costs_what_a_page_can_hold() {
    alone("listings::a_schema_of_small_values_by_the_million_costs_what_a_page_can_hold", 768, async || {
        let client = client(server("wide_tools"));
        for tool in client.tools().await.unwrap() {
            drop(tool.definition().definition());
        }
    });
}

/// A server that lists again when it is told to, and tells so after each listing, would keep both busy.
#[test]
fn a_server_that_changes_with_each_listing_is_not_listed_in_a_hurry() {
    alone("listings::a_server_that_changes_with_each_listing_is_not_listed_in_a_hurry", 24, async || {
        let client = client(server("list_changed_after_each_listing"));
        let first = client.catalog().await.unwrap().generation().get();
        sleep(Duration::from_secs(5)).await;
        let listed = client.catalog().await.unwrap().generation().get() - first;
        println!("listed {listed} times");
        assert!(listed < 50, "{listed}");
    });
}

/// The hints of each listing are others, and a call dies with its server after it ran.
#[test]
fn hints_that_flip_with_each_listing_let_nothing_run_twice() {
    alone("listings::hints_that_flip_with_each_listing_let_nothing_run_twice", 24, async || {
        for (what, reason) in
            [("flips_to_unsafe", "not_declared_safe"), ("flips_to_safe", "not_declared_safe")]
        {
            let folder = tempfile::tempdir().unwrap();
            let ledger = folder.path().join("runs");
            let client = client(server(what).arg(&ledger));
            let error = call(&client).await.unwrap_err();
            assert!(matches!(error.reason(), Reason::Denied(_)), "{what}: {:?}", error.reason());
            assert_eq!(error.reason().code(), reason, "{what}");
            let ledger = fs::read_to_string(ledger).unwrap();
            assert_eq!(ledger.matches("run").count(), 1, "{what}: {ledger}");
        }
    });
}
