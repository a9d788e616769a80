//! What comes back for a call that is read.
use super::{DEATH, answer, driver::Bench, put, text_of};
use mcp_tool_cli::fault_server::{Ask, Event, Exit, Fault, Kept, Stray, ToolSpec, Tools, When};
use serde_json::{Value, json};
use std::{fs, io::Read};

#[test]
fn a_healthy_server_answers_and_enters_everything_in_its_ledger() {
    let bench = Bench::new();
    let mut server = bench.ready(&put());
    let first = server.call("a");
    assert_eq!(server.message(), answer(first));
    let unknown = server.request("tools/call", json!({"name": "get"}));
    assert_eq!((server.message()["error"]["code"].as_i64(), unknown), (Some(-32602), first + 1));
    server.request("resources/list", json!({}));
    assert_eq!(server.message()["error"]["code"], -32601);
    server
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}))
        .unwrap();
    let pid = server.child.id();
    assert_eq!(server.end(), (Some(0), vec![]));

    let record = bench.ledger.read().unwrap();
    assert_eq!((record.starts(), record.pids()), (vec![pid], vec![pid]));
    assert_eq!(record.versions(), ["2025-11-25"]);
    assert_eq!(record.lists().iter().map(|list| list.cursor.clone()).collect::<Vec<_>>(), [None]);
    assert_eq!(record.received().iter().map(|call| &*call.tool).collect::<Vec<_>>(), ["put", "get"]);
    let executions: Vec<_> =
        record.executions().into_iter().map(|e| (e.start, e.id, e.tool, e.key)).collect();
    assert_eq!(executions, [(1, json!(first), "put".to_owned(), json!("a"))]);
    assert_eq!(record.cancellations().iter().map(|c| c.id.clone()).collect::<Vec<_>>(), [json!(7)]);
    assert_eq!((record.exits(), record.faults()), (vec![Exit::Eof], vec![]));
}

#[test]
fn each_death_leaves_just_what_it_says() {
    let whole = |id: u64| format!("{}\n", answer(id));
    #[rustfmt::skip]
    let rows = [
        // fault                    executed  of the answer's line that is seen
        (Fault::DieBeforeCommit,    0,        0),
        (Fault::DieAfterCommit,     1,        0),
        (Fault::DieMidAnswer,       1,        whole(9).len() / 2),
        (Fault::DieBeforeNewline,   1,        whole(9).len() - 1),
        (Fault::DieAfterAnswer,     1,        whole(9).len()),
    ];
    for (fault, executed, seen) in rows {
        let bench = Bench::new();
        let mut server = bench.ready(&put().on_call(1, fault.clone()));
        let id = server.call("a");
        let said: Vec<u8> = std::iter::from_fn(|| server.line()).flatten().collect();
        assert_eq!(said, whole(id).as_bytes()[..seen], "{fault:?}");
        assert_eq!(server.exit_code(), DEATH, "{fault:?}");
        let record = bench.ledger.read().unwrap();
        assert_eq!((record.received().len(), record.executions().len()), (1, executed), "{fault:?}");
        assert_eq!((record.faults(), record.exits()), (vec![fault.name()], vec![Exit::Fault]));
    }
}

#[test]
fn each_strange_answer_is_just_what_it_says() {
    let result = |id: u64, result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let error = |id: u64, code: i64, message: &str| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    let lost = "database connection lost: ECONNRESET, socket hang up";
    let with_id = |id: Value| json!({"jsonrpc": "2.0", "id": id, "result": answer(0)["result"]});
    type Expected<'a> = Box<dyn Fn(u64) -> Vec<Value> + 'a>;
    let rows: Vec<(Fault, usize, Expected<'_>)> = vec![
        (Fault::AnswerTwice, 1, Box::new(|id| vec![answer(id), answer(id)])),
        (Fault::AnswerWrongId, 1, Box::new(|_| vec![with_id(json!(4_000_000_007_u64))])),
        (Fault::AnswerStringId, 1, Box::new(|id| vec![with_id(json!(id.to_string()))])),
        (Fault::AnswerNoToolResult, 1, Box::new(|id| vec![result(id, json!({"weather": "fine"}))])),
        (Fault::lost_connection_error(), 1, Box::new(|id| vec![error(id, -32603, lost)])),
        (
            Fault::lost_connection_result(),
            1,
            Box::new(|id| {
                vec![result(id, json!({"content": [{"type": "text", "text": lost}], "isError": true}))]
            }),
        ),
        (Fault::Hang, 1, Box::new(|_| vec![])),
        (Fault::HangBeforeCommit, 0, Box::new(|_| vec![])),
        (
            Fault::StrayOnly { lines: vec![Stray::NotRpc] },
            1,
            Box::new(|_| vec![json!({"level": "info", "message": "a log line in the wrong place"})]),
        ),
    ];
    for (fault, executed, expected) in rows {
        let bench = Bench::new();
        let mut server = bench.ready(&put().on_call(1, fault.clone()));
        let id = server.call("a");
        for message in expected(id) {
            assert_eq!(server.message(), message, "{fault:?}");
        }
        server.ping();
        let second = server.call("b");
        assert_eq!(server.message(), answer(second), "after {fault:?}");
        assert_eq!(server.end().0, Some(0));
        let record = bench.ledger.read().unwrap();
        assert_eq!((record.received().len(), record.executions().len()), (2, executed + 1), "{fault:?}");
        assert_eq!(record.faults(), [fault.name()]);
    }
}

