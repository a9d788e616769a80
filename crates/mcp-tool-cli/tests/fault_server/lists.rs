//! The tools of a start, page by page.
use super::{
    DEATH,
    driver::{Bench, Server},
    put, text_of,
};
use mcp_tool_cli::fault_server::{Cursors, PageFault, Scenario, ToolSpec, Tools};
use serde_json::json;

#[test]
fn each_start_lists_its_own_tools() {
    let bench = Bench::new();
    let raw = json!({"name": "put", "inputSchema": 7, "annotations": {"readOnlyHint": "yes"}});
    let scenario = put()
        .from_start(
            2,
            Scenario::new()
                .tool(ToolSpec::new("put").description("other").input_schema(json!({"type": "array"}))),
        )
        .from_start(3, Scenario::new().tool(ToolSpec::new("put").raw(raw.clone())));
    let definitions = [
        json!({"name": "put", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": true}}),
        json!({"name": "put", "inputSchema": {"type": "array"}, "description": "other"}),
        raw.clone(),
        raw,
    ];
    for definition in definitions {
        let mut server = bench.start(&scenario);
        server.initialize("2025-06-18");
        assert_eq!(server.result("tools/list", json!({})), json!({"tools": [definition]}));
        assert_eq!(server.end().0, Some(0));
    }
}

#[test]
fn a_name_may_be_listed_twice() {
    let bench = Bench::new();
    let other = ToolSpec::new("put").field("title", json!("another"));
    let mut server = bench.ready(&put().tool(other));
    let tools = server.result("tools/list", json!({}))["tools"].clone();
    assert_eq!((&tools[0]["name"], &tools[1]["name"]), (&json!("put"), &json!("put")));
    assert_ne!(tools[0], tools[1]);
}

#[test]
fn ten_thousand_tools_come_page_by_page() {
    let bench = Bench::new();
    let tools = Tools::new().with_numbered("t", 10_000).with(ToolSpec::new("last").padding(1000));
    let mut server = bench.start(&Scenario::new().tools(tools).page_size(100));
    server.initialize("2025-11-25");
    let names = server.list_all();
    assert_eq!((names.len(), &*names[0], &*names[9_999], &*names[10_000]), (10_001, "t0", "t9999", "last"));
    assert_eq!(bench.ledger.lists().unwrap().len(), 101);
    server.request("tools/call", json!({"name": "t9999"}));
    assert_eq!(text_of(&server.message()), "t9999 ran");
}

#[test]
fn pages_fail_die_and_hang_as_told() {
    let scenario =
        |fault| Scenario::new().tools(Tools::new().with_numbered("t", 4)).page_size(2).on_page(2, fault);
    let second_page = |server: &mut Server| server.request("tools/list", json!({"cursor": "page-2"}));
    let begin = |bench: &Bench, fault| {
        let mut server = bench.start(&scenario(fault));
        server.initialize("2025-11-25");
        assert_eq!(server.result("tools/list", json!({}))["nextCursor"], "page-2");
        second_page(&mut server);
        server
    };

    let bench = Bench::new();
    let mut server = begin(&bench, PageFault::FailOnce);
    assert_eq!(server.message()["error"]["code"], -32603);
    second_page(&mut server);
    assert_eq!(server.message()["result"]["tools"].as_array().unwrap().len(), 2);

    let bench = Bench::new();
    let mut server = begin(&bench, PageFault::FailAlways);
    assert_eq!(server.message()["error"]["code"], -32603);
    second_page(&mut server);
    assert_eq!(server.message()["error"]["code"], -32603);

    let bench = Bench::new();
    begin(&bench, PageFault::Hang).ping();

    let bench = Bench::new();
    assert_eq!(begin(&bench, PageFault::Die).exit_code(), DEATH);
    assert_eq!(bench.ledger.read().unwrap().faults(), ["page_dies"]);

    let bench = Bench::new();
    let server = begin(&bench, PageFault::DieAfterAnswer);
    assert_eq!(server.message()["result"]["tools"].as_array().unwrap().len(), 2);
    assert_eq!(server.exit_code(), DEATH);
    assert_eq!(bench.ledger.read().unwrap().faults(), ["page_answered_last"]);
}

#[test]
fn an_empty_cursor_is_a_cursor_and_a_constant_one_never_ends() {
    let four = || Scenario::new().tools(Tools::new().with_numbered("t", 4)).page_size(2);
    let bench = Bench::new();
    let mut server = bench.start(&four().cursors(Cursors::Empty));
    server.initialize("2025-11-25");
    assert_eq!(server.list_all(), ["t0", "t1", "t2", "t3"]);
    let cursors: Vec<_> = bench.ledger.lists().unwrap().into_iter().map(|list| list.cursor).collect();
    assert_eq!(cursors, [None, Some(String::new())]);

    let bench = Bench::new();
    let mut server = bench.start(&four().cursors(Cursors::Constant));
    server.initialize("2025-11-25");
    let first = server.result("tools/list", json!({}));
    assert_eq!(server.result("tools/list", json!({"cursor": first["nextCursor"]})), first);
}
