//! Both eras of the protocol.
use super::{driver::Bench, put};
use mcp_tool_cli::fault_server::{Era, Fault, Tools};
use serde_json::json;
use std::io::Write;

#[test]
fn each_era_answers_its_own_handshake() {
    let discover = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    for (era, legacy, modern) in
        [(Era::Legacy, true, false), (Era::Modern, false, true), (Era::Dual, true, true)]
    {
        let bench = Bench::new();
        let mut server = bench.start(&put().era(era));
        server.request("server/discover", discover.clone());
        let answer = server.message();
        assert_eq!(
            answer["result"]["supportedVersions"] == json!(["2026-07-28"]),
            modern,
            "{era:?}: {answer}"
        );
        assert_eq!(answer["error"]["code"] == -32601, !modern, "{era:?}: {answer}");
        let page = server.result("tools/list", discover.clone());
        assert_eq!(
            page["resultType"] == "complete" && page["ttlMs"] == 0 && page["cacheScope"] == "private",
            modern
        );
        server.request("initialize", json!({"protocolVersion": "2024-11-05"}));
        let answer = server.message();
        assert_eq!(answer["result"]["protocolVersion"] == "2024-11-05", legacy, "{era:?}: {answer}");
        assert_eq!(answer["error"]["code"] == -32601, !legacy, "{era:?}: {answer}");
    }
}

#[test]
fn a_subscription_hears_of_changed_tools() {
    let bench = Bench::new();
    let change = Fault::ChangeTools { tools: Tools::new() };
    let mut server = bench.start(&put().era(Era::Modern).on_call(1, change));
    let id = server.request("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
    assert_eq!(
        server.message()["params"],
        json!({"_meta": meta, "notifications": {"toolsListChanged": true}})
    );
    server.call("a");
    server.message();
    let changed = server.message();
    assert_eq!(
        (&changed["method"], &changed["params"]["_meta"]),
        (&json!("notifications/tools/list_changed"), &meta)
    );
}

#[test]
fn an_unknown_revision_gets_the_newest_with_a_handshake() {
    let bench = Bench::new();
    let mut server = bench.start(&put());
    assert_eq!(server.initialize("2026-07-28")["protocolVersion"], "2025-11-25");
    server.stdin.write_all(b"{\n").unwrap();
    assert_eq!(server.message()["error"]["code"], -32700);
}