#[test]
fn stray_lines_of_every_kind_precede_the_answer() {
    let bench = Bench::new();
    let mut server = bench.ready(&put().on_call(1, Fault::Stray { lines: Stray::ALL.to_vec() }));
    let id = server.call("a");
    let lines: Vec<_> = Stray::ALL.iter().map(|_| server.line().unwrap()).collect();
    let as_json = |index: usize| serde_json::from_slice::<Value>(&lines[index]).unwrap();
    assert!(serde_json::from_slice::<Value>(&lines[0]).is_err());
    assert!(std::str::from_utf8(&lines[0]).is_ok());
    assert!(as_json(1).get("jsonrpc").is_none());
    assert!(std::str::from_utf8(&lines[2]).is_err());
    assert!(as_json(3)["id"] != id && as_json(3)["result"].is_object());
    assert_eq!((&as_json(4)["method"], as_json(4).get("id")), (&json!("notifications/progress"), None));
    assert!(as_json(5)["error"].is_object() && as_json(5).get("id").is_none());
    assert_eq!(server.message(), answer(id));
}

#[test]
fn huge_answers_and_floods_have_the_size_that_was_asked_for() {
    let mib = 1 << 20;
    let bench = Bench::new();
    let scenario = put()
        .on_call(1, Fault::AnswerHuge { bytes: 11 * mib })
        .on_call(2, Fault::AnswerHuge { bytes: 20 * mib })
        .on_call(3, Fault::FloodStderr { bytes: mib });
    let mut server = bench.ready(&scenario);
    for size in [11 * mib, 20 * mib] {
        server.call("a");
        assert_eq!(text_of(&server.message()).len(), size);
    }
    let id = server.call("b");
    let mut flood = vec![0; mib];
    server.stderr.read_exact(&mut flood).unwrap();
    assert_eq!(server.message(), answer(id));
    let mut rest = Vec::new();
    drop(server.send(&json!({"jsonrpc": "2.0", "method": "notifications/none"})));
    server.signal("KILL");
    server.stderr.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
}

#[test]
fn a_late_answer_lets_other_calls_pass() {
    let bench = Bench::new();
    let trigger = bench.file("now");
    let scenario = put()
        .on_call(1, Fault::AnswerLate { when: When::Trigger(trigger.clone()) })
        .on_call(2, Fault::AnswerLate { when: When::Millis(1) });
    let mut server = bench.ready(&scenario);
    let (first, second, third) = (server.call("a"), server.call("b"), server.call("c"));
    let mut early = [server.message(), server.message()];
    early.sort_by_key(|message| message["id"].as_u64());
    assert_eq!(early, [answer(second), answer(third)]);
    fs::write(&trigger, "").unwrap();
    assert_eq!(server.message(), answer(first));
    assert!(!trigger.exists());
}

#[test]
fn progress_carries_the_token_of_the_call() {
    let bench = Bench::new();
    let mut server = bench.ready(&put().on_call(1, Fault::Progress { every_ms: 1, times: 3 }));
    let id = server.call("a");
    for done in 1..=3 {
        let report = server.message();
        assert_eq!(report["params"], json!({"progressToken": "t", "progress": done, "total": 3}));
    }
    assert_eq!(server.message(), answer(id));
}

