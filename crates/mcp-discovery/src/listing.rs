use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use mcp_transport::RawTool;

use crate::{CatalogTool, Quarantined, ToolFilter, ToolName};

/// Something about a listing that somebody should know, and that did not make it fail.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The server's pages led in a circle; the listing was ended there.
    NoProgress,
    /// The server listed this name more than once with different definitions.
    AmbiguousTool(ToolName),
    /// The server does not know `tools/list` (JSON-RPC error -32601): it has no tools.
    ToolsUnsupported,
}

impl Warning {
    /// The stable snake_case code of this warning, for logs and metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProgress => "no_progress",
            Self::AmbiguousTool(_) => "ambiguous_tool",
            Self::ToolsUnsupported => "tools_unsupported",
        }
    }
}

/// The tools of a listing as they are collected: merged, judged, in the server's order.
#[derive(Default)]
pub(crate) struct Listing {
    tools: Vec<CatalogTool>,
    index: HashMap<Arc<str>, usize>,
    quarantined: Vec<Quarantined>,
    quarantined_names: HashSet<ToolName>,
    warnings: Vec<Warning>,
    /// How many tools the server listed, whatever became of them.
    listed: usize,
}

impl Listing {
    /// Takes the next tool of the listing, and says whether that brought a tool not known before.
    pub(crate) fn add(&mut self, raw: RawTool) -> bool {
        let index = self.listed;
        self.listed += 1;
        match CatalogTool::read(raw) {
            Ok(tool) => self.take(tool),
            Err((name, reason)) => {
                if let Some(name) = &name {
                    self.quarantined_names.insert(name.clone());
                    self.mark_ambiguous(name);
                }
                self.quarantined.push(Quarantined::new(index, name, reason));
                false
            }
        }
    }

    /// Leaves out what the host does not want.
    pub(crate) fn filtered(mut self, filter: &ToolFilter) -> Self {
        if !filter.is_all() {
            self.tools.retain(|tool| filter.allows(tool.name()));
            self.index =
                self.tools.iter().enumerate().map(|(at, tool)| (tool.tool_name().shared(), at)).collect();
            let is_wanted = |name: &ToolName| filter.allows(name.as_str());
            self.quarantined.retain(|tool| tool.name().is_none_or(is_wanted));
            self.warnings
                .retain(|warning| !matches!(warning, Warning::AmbiguousTool(name) if !is_wanted(name)));
        }
        self
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    pub(crate) fn listed(&self) -> usize {
        self.listed
    }

    pub(crate) fn get(&self, name: &str) -> Option<&CatalogTool> {
        self.index.get(name).map(|&index| &self.tools[index])
    }

    pub(crate) fn tools(&self) -> &[CatalogTool] {
        &self.tools
    }

    pub(crate) fn quarantined(&self) -> &[Quarantined] {
        &self.quarantined
    }

    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn take(&mut self, tool: CatalogTool) -> bool {
        let name = tool.tool_name().clone();
        if let Some(known) = self.get(name.as_str()) {
            if known.json() != tool.json() && known.digest() != tool.digest() {
                self.mark_ambiguous(&name);
            }
            return false;
        }
        self.index.insert(name.shared(), self.tools.len());
        self.tools.push(tool);
        // A definition that cannot be read is a different one.
        if self.quarantined_names.contains(&name) {
            self.mark_ambiguous(&name);
        }
        true
    }

    fn mark_ambiguous(&mut self, name: &ToolName) {
        let Some(&index) = self.index.get(name.as_str()) else { return };
        if !self.tools[index].is_ambiguous() {
            self.tools[index].mark_ambiguous();
            self.warn(Warning::AmbiguousTool(name.clone()));
        }
    }
}
