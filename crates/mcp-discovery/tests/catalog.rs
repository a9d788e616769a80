//! What becomes of single tools: judged one by one, merged by name, typed on demand.

use std::sync::Arc;

use mcp_discovery::{Catalog, CatalogTool, ConnectionId, DeclaredHints, Generation, Hint, Warning};
use mcp_transport::{
    Fence, RawTool, ScriptedTransport, ServerIdentity,
    rmcp::model::{Tool, ToolAnnotations},
};

fn empty() -> Catalog {
    Catalog::new(Generation::FIRST, ScriptedTransport::new())
}

fn raw(json: &str) -> RawTool {
    RawTool::new(serde_json::from_str(json).unwrap())
}

fn listing(tools: &[&str]) -> Catalog {
    tools.iter().fold(empty(), |catalog, json| catalog.with_raw_tool(raw(json)))
}

fn one(json: &str) -> CatalogTool {
    let catalog = listing(&[json]);
    assert!(catalog.quarantined().is_empty(), "{json}: {:?}", catalog.quarantined());
    catalog.tools()[0].clone()
}

#[test]
fn a_catalog_built_by_hand_tells_what_it_was_given() {
    let identity = ServerIdentity::of([("command", "node")]);
    let catalog = empty()
        .with_connection(ConnectionId::FIRST.next())
        .with_identity(identity.clone())
        .with_predecessor_fence(Fence::GroupGone)
        .with_tool(Tool::new("put", "Stores", serde_json::Map::new()))
        .with_tool(Tool::new("get", "Reads", serde_json::Map::new()));
    assert_eq!(catalog.generation(), Generation::FIRST);
    assert_eq!(catalog.connection(), ConnectionId::FIRST.next());
    assert_eq!(*catalog.identity(), identity);
    assert_eq!(catalog.predecessor_fence(), Some(Fence::GroupGone));
    assert_eq!(catalog.tools().iter().map(CatalogTool::name).collect::<Vec<_>>(), ["put", "get"]);
    assert_eq!(catalog.len(), 2);
    assert!(catalog.tool("Put").is_none() && catalog.tool("put ").is_none());
    assert_eq!(empty().predecessor_fence(), None);
    assert_eq!(*empty().identity(), ServerIdentity::unspecified());
}

#[test]
fn a_shared_transport_is_the_one_that_the_catalog_hands_out() {
    let transport = Arc::new(ScriptedTransport::new());
    let catalog = Catalog::new(Generation::FIRST, Arc::clone(&transport));
    transport.disconnect();
    assert!(catalog.transport().is_closed());
}