#[test]
fn a_question_comes_before_the_answer() {
    for (what, method) in [
        (Ask::Roots, "roots/list"),
        (Ask::Elicitation, "elicitation/create"),
        (Ask::Sampling, "sampling/createMessage"),
        (Ask::Ping, "ping"),
    ] {
        let bench = Bench::new();
        let mut server = bench.ready(&put().on_call(1, Fault::Ask { what }));
        let id = server.call("a");
        let question = server.message();
        assert_eq!(question["method"], method);
        assert_eq!(question["params"]["requestedSchema"]["type"] == "object", what == Ask::Elicitation);
        server.ping();
        server.send(&json!({"jsonrpc": "2.0", "id": "ask-9", "result": {}})).unwrap();
        server.ping();
        server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {}})).unwrap();
        assert_eq!(server.message(), answer(id));
        let replied = Event::Replied { start: 1, result: true };
        assert!(bench.ledger.read().unwrap().events().contains(&replied));
    }
}

#[test]
fn changed_tools_are_announced_and_listed() {
    let bench = Bench::new();
    let tools = Tools::new().with(ToolSpec::new("get"));
    let mut server = bench.ready(&put().on_call(1, Fault::ChangeTools { tools }));
    let id = server.call("a");
    assert_eq!(server.message(), answer(id));
    assert_eq!(server.message(), json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    assert_eq!(server.list_all(), ["get"]);
    server.call("b");
    assert_eq!(server.message()["error"]["code"], -32602);
}

#[test]
fn input_required_comes_before_the_side_effect_and_a_task_after_it() {
    let bench = Bench::new();
    let mut server = bench.ready(&put().on_call(1, Fault::InputRequired).on_call(2, Fault::Task));
    server.call("a");
    assert_eq!(server.message()["result"]["resultType"], "input_required");
    assert_eq!(bench.ledger.executions().unwrap(), []);
    server.call("b");
    assert_eq!(server.message()["result"]["resultType"], "task");
    assert_eq!(bench.ledger.executions_of("put").unwrap().len(), 1);
}

#[test]
fn a_kept_task_is_at_work_for_so_many_looks_then_completed_by_whoever_knows_it() {
    for (kept, known_after_a_restart) in [(Kept::ByProcess, false), (Kept::ByLedger, true)] {
        let bench = Bench::new();
        let scenario = put().on_call(1, Fault::KeptTask { looks: 1, kept });
        let mut server = bench.ready(&scenario);
        server.call("a");
        let made = server.message()["result"].clone();
        assert_eq!((&made["resultType"], &made["status"]), (&json!("task"), &json!("working")));
        let look = |server: &mut crate::driver::Server| {
            let params = json!({"taskId": made["taskId"]});
            server
                .send(&json!({"jsonrpc": "2.0", "id": 90, "method": "tasks/get", "params": params}))
                .unwrap();
            server.message()
        };
        assert_eq!(look(&mut server)["result"]["status"], "working");
        let mut restarted = bench.ready(&scenario);
        let found = look(&mut restarted);
        assert_eq!(found["result"]["status"] == "completed", known_after_a_restart);
        assert_eq!(found["error"]["code"] == -32602, !known_after_a_restart);
        assert_eq!(look(&mut server)["result"]["result"]["content"][0]["text"], "put ran");
        assert_eq!(bench.ledger.executions().unwrap().len(), 1);
        assert_eq!(bench.ledger.read().unwrap().about_tasks(), ["tasks/get"; 3]);
    }
}

#[test]
fn faults_are_counted_over_the_ledger_or_within_a_start() {
    let bench = Bench::new();
    let scenario = put()
        .on_call(1, Fault::DieAfterCommit)
        .on_call(3, Fault::Hang)
        .from_start(2, put().on_call(3, Fault::DieAfterCommit).on_call_of_start(1, Fault::AnswerTwice));
    let mut first = bench.ready(&scenario);
    first.call("a");
    assert_eq!(first.exit_code(), DEATH);
    let mut second = bench.ready(&scenario);
    let id = second.call("b");
    assert_eq!([second.message(), second.message()], [answer(id), answer(id)]);
    second.call("c");
    assert_eq!(second.exit_code(), DEATH);
    let record = bench.ledger.read().unwrap();
    assert_eq!(record.faults(), ["die_after_commit", "answer_twice", "die_after_commit"]);
    assert_eq!(
        record.executions().iter().map(|e| (e.start, &e.key)).collect::<Vec<_>>(),
        [(1, &json!("a")), (2, &json!("b")), (2, &json!("c"))]
    );
}

#[test]
fn equal_arguments_have_equal_digests() {
    let bench = Bench::new();
    let mut server = bench.ready(&put().on_every_call(Fault::Hang));
    for key in ["a", "b", "a"] {
        server.call(key);
    }
    let record = bench.wait(|record| record.received().len() == 3);
    let digests: Vec<_> = record.received().into_iter().map(|call| call.arguments).collect();
    assert_eq!(digests[0], digests[2]);
    assert_ne!(digests[0], digests[1]);
}
