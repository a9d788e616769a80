use std::collections::{HashMap, HashSet};

use mcp_tool::mcp_transport::{RawTool, ToolPage};
use serde::Deserialize;

/// What an audit looks at.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub(super) listing: Listing,
    pub(super) second: Option<Listing>,
    pub(super) process: Option<ProcessFacts>,
}

impl Evidence {
    /// One listing, and nothing else.
    pub fn new(listing: Listing) -> Self {
        Self { listing, second: None, process: None }
    }

    /// What the same server listed another time, over another connection. Default: nothing is compared.
    #[must_use]
    pub fn with_second(mut self, listing: Listing) -> Self {
        self.second = Some(listing);
        self
    }

    /// What was seen of the server's process. Default: nothing, as of a server over HTTP.
    #[must_use]
    pub fn with_process(mut self, facts: ProcessFacts) -> Self {
        self.process = Some(facts);
        self
    }
}

/// The pages of one walk over `tools/list`.
#[derive(Clone, Debug)]
pub struct Listing {
    pages: Vec<ToolPage>,
    end: ListingEnd,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingEnd {
    /// At a page without a cursor.
    LastPage,
    /// In a circle: a cursor came again on a page without a new tool.
    Circle,
    /// At a limit on pages, tools or bytes.
    Limit,
    /// With a cursor that was not followed.
    NotFollowed,
}

/// What was seen of a server's process, in a run without a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Lines on standard output that are no messages.
    pub stray_lines: usize,
    /// Bytes on standard error.
    pub stderr_bytes: usize,
    /// Whether it still ran a while after its standard input was closed.
    pub outlived_input: bool,
}

impl Listing {
    /// A walk that ended so.
    pub fn new(pages: Vec<ToolPage>, end: ListingEnd) -> Self {
        Self { pages, end }
    }

    /// The pages.
    pub fn pages(&self) -> &[ToolPage] {
        &self.pages
    }

    /// How the walk ended.
    pub fn end(&self) -> ListingEnd {
        self.end
    }

    /// The tools of all pages, as they came.
    pub fn tools(&self) -> impl Iterator<Item = &RawTool> {
        self.pages.iter().flat_map(|page| &page.tools)
    }

    /// How much JSON the tools are.
    pub(super) fn bytes(&self) -> usize {
        self.tools().map(|tool| tool.json().len()).sum()
    }

    /// The names that could be read, with the places where each is listed, in the order of their first
    /// place. A page that brings nothing new because a cursor was ignored is not counted.
    pub(super) fn names(&self) -> Vec<(String, Vec<usize>)> {
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut texts: HashSet<&str> = HashSet::new();
        let mut names: Vec<(String, Vec<usize>)> = Vec::new();
        let mut place = 0;
        for page in &self.pages {
            let is_new = |tool: &RawTool| !texts.contains(tool.json());
            let counts = self.end != ListingEnd::Circle || page.tools.iter().any(is_new);
            for tool in &page.tools {
                if let Some(name) = name(tool).filter(|_| counts) {
                    let at = *seen.entry(name.clone()).or_insert_with(|| {
                        names.push((name, Vec::new()));
                        names.len() - 1
                    });
                    names[at].1.push(place);
                }
                place += 1;
            }
            texts.extend(page.tools.iter().map(RawTool::json));
        }
        names
    }
}

fn name(tool: &RawTool) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str::<Named>(tool.json()).ok().map(|named| named.name)
}
