//! Listings of any shape: what comes of them is complete or nothing, within its limits, and in time.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use mcp_tool::{
    Catalog, Discovery, PagingDiscovery,
    mcp_discovery::{DiscoveryErrorKind, ListLimits, Reconnect, Warning},
};
use proptest::{
    collection::vec, option, prelude::Strategy, prop_assert, prop_assert_eq, proptest, sample::select,
    strategy::Union, test_runner::TestCaseError,
};
use serde_json::Value;
use tokio::{runtime::Builder, time::Instant};

use crate::pages::{Asked, Lister, Step};

const UNKNOWN_METHOD: i32 = -32601;

/// What a server may list as one tool.
const TOOLS: [&str; 16] = [
    r#"{"name":"a","inputSchema":{"type":"object"}}"#,
    r#"{"inputSchema":{"type":"object"},"name":"a"}"#,
    r#"{"name":"a","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}"#,
    r#"{"name":"b","inputSchema":{},"annotations":{"readOnlyHint":"yes","idempotentHint":1}}"#,
    r#"{"name":"b","inputSchema":{},"annotations":null,"outputSchema":null,"title":null}"#,
    r#"{"name":"c","inputSchema":{},"annotations":[],"description":7}"#,
    r#"{"name":"d \u0000\ud83d\ude00","inputSchema":{}}"#,
    r#"{"name":"","inputSchema":{}}"#,
    r#"{"name":"e","inputSchema":{"properties":{"name":{"enum":[null,1.5e300,"x"]}}}}"#,
    r#"{"name":"a"}"#,
    r#"{"name":"f","inputSchema":null}"#,
    r#"{"name":7,"inputSchema":{}}"#,
    r#"{"name":"g","name":"h","inputSchema":{}}"#,
    r#"{}"#,
    r"null",
    r#"[{"name":"a","inputSchema":{}}]"#,
];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let cursor = select(vec!["", "x", "y", "z", "a cursor that is a good deal longer than the others"]);
    let tools = vec(select(TOOLS.to_vec()).prop_map(str::to_owned), 0..6);
    let page = (tools, option::weighted(0.85, cursor))
        .prop_map(|(tools, next)| Step::Page { tools, next: next.map(str::to_owned) });
    let fails = select(vec![
        Step::Reject(-32603),
        Step::Reject(UNKNOWN_METHOD),
        Step::Lose,
        Step::Lose,
        Step::Die,
        Step::Hang,
    ]);
    vec(Union::new_weighted(vec![(6, page.boxed()), (1, fails.boxed())]), 0..40)
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    pages: usize,
    tools: usize,
    bytes: usize,
}

fn limits() -> impl Strategy<Value = Limits> {
    let pages = select(vec![1, 2, 5, 20, 1_000]);
    (pages, select(vec![1, 5, 30, 1_000]), select(vec![50, 500, 2_000, 1_000_000]))
        .prop_map(|(pages, tools, bytes)| Limits { pages, tools, bytes })
}

impl Limits {
    /// Seconds over all pages, and for one.
    const TIME: u64 = 60;
    const PAGE_TIME: u64 = 10;

    fn to_list_limits(self) -> ListLimits {
        ListLimits::default()
            .with_pages(self.pages)
            .with_tools(self.tools)
            .with_bytes(self.bytes)
            .with_time(Duration::from_secs(Self::TIME))
            .with_page_time(Duration::from_secs(Self::PAGE_TIME))
    }
}

/// One listing over one connection: the pages that were taken, and how it ended, read from the server's notes.
#[derive(Debug, Default)]
struct Told {
    tools: Vec<String>,
    bytes: usize,
    pages: usize,
    /// The last page that was taken had no cursor.
    complete: bool,
    /// The last page that was taken had a cursor that was known, and no new tool.
    circular: bool,
    failures_in_a_row: usize,
    died: bool,
    unknown_method: bool,
    /// It was asked for another page than the next one, or for one after the end.
    asked_wrongly: bool,
}

fn told(asked: &[Asked]) -> Told {
    let (mut told, mut cursors, mut names) = (Told::default(), BTreeSet::new(), BTreeSet::new());
    let mut expected: Option<String> = None;
    for Asked { cursor, step } in asked {
        told.asked_wrongly |= *cursor != expected || told.complete || told.circular || told.died;
        match step {
            Step::Page { tools, next } => {
                (told.pages, told.failures_in_a_row) = (told.pages + 1, 0);
                let mut news = false;
                for tool in tools {
                    told.bytes += tool.len();
                    news |= name(tool).is_some_and(|name| names.insert(name));
                    told.tools.push(tool.clone());
                }
                told.bytes += next.as_ref().map_or(0, String::len);
                told.complete = next.is_none();
                told.circular = next.as_ref().is_some_and(|next| !cursors.insert(next.clone())) && !news;
                expected.clone_from(next);
            }
            Step::Reject(code) => {
                told.unknown_method |= *code == UNKNOWN_METHOD;
                told.failures_in_a_row += 1;
            }
            Step::Lose | Step::Hang => told.failures_in_a_row += 1,
            Step::Die => (told.failures_in_a_row, told.died) = (told.failures_in_a_row + 1, true),
        }
    }
    told
}

