//! The fault server from outside: a raw client over pipes, with the ledger as the judge.
#![cfg(unix)]

#[path = "fault_server/driver.rs"]
mod driver;

use driver::{Bench, PATIENCE, Server, assert_gone, runs};
use mcp_tool_cli::fault_server::{
    Ask, Cursors, Ending, Era, Event, Exit, Fault, Holds, Ledger, PageFault, Scenario, Startup, Stray,
    ToolSpec, Tools, When,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{ErrorKind, Read, Write},
    os::unix::process::ExitStatusExt,
    sync::mpsc::channel,
    thread,
};

const DEATH: Option<i32> = Some(70);

fn put() -> Scenario {
    Scenario::new().tool(ToolSpec::new("put").annotations(json!({"idempotentHint": true})))
}

/// The good answer to a call.
fn answer(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "put ran"}], "isError": false}})
}

fn text_of(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap()
}

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
fn an_unread_call_stays_in_the_pipe_when_the_server_dies() {
    let bench = Bench::new();
    let trigger = bench.file("die");
    let scenario = put().on_call(2, Fault::DieUnread { when: When::Trigger(trigger.clone()) });
    let mut server = bench.ready(&scenario);
    let first = server.call("a");
    assert_eq!(server.message(), answer(first));
    bench.wait(|record| record.faults() == ["die_unread"]);
    server.call("b");
    fs::write(trigger, "").unwrap();
    assert_eq!(server.line(), None);
    let left = String::from_utf8(server.unread()).unwrap();
    assert!(left.starts_with('{') && left.contains(r#""key":"b""#) && left.ends_with("}\n"), "{left}");
    assert_eq!(bench.ledger.received().unwrap().len(), 1);
    assert_eq!(bench.ledger.read().unwrap().exits(), [Exit::Fault]);
}

#[test]
fn the_first_call_stays_unread_once_the_tools_are_listed() {
    let bench = Bench::new();
    let scenario = put().on_call(1, Fault::DieUnread { when: When::Millis(0) });
    let server = bench.ready(&scenario);
    assert_eq!(server.line(), None);
    assert_eq!(server.exit_code(), DEATH);
    assert_eq!(bench.ledger.read().unwrap().faults(), ["die_unread"]);
}

#[test]
fn of_a_cut_call_exactly_the_wanted_bytes_are_read() {
    for bytes in [0, 60, 100] {
        let bench = Bench::new();
        let mut server = bench.ready(&put().on_call(1, Fault::DieMidRead { bytes }));
        let call = json!({"jsonrpc": "2.0", "method": "tools/call", "id": 7, "params": {"name": "put", "arguments": {"key": "x".repeat(100)}}});
        let line = format!("{call}\n");
        let named = line.find("tools/call").unwrap() + "tools/call".len() + 1;
        server.stdin.write_all(line.as_bytes()).unwrap();
        assert_eq!(server.line(), None);
        assert_eq!(server.unread(), line.as_bytes()[bytes.max(named)..], "{bytes}");
        let record = bench.ledger.read().unwrap();
        assert_eq!((record.received(), record.faults()), (vec![], vec!["die_mid_read".to_owned()]));
    }
}

#[test]
fn a_server_that_stopped_reading_lets_its_pipe_fill_up() {
    let bench = Bench::new();
    let mut server = bench.ready(&put().on_call(1, Fault::StopReading));
    bench.wait(|record| record.faults() == ["stop_reading"]);
    server.leave_reading_to_the_server();
    let mut stdin = server.stdin.try_clone().unwrap();
    let (done, result) = channel();
    thread::spawn(move || done.send(stdin.write_all(&vec![b' '; 1 << 20]).map_err(|error| error.kind())));
    server.signal("KILL");
    assert_eq!(server.line(), None);
    assert_eq!(result.recv_timeout(PATIENCE).unwrap(), Err(ErrorKind::BrokenPipe));
    assert_eq!(bench.ledger.received().unwrap(), []);
}

#[test]
fn a_server_without_stdin_still_sends_what_is_due() {
    let bench = Bench::new();
    let trigger = bench.file("now");
    let scenario = put()
        .on_call(1, Fault::AnswerLate { when: When::Trigger(trigger.clone()) })
        .on_call(2, Fault::CloseStdin);
    let mut server = bench.ready(&scenario);
    server.leave_reading_to_the_server();
    let pid = server.child.id();
    let first = server.call("a");
    while server.send(&json!({"jsonrpc": "2.0", "method": "notifications/none"})).is_ok() {
        thread::yield_now();
    }
    fs::write(trigger, "").unwrap();
    assert_eq!(server.message(), answer(first));
    assert!(runs(pid));
    let record = bench.ledger.read().unwrap();
    assert_eq!(
        (record.starts(), record.faults()),
        (vec![pid], vec!["answer_late".into(), "close_stdin".into()])
    );
    assert_eq!(record.received().len(), 1);
}

#[test]
fn a_server_without_stdout_goes_on_running_what_it_reads() {
    let bench = Bench::new();
    let mut server = bench.ready(&put().on_call(1, Fault::CloseStdout));
    let pid = server.child.id();
    server.call("a");
    assert_eq!(server.line(), None);
    server.call("b");
    let record = bench.wait(|record| record.executions().len() == 2);
    assert_eq!(
        record.received().iter().map(|call| (call.start, call.call)).collect::<Vec<_>>(),
        [(1, 1), (1, 2)]
    );
    assert_eq!(record.starts(), [pid]);
    assert_eq!(server.end(), (Some(0), vec![]));
}

#[test]
fn a_question_comes_before_the_answer() {
    for (what, method) in
        [(Ask::Roots, "roots/list"), (Ask::Elicitation, "elicitation/create"), (Ask::Ping, "ping")]
    {
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

#[test]
fn starts_fail_as_told() {
    let bench = Bench::new();
    let server = bench.start(&put().startup(Startup::Exit { code: 3 }));
    assert_eq!((server.line(), server.exit_code()), (None, Some(3)));

    let bench = Bench::new();
    let scenario = put().startup(Startup::ExitFirst { starts: 2 });
    for _ in 0..2 {
        assert_eq!(bench.start(&scenario).exit_code(), Some(1));
    }
    assert_eq!(bench.ready(&scenario).end(), (Some(0), vec![]));
    assert_eq!(bench.ledger.starts().unwrap().len(), 3);

    let bench = Bench::new();
    let mut server = bench.start(&put().startup(Startup::Banner { line: "hello".into() }));
    assert_eq!(server.line().unwrap(), b"hello\n");
    server.initialize("2025-11-25");

    let bench = Bench::new();
    let mut server = bench.start(&put().startup(Startup::NeverAnswers));
    server.request("initialize", json!({"protocolVersion": "2025-11-25"}));
    server.request("server/discover", json!({}));
    server.ping();
}

#[test]
fn an_idle_server_dies_at_its_moment() {
    let bench = Bench::new();
    let trigger = bench.file("die");
    let mut server = bench.ready(&put().dies(When::Trigger(trigger.clone())));
    server.ping();
    fs::write(trigger, "").unwrap();
    assert_eq!((server.line(), server.exit_code()), (None, DEATH));

    let bench = Bench::new();
    assert_eq!(bench.start(&put().dies(When::Millis(1))).exit_code(), DEATH);
}

#[test]
fn a_server_outlives_what_it_was_told_to_outlive() {
    let bench = Bench::new();
    let mut server = bench.ready(&put().ending(Ending::AtSignal));
    let stdin = std::io::pipe().unwrap().1;
    server.stdin = stdin;
    bench.wait(|record| record.faults() == ["ignores_eof"]);
    server.signal("TERM");
    assert_eq!(server.wait().signal(), Some(15));

    let bench = Bench::new();
    let mut server = bench.ready(&put().ending(Ending::AtKill));
    for signal in ["TERM", "INT", "HUP"] {
        server.signal(signal);
        server.ping();
    }
    server.stdin = std::io::pipe().unwrap().1;
    bench.wait(|record| record.faults() == ["ignores_eof"]);
    server.signal("KILL");
    assert_eq!(server.wait().signal(), Some(9));
    assert_eq!(bench.ledger.starts().unwrap(), [server.child.id()]);
}

#[test]
fn a_grandchild_lives_in_the_group_and_holds_what_it_inherited() {
    #[rustfmt::skip]
    let rows = [
        (Holds::Nothing, [false, false, false]),
        (Holds::Stdin,   [true,  false, false]),
        (Holds::Stdout,  [false, true,  false]),
        (Holds::Stderr,  [false, false, true]),
        (Holds::All,     [true,  true,  true]),
    ];
    for (holds, pipes) in rows {
        let bench = Bench::new();
        let mut server = bench.ready(&put().grandchild(holds));
        let [_, grandchild] = bench.ledger.pids().unwrap()[..] else { panic!("no grandchild") };
        server.leave_reading_to_the_server();
        server.signal("KILL");
        server.wait();
        assert!(runs(grandchild), "{holds:?}");
        if cfg!(target_os = "linux") {
            let target = |stream: usize| fs::read_link(format!("/proc/{grandchild}/fd/{stream}")).unwrap();
            assert_eq!(
                [0, 1, 2].map(|stream| target(stream).starts_with("/dev/null")),
                pipes.map(|pipe| !pipe)
            );
        }
        let [stdin, stdout, stderr] = pipes;
        assert_eq!(server.send(&json!({})).is_ok(), stdin, "{holds:?}");
        if !stdout {
            assert_eq!(server.line(), None, "{holds:?}");
        }
        if !stderr {
            assert_eq!(server.stderr.read_to_end(&mut Vec::new()).unwrap(), 0, "{holds:?}");
        }
        server.signal_group("KILL");
        assert_eq!(server.line(), None, "{holds:?}");
        assert_gone(grandchild);
    }
}

#[test]
fn a_server_that_goes_on_as_another_image_has_one_child() {
    let bench = Bench::new();
    let scenario = put().ending(Ending::AtKill).grandchild(Holds::Nothing).on_call(1, Fault::CloseStdout);
    let mut server = bench.ready(&scenario);
    assert_eq!(bench.ledger.pids().unwrap().len(), 2);
    server.call("a");
    assert_eq!(server.line(), None);
    server.call("b");
    let record = bench.wait(|record| record.executions().len() == 2);
    assert_eq!((record.starts().len(), record.pids().len()), (1, 2));
}

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

#[test]
fn a_last_call_without_its_newline_is_run() {
    let bench = Bench::new();
    let mut server = bench.ready(&put());
    server
        .stdin
        .write_all(br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"put"}}"#)
        .unwrap();
    let (code, said) = server.end();
    assert_eq!((code, said.len()), (Some(0), 1));
    assert_eq!(bench.ledger.executions().unwrap().len(), 1);
}

#[test]
fn wrong_arguments_are_refused_before_a_ledger_is_touched() {
    let bench = Bench::new();
    let ledger = bench.file("other.jsonl");
    let ledger = ledger.to_str().unwrap();
    for arguments in [
        &["--ledger", ledger][..],
        &["--scenario", "{}"],
        &["--ledger", ledger, "--scenario", "{"],
        &["--ledger", ledger, "--scenario", r#"{"tool": []}"#],
        &["--ledger", ledger, "--scenario-file", "/does/not/exist"],
        &["--ledger"],
        &["--what"],
    ] {
        let mut server = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-tool"));
        let output = server.arg("fault-server").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("usage"));
    }
    assert!(!fs::exists(ledger).unwrap());
}

#[test]
fn a_scenario_may_come_from_a_file() {
    let bench = Bench::new();
    let file = bench.file("scenario.json");
    fs::write(&file, serde_json::to_string(&put().startup(Startup::Exit { code: 5 })).unwrap()).unwrap();
    let mut server = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-tool"));
    server.arg("fault-server").arg("--ledger").arg(bench.ledger.path()).arg("--scenario-file").arg(file);
    assert_eq!(server.status().unwrap().code(), Some(5));
}

#[test]
fn a_scenario_survives_its_json() {
    let scenario = put()
        .tools(Tools::new().with(ToolSpec::new("put").padding(3)).with_numbered("t", 2))
        .cursors(Cursors::Cycle { pages: 2 })
        .on_page(1, PageFault::Hang)
        .on_call_of_start(2, Fault::AnswerLate { when: When::Millis(3) })
        .startup(Startup::NeverAnswers)
        .grandchild(Holds::All)
        .ending(Ending::AtKill)
        .from_start(2, put().from_start(3, Scenario::new()));
    let arguments = scenario.to_args("ledger".as_ref());
    let json = arguments[3].to_str().unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(json).unwrap(), scenario);
}

#[test]
fn a_torn_last_line_is_left_out_and_a_broken_one_is_an_error() {
    let bench = Bench::new();
    let file = bench.file("torn.jsonl");
    let ledger = Ledger::new(&file);
    assert_eq!(ledger.executions().unwrap(), []);
    let line = "{\"event\":\"start\",\"pid\":1}\n";
    fs::write(&file, format!("{line}{{\"event\":\"sta")).unwrap();
    assert_eq!(ledger.starts().unwrap(), [1]);
    fs::write(&file, format!("{line}{{\"event\":\"sta\n{line}")).unwrap();
    assert_eq!(ledger.starts().unwrap_err().kind(), ErrorKind::InvalidData);
    fs::write(&file, line).unwrap();
    let waited = ledger.wait_for(std::time::Duration::ZERO, |record| record.starts().len() == 2);
    assert_eq!(waited.unwrap_err().kind(), ErrorKind::TimedOut);
    let folder = Ledger::new(file.parent().unwrap());
    assert!(folder.executions().is_err());
}