#[test]
fn a_tool_that_cannot_be_called_is_set_aside_and_the_others_live() {
    let deep = format!(r#"{{"name":"deep","inputSchema":{{"a":{}{}}}}}"#, "[".repeat(200), "]".repeat(200));
    let rows = [
        (r#""put""#, None, "tool_not_an_object"),
        (r#"["put",{}]"#, None, "tool_not_an_object"),
        (r"null", None, "tool_not_an_object"),
        (r#"{"inputSchema":{}}"#, None, "tool_name_missing"),
        (r#"{"name":null,"inputSchema":{}}"#, None, "tool_name_missing"),
        (r#"{"name":7,"inputSchema":{}}"#, None, "tool_name_not_a_string"),
        (r#"{"name":"\ud800","inputSchema":{}}"#, None, "tool_unreadable"),
        (r#"{"name":"a","name":"b","inputSchema":{}}"#, None, "tool_unreadable"),
        (r#"{"name":"put"}"#, Some("put"), "input_schema_missing"),
        (r#"{"name":"put","inputSchema":null}"#, Some("put"), "input_schema_missing"),
        (r#"{"name":"put","inputSchema":[]}"#, Some("put"), "input_schema_not_an_object"),
        (r#"{"name":"put","inputSchema":"x"}"#, Some("put"), "input_schema_not_an_object"),
        (r#"{"name":"huge","inputSchema":{"a":1e999}}"#, Some("huge"), "tool_unreadable"),
        (deep.as_str(), Some("deep"), "tool_unreadable"),
    ];
    let good = [r#"{"name":"first","inputSchema":{}}"#, r#"{"name":"last","inputSchema":{}}"#];
    let all: Vec<_> = [good[0]].into_iter().chain(rows.iter().map(|row| row.0)).chain([good[1]]).collect();
    let catalog = listing(&all);
    assert_eq!(catalog.tools().iter().map(CatalogTool::name).collect::<Vec<_>>(), ["first", "last"]);
    assert_eq!(catalog.quarantined().len(), rows.len());
    for (place, ((json, name, code), aside)) in rows.iter().zip(catalog.quarantined()).enumerate() {
        assert_eq!(aside.name().map(|name| name.as_str()), *name, "{json:.60}");
        assert_eq!(aside.reason().code(), *code, "{json:.60}");
        assert_eq!(aside.index(), place + 1, "{json:.60}");
    }
    assert!(catalog.warnings().is_empty());
}

#[test]
fn only_what_a_call_needs_decides_and_the_rest_is_left_out_of_the_definition() {
    let tool = one(
        r#"{"name":"put","title":1,"description":["x"],"inputSchema":{"type":"object"},"outputSchema":"no",
            "icons":"no","_meta":7,"annotations":{"title":3,"idempotentHint":"true","readOnlyHint":false,
            "openWorldHint":"no"}}"#,
    );
    let hints = tool.hints().unwrap();
    assert_eq!((hints.idempotent, hints.read_only), (Hint::Malformed, Hint::Declared(false)));
    assert!(hints.is_malformed());
    let mut expected = Tool::default();
    expected.name = "put".into();
    expected.input_schema = serde_json::from_str(r#"{"type":"object"}"#).unwrap();
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = Some(false);
    expected.annotations = Some(annotations);
    assert_eq!(*tool.definition(), expected);
}

#[test]
fn a_well_formed_tool_comes_back_as_rmcp_reads_it() {
    let json = r#"{"name":"put","title":"Put","description":"Stores","inputSchema":{"type":"object"},
        "outputSchema":{"type":"object"},"icons":[{"src":"https://example.org/i.png"}],"_meta":{"a":1},
        "annotations":{"title":"T","readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,
        "openWorldHint":false}}"#;
    let tool = one(json);
    assert_eq!(*tool.definition(), serde_json::from_str::<Tool>(json).unwrap());
    assert_eq!(tool.json(), json);
    let again = empty().with_tool((*tool.definition()).clone());
    assert_eq!(again.tools()[0].digest(), tool.digest());
    // Computed once.
    assert!(Arc::ptr_eq(&tool.definition(), &tool.clone().definition()));
}

#[test]
fn annotations_are_told_apart_from_none_and_from_malformed_ones() {
    let unreadable = DeclaredHints {
        read_only: Hint::Malformed,
        destructive: Hint::Malformed,
        idempotent: Hint::Malformed,
    };
    let rows = [
        (r#"{"name":"a","inputSchema":{}}"#, None),
        (r#"{"name":"a","inputSchema":{},"annotations":null}"#, None),
        (r#"{"name":"a","inputSchema":{},"annotations":{}}"#, Some(DeclaredHints::default())),
        (r#"{"name":"a","inputSchema":{},"annotations":[true]}"#, Some(unreadable)),
        (r#"{"name":"a","inputSchema":{},"annotations":"idempotent"}"#, Some(unreadable)),
    ];
    for (json, hints) in rows {
        let tool = one(json);
        assert_eq!(tool.hints(), hints, "{json}");
        // Whatever was given, the tool can be called.
        assert_eq!(tool.definition().name, "a");
    }
}

#[test]
fn identical_duplicates_merge_and_different_ones_make_the_name_ambiguous() {
    let plain = r#"{"name":"put","inputSchema":{"type":"object","title":"x"}}"#;
    let spelt = r#"{ "inputSchema":{"title":"x","type":"object"}, "name":"put" }"#;
    let other = r#"{"name":"put","inputSchema":{"type":"object"}}"#;
    let hinted = r#"{"name":"put","inputSchema":{"type":"object","title":"x"},"annotations":{}}"#;
    let broken = r#"{"name":"put","inputSchema":7}"#;
    let rows: [(&[&str], bool); 8] = [
        (&[plain], false),
        (&[plain, plain], false),
        (&[plain, spelt], false),
        (&[plain, other], true),
        (&[plain, plain, hinted, plain], true),
        (&[plain, broken], true),
        (&[broken, plain], true),
        (&[plain, other, hinted, broken], true),
    ];
    for (tools, ambiguous) in rows {
        let catalog = listing(tools);
        assert_eq!(catalog.len(), 1, "{tools:?}");
        let tool = catalog.tool("put").unwrap();
        assert_eq!(tool.is_ambiguous(), ambiguous, "{tools:?}");
        assert_eq!(tool.json(), plain, "{tools:?}");
        let warned = if ambiguous { vec![Warning::AmbiguousTool("put".into())] } else { vec![] };
        assert_eq!(catalog.warnings(), warned, "{tools:?}");
    }
}

#[test]
fn debug_prints_no_content() {
    let secret = "hunter2";
    let name = "n".repeat(300);
    let tool = format!(
        r#"{{"name":"{name}","description":"{secret}","inputSchema":{{"{secret}":1}},"annotations":{{"title":"{secret}"}}}}"#
    );
    let broken = format!(r#"{{"name":"{name}","inputSchema":"{secret}"}}"#);
    let catalog = listing(&[&tool, &broken]);
    let text =
        format!("{catalog:?} {:?} {:?} {:?}", catalog.tools(), catalog.quarantined(), catalog.warnings());
    assert!(!text.contains(secret), "{text}");
    assert!(!text.contains(&"n".repeat(129)), "{text}");
    assert!(text.contains(&"n".repeat(128)), "{text}");
    for shown in ["Catalog {", "CatalogTool {", "hints: Some", "Quarantined {", "AmbiguousTool("] {
        assert!(text.contains(shown), "{shown} in {text}");
    }
}