/// The name of a tool that can be called: read by another parser than the discovery's.
fn name(json: &str) -> Option<String> {
    let doubled = json.matches(r#""name":"#).count() > 1 && !json.contains("properties");
    let Value::Object(fields) = serde_json::from_str(json).ok()? else { return None };
    match (fields.get("name"), fields.get("inputSchema"), doubled) {
        (Some(Value::String(name)), Some(Value::Object(_)), false) => Some(name.clone()),
        _ => None,
    }
}

/// A catalog holds exactly what the pages held, and was allowed to.
fn is_whole(catalog: &Catalog, told: &Told, limits: Limits) -> Result<(), TestCaseError> {
    let circular = catalog.warnings().contains(&Warning::NoProgress);
    let unsupported = catalog.warnings().contains(&Warning::ToolsUnsupported);
    prop_assert_eq!(circular, told.circular, "ended in a circle");
    prop_assert_eq!(unsupported, told.unknown_method, "tools are unknown");
    prop_assert!(told.complete || circular || (unsupported && told.pages == 0), "not at the end");
    prop_assert!(
        told.pages <= limits.pages && told.tools.len() <= limits.tools && told.bytes <= limits.bytes
    );

    let mut first: BTreeMap<String, &str> = BTreeMap::new();
    for tool in &told.tools {
        if let Some(name) = name(tool) {
            first.entry(name).or_insert(tool);
        }
    }
    let listed: BTreeMap<String, &str> =
        catalog.tools().iter().map(|tool| (tool.name().to_owned(), tool.json())).collect();
    prop_assert_eq!(listed.len(), catalog.len(), "a name is there once");
    prop_assert_eq!(listed, first);
    let malformed = told.tools.iter().filter(|tool| name(tool).is_none()).count();
    prop_assert_eq!(catalog.quarantined().len(), malformed);
    Ok(())
}

/// A listing that failed did so for what the server's notes say.
fn is_excused(kind: DiscoveryErrorKind, told: &Told, limits: Limits) -> Result<(), TestCaseError> {
    let excused = match kind {
        DiscoveryErrorKind::TooManyPages => told.pages == limits.pages,
        DiscoveryErrorKind::TooManyTools => told.tools.len() > limits.tools,
        DiscoveryErrorKind::TooManyBytes => told.bytes > limits.bytes,
        DiscoveryErrorKind::TooSlow | DiscoveryErrorKind::Listing => {
            told.died || told.unknown_method || told.failures_in_a_row == 2
        }
        _ => false,
    };
    prop_assert!(excused, "{kind:?} {told:?}");
    prop_assert!(told.pages <= limits.pages, "no page is asked for beyond the limit");
    Ok(())
}

async fn any_listing(steps: Vec<Step>, limits: Limits) -> Result<(), TestCaseError> {
    let server = Lister::new(steps);
    let discovery = PagingDiscovery::new(server.clone())
        .with_limits(limits.to_list_limits())
        .with_reconnect(Reconnect::default().with_retries(0));
    let start = Instant::now();
    let outcome = discovery.catalog().await;
    let told = told(&server.asked());
    prop_assert!(start.elapsed().as_secs() <= Limits::TIME, "{:?}", start.elapsed());
    prop_assert!(!told.asked_wrongly, "{:?}", server.asked());
    prop_assert_eq!(server.connects(), 1);
    match outcome {
        Ok(catalog) => is_whole(&catalog, &told, limits)?,
        Err(error) => {
            is_excused(error.kind(), &told, limits)?;
            prop_assert_eq!(server.open(), 0, "nothing is left open");
        }
    }

    // Whatever that was, nothing sticks: a server that has come to its senses is listed again.
    server.heal();
    let roomy = Limits { pages: 1_000, tools: 1_000, bytes: 1_000_000 };
    let discovery = discovery.with_limits(roomy.to_list_limits());
    let healed = discovery.refresh().await.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(healed.tools().iter().map(|tool| tool.json()).collect::<Vec<_>>(), [Lister::HEALTHY]);
    Ok(())
}

/// A failure of one tool's page is the same whether the clock runs or not.
fn on_a_paused_clock<T>(work: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without I/O").block_on(work)
}

proptest! {
    #![proptest_config(crate::cases(500))]

    #[test]
    fn any_pages_end_in_a_whole_listing_or_in_none(steps in steps(), limits in limits()) {
        on_a_paused_clock(any_listing(steps, limits))?;
    }
}

/// Pages of 1,000 tools, this many in all.
fn many(tools: usize) -> Vec<Step> {
    let numbers: Vec<usize> = (0..tools).collect();
    let pages = numbers.chunks(1_000).map(|numbers| {
        let tool = |number| format!(r#"{{"name":"t{number}","inputSchema":{{"type":"object"}}}}"#);
        let next =
            numbers.last().map(|last| last.to_string()).filter(|last| *last != (tools - 1).to_string());
        Step::Page { tools: numbers.iter().map(tool).collect(), next }
    });
    pages.collect()
}

#[test]
fn a_hundred_thousand_tools_are_listed_and_one_more_is_too_many() {
    on_a_paused_clock(async {
        let server = Lister::new(many(100_000));
        let catalog = PagingDiscovery::new(server.clone()).catalog().await.expect("it is within the limits");
        assert_eq!((catalog.len(), server.asked().len()), (100_000, 100));
        assert!(catalog.tool("t99999").is_some() && catalog.warnings().is_empty());

        let server = Lister::new(many(100_001));
        let error = PagingDiscovery::new(server.clone()).catalog().await.expect_err("it is one too many");
        assert_eq!((error.kind(), server.asked().len()), (DiscoveryErrorKind::TooManyTools, 101));
    });
}
