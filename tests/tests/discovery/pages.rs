//! Cursors of every kind.

use mcp_tool::{
    Client, Discovery, ToolCall, Trust,
    mcp_discovery::{DiscoveryErrorKind, Hint, ListLimits, Warning},
};
use mcp_tool_cli::fault_server::{Cursors, Fault, Scenario, ToolSpec, Tools};
use serde_json::json;

use crate::{ERAS, bench::Bench, cursors, discovery, end, names};

#[tokio::test]
async fn ten_thousand_tools_are_all_there_with_the_hints_of_every_page() {
    let seventh = ToolSpec::new("on_page_seven").annotations(json!({"idempotentHint": true}));
    let last = ToolSpec::new("last").annotations(json!({"readOnlyHint": true, "destructiveHint": false}));
    let tools = Tools::new().with_numbered("a", 650).with(seventh).with_numbered("b", 9_348).with(last);
    for era in ERAS {
        let bench = Bench::new(&format!("ten-thousand-{era:?}"));
        let dies = Fault::DieAfterCommit;
        let scenario = Scenario::new().era(era).tools(tools.clone()).page_size(100).on_call(1, dies);
        let discovery = discovery(&bench, &scenario);
        let catalog = discovery.catalog().await.unwrap();
        assert_eq!((catalog.len(), bench.record().lists().len()), (10_000, 100));
        assert_eq!((names(&catalog)[650], names(&catalog)[9_999]), ("on_page_seven", "last"));
        let hints = |name| catalog.tool(name).unwrap().hints().unwrap();
        assert_eq!(hints("on_page_seven").idempotent, Hint::Declared(true));
        let last = hints("last");
        assert_eq!((last.read_only, last.destructive), (Hint::Declared(true), Hint::Declared(false)));
        assert!(catalog.tool("b9347").unwrap().hints().is_none());

        // They count as much as those of the first page, before the loss and after it.
        let client = Client::with_discovery("bench", discovery.clone()).trust(Trust::BOTH).build();
        let answer = client.call(ToolCall::new("on_page_seven")).await.unwrap();
        assert_eq!((answer.attempts, answer.replays), (2, 1));
        assert_eq!(bench.record().lists().len(), 200, "the replay goes out on a complete listing");
        end(discovery, &bench).await;
    }
}

#[tokio::test]
async fn every_kind_of_cursor_is_followed_to_its_end() {
    let all = &["t0", "t1", "t2", "t3", "t4", "t5"][..];
    let circle = Some(Warning::NoProgress);
    #[rustfmt::skip]
    let rows = [
        // cursors                    tools     asked with                                  warning
        (Cursors::Numbered,           all,      vec![None, Some("page-2"), Some("page-3")],  None),
        (Cursors::Empty,              all,      vec![None, Some(""), Some("page-3")],        None),
        (Cursors::ConstantMovingOn,   all,      vec![None, Some("again"), Some("again")],    None),
        (Cursors::Constant,           &all[..2], vec![None, Some("again")],                  circle.clone()),
        (Cursors::Cycle { pages: 2 }, &all[..4], vec![None, Some("page-2"), Some("page-1")], circle),
    ];
    for (kind, tools, asked, warning) in rows {
        let bench = Bench::new(&format!("{kind:?}"));
        let six = Tools::new().with_numbered("t", 6);
        let discovery = discovery(&bench, &Scenario::new().tools(six).page_size(2).cursors(kind));
        let catalog = discovery.catalog().await.unwrap();
        assert_eq!(names(&catalog), tools, "{kind:?}");
        assert_eq!(catalog.warnings(), warning.as_slice(), "{kind:?}");
        let record = bench.record();
        let cursors = cursors(&record);
        assert_eq!(cursors.iter().map(Option::as_deref).collect::<Vec<_>>(), asked, "{kind:?}");
        end(discovery, &bench).await;
    }
}

#[tokio::test]
async fn an_endless_list_ends_at_a_limit_and_leaves_nothing() {
    let rows = [
        (ListLimits::default().with_pages(20), DiscoveryErrorKind::TooManyPages, 20),
        (ListLimits::default().with_tools(95), DiscoveryErrorKind::TooManyTools, 10),
        (ListLimits::default().with_bytes(10_000), DiscoveryErrorKind::TooManyBytes, 20),
    ];
    for (limits, kind, most) in rows {
        let bench = Bench::new(&format!("endless-{kind:?}"));
        let scenario = Scenario::new().cursors(Cursors::Endless);
        let discovery = discovery(&bench, &scenario).with_limits(limits);
        assert_eq!(discovery.catalog().await.unwrap_err().kind(), kind);
        let record = bench.record();
        assert!(record.lists().len() <= most, "{kind:?} after {} pages", record.lists().len());
        assert_eq!(record.starts().len(), 1, "another connection would list no less");
        bench.all_gone().await;
    }
}
