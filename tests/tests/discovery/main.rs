//! Lists of tools over real processes: long, crooked, broken and changing ones.
#![cfg(target_os = "linux")]

#[path = "../bench/mod.rs"]
mod bench;
mod changes;
mod faults;
mod pages;

use mcp_tool::{PagingDiscovery, StdioConnector, mcp_discovery::Catalog};
use mcp_tool_cli::fault_server::{Era, Record, Scenario};

use bench::Bench;

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

fn discovery(bench: &Bench, scenario: &Scenario) -> PagingDiscovery<StdioConnector> {
    PagingDiscovery::new(bench.connector(scenario))
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.tools().iter().map(|tool| tool.name()).collect()
}

/// The cursors that the server was asked with, in order.
fn cursors(record: &Record) -> Vec<Option<String>> {
    record.lists().into_iter().map(|list| list.cursor).collect()
}

async fn end(discovery: PagingDiscovery<StdioConnector>, bench: &Bench) {
    discovery.close().await;
    bench.all_gone().await;
}
