use std::{collections::HashMap, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use crate::{Catalog, CatalogTool, Generation, ToolName};

/// How the tools of a server differ from those that were told before. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogChange {
    /// The listing that the tools are like now.
    pub generation: Generation,
    /// The tools that are new, in the server's order.
    pub added: Vec<ToolName>,
    /// The tools that are there no more.
    pub removed: Vec<ToolName>,
    /// The tools with another definition, in the server's order, and what is different.
    pub changed: Vec<(ToolName, DefinitionChange)>,
}

/// What is different in the definition of a tool. At least one is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DefinitionChange {
    /// The input schema: what the arguments have to be like.
    pub input_schema: bool,
    /// The output schema.
    pub output_schema: bool,
    /// The annotations, hints above all.
    pub hints: bool,
    /// The description.
    pub description: bool,
    /// Whether the name is [ambiguous](CatalogTool::is_ambiguous).
    pub ambiguity: bool,
}

/// The changes of a server's tools, from the moment of subscribing.
///
/// Whoever reads slowly misses nothing and costs nothing: all changes since the last one that was read are
/// told as one. What was undone meanwhile is not told.
#[derive(Clone, Debug)]
pub struct CatalogChanges {
    listed: watch::Receiver<Option<Listed>>,
    told: Option<Listed>,
    settle: Duration,
}

/// The tools of one listing, without its connection: whoever reads the changes keeps no server running.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    generation: Generation,
    tools: Arc<[CatalogTool]>,
}

impl Listed {
    pub(super) fn of(catalog: &Catalog) -> Self {
        Self { generation: catalog.generation(), tools: catalog.tools().into() }
    }
}

impl CatalogChanges {
    pub(super) fn new(mut listed: watch::Receiver<Option<Listed>>, settle: Duration) -> Self {
        let told = listed.borrow_and_update().clone();
        Self { listed, told, settle }
    }

    /// The next change; none when the server is watched over no more. Safe to cancel.
    ///
    /// A change is told when the tools have been listed and no further listing has come for the settling
    /// time, four times that at the most. Where nothing had been listed before, the first listing is told
    /// as tools that were added.
    pub async fn next(&mut self) -> Option<CatalogChange> {
        loop {
            // Held against what was told rather than what was seen: a wait that was cancelled loses nothing.
            let told = self.told.as_ref().map(|told| told.generation);
            let is_news = |listed: &Option<Listed>| listed.as_ref().map(|listed| listed.generation) > told;
            self.listed.wait_for(is_news).await.ok()?;
            self.settled().await;
            let now = self.listed.borrow_and_update().clone()?;
            let before = self.told.replace(now.clone());
            let before = before.as_ref().map_or(&[][..], |told| &told.tools);
            if let Some(change) = difference(before, &now) {
                return Some(change);
            }
        }
    }

    /// Waits until no further listing has come for a while.
    async fn settled(&mut self) {
        let start = Instant::now();
        let end = start + self.settle * 4;
        let mut quiet = start + self.settle;
        while let Ok(Ok(())) = timeout_at(quiet.min(end), self.listed.changed()).await {
            quiet = Instant::now() + self.settle;
        }
    }
}

/// How a listing differs from these tools; none when it does not.
fn difference(before: &[CatalogTool], now: &Listed) -> Option<CatalogChange> {
    let mut gone: HashMap<&str, &CatalogTool> = before.iter().map(|tool| (tool.name(), tool)).collect();
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    for tool in &*now.tools {
        match gone.remove(tool.name()) {
            None => added.push(tool.tool_name().clone()),
            Some(before) => {
                changed.extend(redefinition(before, tool).map(|change| (tool.tool_name().clone(), change)));
            }
        }
    }
    let removed = before.iter().filter(|tool| gone.contains_key(tool.name()));
    let removed: Vec<_> = removed.map(|tool| tool.tool_name().clone()).collect();
    let is_empty = added.is_empty() && removed.is_empty() && changed.is_empty();
    (!is_empty).then_some(CatalogChange { generation: now.generation, added, removed, changed })
}

fn redefinition(before: &CatalogTool, now: &CatalogTool) -> Option<DefinitionChange> {
    let ambiguity = before.is_ambiguous() != now.is_ambiguous();
    if before.json() == now.json() || before.digest() == now.digest() {
        return ambiguity.then(|| DefinitionChange { ambiguity, ..DefinitionChange::default() });
    }
    let (before, now) = (before.fields(), now.fields());
    Some(DefinitionChange {
        input_schema: differs(&before, &now, "inputSchema"),
        output_schema: differs(&before, &now, "outputSchema"),
        hints: differs(&before, &now, "annotations"),
        description: differs(&before, &now, "description"),
        ambiguity,
    })
}

/// As the digest of a definition sees it: a field that is `null` equals one that is absent.
fn differs(before: &Map<String, Value>, now: &Map<String, Value>, field: &str) -> bool {
    let value = |fields: &Map<String, Value>| fields.get(field).cloned().unwrap_or_default();
    value(before) != value(now)
}
