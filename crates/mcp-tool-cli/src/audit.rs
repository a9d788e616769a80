//! What a server's list of tools says about its lost calls: would each be recovered, if not, why, and what
//! would its author have to declare?
//!
//! Pure: a listing goes in, a [`Report`] comes out. The verdict is that of
//! [`ConservativePolicy`](mcp_tool::ConservativePolicy), asked for a call that may have run, under double
//! trust. A [`Finding`] is about what the author wrote, and never changes a verdict.
//!
//! ```
//! use mcp_tool_cli::audit::{Evidence, Rule, Saved, audit};
//!
//! let saved = Saved::parse(r#"{"tools": [{"name": "put", "inputSchema": {"type": "object"}}]}"#)?;
//! let report = audit(&Evidence::new(saved.listing));
//! assert!(!report.tools[0].is_recovered());
//! assert_eq!(report.findings[0].rule, Rule::NoAnnotations);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod advice;
mod baseline;
mod cursors;
mod evidence;
mod finding;
mod hints;
mod misplaced;
mod naming;
mod process;
mod repetition;
mod report;
mod rule;
mod sarif;
mod saved;
mod schema;
mod stability;
mod stamp;
mod tool;

pub use advice::Advice;
pub use baseline::{Baseline, BaselineError};
pub use evidence::{Evidence, Listing, ListingEnd, ProcessFacts};
pub use finding::{Finding, Severity};
pub use report::{Report, Summary};
pub use rule::Rule;
pub use sarif::Source;
pub use saved::{Saved, SavedError};
pub use tool::AuditedTool;
pub(crate) use tool::verdict;

use std::collections::HashMap;

use mcp_tool::{
    Catalog, CatalogTool,
    mcp_discovery::{DeclaredHints, Generation},
    mcp_transport::{CallReply, RawTool, ToolPage, callable},
    rmcp::model::CallToolResult,
};
use serde_json::value::RawValue;

/// Audits a listing, and what else is known of its server.
///
/// Findings come in the order of the listing, those about the whole of it last.
pub fn audit(evidence: &Evidence) -> Report {
    let catalog = catalog(&evidence.listing);
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, tool) in evidence.listing.tools().enumerate() {
        places.entry(tool.json()).or_insert(place);
    }
    let audited = |tool: &CatalogTool| AuditedTool::of(tool, places[tool.json()]);
    let tools: Vec<AuditedTool> = catalog.tools().iter().map(audited).collect();
    let mut findings = Vec::new();
    for (tool, listed) in tools.iter().zip(catalog.tools()) {
        hints::look(tool, listed, &mut findings);
        misplaced::look(tool, listed, &mut findings);
        naming::look(tool, &mut findings);
        schema::look(tool, listed, &mut findings);
    }
    repetition::look(evidence, &catalog, &mut findings);
    schema::look_at_uncallable(&catalog, &mut findings);
    findings.sort_by_key(|finding| finding.index);
    stamp::look(&tools, &mut findings);
    cursors::look(&evidence.listing, &mut findings);
    stability::look(evidence, &catalog, &mut findings);
    process::look(evidence.process.as_ref(), &mut findings);
    Report { tools, findings }
}

/// The hints that the JSON of a tool's `annotations` declares; none for `null`.
///
/// # Errors
///
/// When it is no JSON.
pub fn declared_hints(annotations: &str) -> Result<Option<DeclaredHints>, serde_json::Error> {
    let annotations: Box<RawValue> = serde_json::from_str(annotations)?;
    let tool = format!(r#"{{"name":"","inputSchema":{{}},"annotations":{annotations}}}"#);
    let tool = RawTool::new(serde_json::from_str(&tool)?);
    let listing = Listing::new(vec![ToolPage { tools: vec![tool], next: None }], ListingEnd::LastPage);
    Ok(catalog(&listing).tools().first().and_then(CatalogTool::hints))
}

/// The listing as a discovery takes it: judged tool by tool, merged by name.
fn catalog(listing: &Listing) -> Catalog {
    // Nothing is ever called over it, and it lists nothing.
    let nobody = callable(
        |_| async { Ok(CallReply::from(CallToolResult::success(Vec::new()))) },
        |_| async { Ok(ToolPage::default()) },
    );
    listing
        .tools()
        .fold(Catalog::new(Generation::FIRST, nobody), |catalog, tool| catalog.with_raw_tool(tool.clone()))
}
