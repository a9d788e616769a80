//! The fault server over Streamable HTTP from outside: raw sockets, with the ledger as the judge.
#![cfg(unix)]

#[path = "fault_server_http/driver.rs"]
mod driver;

use driver::{Bench, PATIENCE, Reply as Got, Server, answer, call, request};
use mcp_tool_cli::fault_server::{
    Ask, Era, Event, Exit, Fault, Http, HttpFault, Moment, Reply, Response, Resumed, Scenario, Sessions,
    Standalone, Stray, ToolSpec, Tools, When,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{ErrorKind, Read},
    net::TcpStream,
};

fn put() -> Scenario {
    Scenario::new().tool(ToolSpec::new("put").annotations(json!({"idempotentHint": true})))
}

fn put_over(http: Http) -> Scenario {
    put().http(http)
}

fn event(id: Option<&str>, data: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}data: {data}\n\n")
}

/// What the ledger says of one call with a fault: received once, and executed so often.
fn assert_judged(bench: &Bench, fault: &Fault, executed: usize) {
    let record = bench.ledger.read().unwrap();
    assert_eq!((record.received().len(), record.executions().len()), (1, executed), "{fault:?}");
    assert_eq!(record.faults(), [fault.name()]);
}

#[test]
fn a_healthy_server_serves_a_session_from_its_making_to_its_end() {
    let bench = Bench::new();
    let mut server = bench.start(&put());
    assert_eq!(server.initialize()["result"]["protocolVersion"], "2025-11-25");
    let session = server.session.clone().unwrap();
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let told = server.post(&told).unwrap();
    assert_eq!((told.status, told.body.len()), (202, 0));
    let tools = server.post(&request(1, "tools/list", json!({}))).unwrap().message();
    assert_eq!(tools["result"]["tools"][0]["name"], "put");
    assert_eq!(server.call(2).unwrap().message(), answer(2));
    assert_eq!(Got::read(server.send("GET", "", "")).unwrap().status, 405);
    assert_eq!(Got::read(server.send("PUT", "", "")).unwrap().status, 405);
    assert_eq!(Got::read(server.send("POST", "", "{")).unwrap().message()["error"]["code"], -32700);
    assert_eq!(Got::read(server.send("DELETE", "", "")).unwrap().status, 204);
    assert_eq!(Got::read(server.send("DELETE", "", "")).unwrap().status, 404);
    assert_eq!(server.call(3).unwrap().status, 404);
    server.initialize();
    assert_ne!(server.session, Some(session));
    assert_eq!(server.end(), Some(0));

    let record = bench.ledger.read().unwrap();
    assert_eq!(record.received().iter().map(|call| call.id.clone()).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(record.executions().iter().map(|run| run.id.clone()).collect::<Vec<_>>(), [2]);
    assert_eq!((record.ended_sessions(), record.resumes()), (1, vec![]));
    assert_eq!((record.turned_away(), record.faults()), (vec!["tools/call".to_owned()], vec![]));
    assert_eq!(record.exits(), [Exit::Eof]);
}

#[test]
fn answers_come_as_a_body_or_as_events() {
    for (reply, prefix, id) in
        [(Reply::Sse, String::new(), None), (Reply::SseWithIds, event(Some("2.0"), ""), Some("2.1"))]
    {
        let bench = Bench::new();
        let mut server = bench.start(&put_over(Http::new().reply(reply)));
        let params = json!({"protocolVersion": "2025-11-25"});
        let welcome = server.post(&request(0, "initialize", params)).unwrap();
        assert!(welcome.stream().0.contains("2025-11-25"));
        server.session = welcome.header("mcp-session-id").map(str::to_owned);
        let (events, complete) = server.call(1).unwrap().stream();
        assert_eq!(events, prefix + &event(id, &answer(1).to_string()));
        assert!(complete);
    }
}

#[test]
fn one_connection_serves_many_requests() {
    use std::io::Write;
    let bench = Bench::new();
    let server = bench.start(&put_over(Http::new().sessions(Sessions::Stateless)));
    let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut seen = Vec::new();
    for id in [1, 2] {
        let body = call(id).to_string();
        write!(socket, "POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let last = answer(id).to_string();
        while !seen.ends_with(last.as_bytes()) {
            let mut some = [0; 512];
            let length = socket.read(&mut some).unwrap();
            assert!(length > 0);
            seen.extend_from_slice(&some[..length]);
        }
    }
    assert_eq!(bench.ledger.executions().unwrap().len(), 2);
}

#[test]
fn a_session_is_known_only_to_the_process_that_made_it() {
    for (sessions, status) in [(Sessions::NotFound, 404), (Sessions::BadRequest, 400)] {
        let bench = Bench::new();
        let scenario = put_over(Http::new().sessions(sessions));
        let mut first = bench.ready(&scenario);
        let (port, session) = (first.port, first.session.clone());
        first.child.kill().unwrap();
        first.child.wait().unwrap();
        let mut second = bench.start_on(&scenario, port);
        assert_eq!(second.port, port);
        second.session = session;
        let refused = second.call(1).unwrap();
        assert_eq!((refused.status, refused.message()["id"].clone()), (status, Value::Null));
        second.session = None;
        assert_eq!(second.call(2).unwrap().status, 400);
        assert_eq!(bench.ledger.executions().unwrap(), []);
        assert_eq!(bench.ledger.received().unwrap().len(), 2);
        second.initialize();
        assert_eq!(second.call(3).unwrap().message(), answer(3));
    }
}

#[test]
fn a_stateless_server_makes_no_session_and_asks_for_none() {
    let bench = Bench::new();
    let mut server = bench.ready(&put_over(Http::new().sessions(Sessions::Stateless)));
    assert_eq!(server.session, None);
    server.session = Some("another's".to_owned());
    assert_eq!(server.call(1).unwrap().message(), answer(1));
}

#[test]
fn a_modern_server_needs_no_session() {
    let bench = Bench::new();
    let server = bench.start(&put().era(Era::Modern));
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let found = server.post(&request(0, "server/discover", json!({"_meta": meta}))).unwrap();
    assert_eq!(found.header("mcp-session-id"), None);
    assert_eq!(found.message()["result"]["supportedVersions"], json!(["2026-07-28"]));
    let page = server.post(&request(1, "tools/list", json!({"_meta": meta}))).unwrap().message();
    assert_eq!(page["result"]["cacheScope"], "private");
    let called = server.post(&request(2, "tools/call", json!({"name": "put", "_meta": meta}))).unwrap();
    assert_eq!(called.message()["result"]["resultType"], "complete");
    let initialize = server.post(&request(3, "initialize", json!({}))).unwrap();
    assert_eq!(initialize.message()["error"]["code"], -32601);
    assert_eq!(server.call(4).unwrap().status, 400);
    let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(server.post(&told).unwrap().status, 202);
    assert_eq!(bench.ledger.cancellations().unwrap().len(), 1);
    assert_eq!(bench.ledger.executions().unwrap().len(), 1);
}

#[test]
fn a_legacy_server_refuses_discovery_for_want_of_a_session() {
    let bench = Bench::new();
    let server = bench.start(&put());
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    assert_eq!(server.post(&request(0, "server/discover", json!({"_meta": meta}))).unwrap().status, 400);
}

#[test]
fn each_response_in_place_of_an_answer_is_just_what_it_says() {
    let (before, after) = (Moment::BeforeCommit, Moment::AfterCommit);
    let page = "<html>down for maintenance</html>";
    let body = answer(7).to_string();
    let error = |id: Value| {
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no"}}).to_string()
    };
    let nginx = "<html><head><title>404 Not Found</title></head><body>nginx</body></html>\n";
    #[rustfmt::skip]
    let rows = [
        // moment, response,                                        executed, status, header,                                              body
        (after,  Response::new(404),                                       1, 404, ("content-length", "0"),                                    String::new()),
        (before, Response::new(404),                                       0, 404, ("content-length", "0"),                                    String::new()),
        (before, Response::unauthorised(),                                 0, 401, ("www-authenticate", r#"Bearer realm="fault", error="invalid_token""#), String::new()),
        (before, Response::new(403),                                       0, 403, ("content-length", "0"),                                    String::new()),
        (before, Response::too_many_requests(2),                           0, 429, ("retry-after", "2"),                                       String::new()),
        (before, Response::new(503),                                       0, 503, ("content-length", "0"),                                    String::new()),
        (after,  Response::new(503).text("text/plain", "later"),           1, 503, ("content-type", "text/plain"),                             "later".to_owned()),
        (after,  Response::new(500).rpc_error(-32603, "no"),               1, 500, ("content-type", "application/json"),                       error(json!(7))),
        (after,  Response::new(504).rpc_error_without_id(-32603, "no"),    1, 504, ("content-type", "application/json"),                       error(Value::Null)),
        (after,  Response::new(202),                                       1, 202, ("content-length", "0"),                                    String::new()),
        (before, Response::redirect(302),                                  0, 302, ("location", "/elsewhere"),                                 String::new()),
        (before, Response::redirect(307),                                  0, 307, ("location", "/elsewhere"),                                 String::new()),
        (after,  Response::new(200).text("text/html", page),               1, 200, ("content-type", "text/html"),                              page.to_owned()),
        (after,  Response::new(200).answer_as("text/html"),                1, 200, ("content-type", "text/html"),                              body),
        (before, Response::not_found_by_proxy(),                           0, 404, ("content-type", "text/html; charset=utf-8"),               nginx.to_owned()),
    ];
    for (moment, response, executed, status, (header, value), body) in rows {
        let bench = Bench::new();
        let fault = Fault::from(HttpFault::Respond(moment, response));
        let server = bench.ready(&put().on_call(1, fault.clone()));
        let reply = server.call(7).unwrap();
        assert_eq!(reply.status, status, "{fault:?}");
        assert_eq!(reply.header(header), Some(value), "{fault:?}");
        assert_eq!(String::from_utf8(reply.body).unwrap(), body, "{fault:?}");
        assert_judged(&bench, &fault, executed);
        assert_eq!(server.call(8).unwrap().message(), answer(8), "after {fault:?}");
    }
}

#[test]
fn a_response_without_content_announces_no_length() {
    let bench = Bench::new();
    let fault = HttpFault::Respond(Moment::AfterCommit, Response::new(204));
    let server = bench.ready(&put().on_call(1, fault));
    let reply = server.call(1).unwrap();
    assert_eq!((reply.status, reply.header("content-length"), reply.body.len()), (204, None, 0));
    assert_eq!(bench.ledger.executions().unwrap().len(), 1);
}

#[test]
fn a_redirect_that_is_followed_runs_the_tool() {
    let bench = Bench::new();
    let fault = HttpFault::Respond(Moment::AfterCommit, Response::redirect(307));
    let server = bench.ready(&put().on_call(1, fault));
    assert_eq!(server.call(1).unwrap().status, 307);
    assert_eq!(server.call(1).unwrap().message(), answer(1));
    let record = bench.ledger.read().unwrap();
    assert_eq!(record.received().iter().map(|call| call.id.clone()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(record.executions().len(), 2);
}

#[test]
fn a_reset_is_a_reset_and_says_nothing_else() {
    for (moment, executed) in [(Moment::BeforeCommit, 0), (Moment::AfterCommit, 1)] {
        let bench = Bench::new();
        let fault = Fault::from(HttpFault::Reset(moment));
        let server = bench.ready(&put().on_call(1, fault.clone()));
        assert_eq!(server.call(1).unwrap_err().kind(), ErrorKind::ConnectionReset, "{moment:?}");
        assert_judged(&bench, &fault, executed);
    }
}

#[test]
fn a_late_reset_waits_for_its_moment() {
    let bench = Bench::new();
    let trigger = bench.folder.path().join("now");
    let fault = Fault::from(HttpFault::ResetLate { when: When::Trigger(trigger.clone()) });
    let server = bench.ready(&put().on_call(1, fault.clone()));
    let waiting = server.send("POST", "", &call(1).to_string());
    bench.wait(|record| record.executions().len() == 1);
    assert_judged(&bench, &fault, 1);
    // Others are served meanwhile.
    assert_eq!(server.call(2).unwrap().message(), answer(2));
    fs::write(trigger, "").unwrap();
    assert_eq!(Got::read(waiting).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn cut_answers_break_off_after_the_commit() {
    let text = answer(1).to_string();
    let bench = Bench::new();
    let fault = Fault::from(HttpFault::JsonCut);
    let reply = bench.ready(&put().on_call(1, fault.clone())).call(1).unwrap();
    assert_eq!(reply.header("content-length"), Some(&*text.len().to_string()));
    assert_eq!(reply.body, text.as_bytes()[..text.len() / 2]);
    assert_judged(&bench, &fault, 1);

    let bench = Bench::new();
    let fault = Fault::from(HttpFault::SseCut);
    let reply = bench.ready(&put().on_call(1, fault.clone())).call(1).unwrap();
    let whole = event(None, &text);
    assert_eq!(reply.stream(), (whole[..whole.len() / 2].to_owned(), false));
    assert_judged(&bench, &fault, 1);

    let bench = Bench::new();
    let fault = Fault::from(HttpFault::SseEnds);
    let reply = bench.ready(&put().on_call(1, fault.clone())).call(1).unwrap();
    assert_eq!(reply.stream(), (String::new(), true));
    assert_judged(&bench, &fault, 1);
}

#[test]
fn a_stream_that_ended_after_an_event_id_is_resumed_as_told() {
    let after_id = |resumed| Fault::from(HttpFault::SseEndsAfterId { resumed });
    let answered = event(Some("1.1"), &answer(1).to_string());
    let begin = |bench: &Bench, resumed| {
        let server = bench.ready(&put().on_call(1, after_id(resumed)));
        assert_eq!(server.call(1).unwrap().stream(), (event(Some("1.0"), ""), true));
        assert_judged(bench, &after_id(resumed), 1);
        server
    };
    for (resumed, events) in [(Resumed::Answer, answered), (Resumed::Empty, String::new())] {
        let bench = Bench::new();
        let server = begin(&bench, resumed);
        for _ in 0..2 {
            assert_eq!(server.resume("1.0").stream(), (events.clone(), true));
        }
        assert_eq!(server.resume("1.1").stream(), (String::new(), true));
        assert_eq!(server.resume("9.0").status, 404);
        assert_eq!(bench.ledger.read().unwrap().resumes(), ["1.0", "1.0", "1.1", "9.0"]);
    }
    for status in [404, 405, 503] {
        let bench = Bench::new();
        let server = begin(&bench, Resumed::Status(status));
        assert_eq!(server.resume("1.0").status, status);
        assert_eq!(bench.ledger.executions().unwrap().len(), 1);
    }
}

#[test]
fn a_client_is_told_how_long_to_wait_before_it_resumes() {
    let bench = Bench::new();
    let fault = Fault::from(HttpFault::SseEndsAfterId { resumed: Resumed::Empty });
    let server = bench.ready(&put_over(Http::new().retry_ms(7)).on_call(1, fault));
    assert_eq!(server.call(1).unwrap().stream(), ("retry: 7\n".to_owned() + &event(Some("1.0"), ""), true));
    assert_eq!(server.resume("1.0").stream(), ("retry: 7\n\n".to_owned(), true));
}

#[test]
fn a_resumed_stream_waits_for_a_late_answer() {
    let bench = Bench::new();
    let trigger = bench.folder.path().join("now");
    let late = Fault::AnswerLate { when: When::Trigger(trigger.clone()) };
    let mut server = bench.start(&put_over(Http::new().reply(Reply::SseWithIds)).on_call(1, late));
    let welcome = server.post(&request(0, "initialize", json!({}))).unwrap();
    server.session = welcome.header("mcp-session-id").map(str::to_owned);
    let mut first = server.send("POST", "", &call(1).to_string());
    let mut seen = String::new();
    while !seen.contains("id: 2.0") {
        let mut some = [0; 512];
        let length = first.read(&mut some).unwrap();
        seen.push_str(std::str::from_utf8(&some[..length]).unwrap());
    }
    drop(first);
    let resumed = server.send("GET", "Last-Event-ID: 2.0\r\n", "");
    bench.wait(|record| record.resumes() == ["2.0"]);
    fs::write(trigger, "").unwrap();
    let rest = Got::read(resumed).unwrap().stream();
    assert_eq!(rest, (event(Some("2.1"), &answer(1).to_string()), true));
}

#[test]
fn the_faults_of_every_front_strike_over_http_too() {
    let half = answer(1).to_string().len() / 2;
    let wrong_id = json!({"jsonrpc": "2.0", "id": 4_000_000_007_u64, "result": answer(1)["result"]});
    let bench = Bench::new();
    let scenario = put()
        .on_call(1, Fault::AnswerWrongId)
        .on_call(2, Fault::AnswerNoToolResult)
        .on_call(3, Fault::lost_connection_error())
        .on_call(4, Fault::lost_connection_result())
        .on_call(5, Fault::AnswerHuge { bytes: 1 << 20 })
        .on_call(6, Fault::AnswerTwice)
        .on_call(7, Fault::Stray { lines: vec![Stray::NotJson] })
        .on_call(8, Fault::DieMidAnswer);
    let mut server = bench.ready(&scenario);
    assert_eq!(server.call(1).unwrap().message(), wrong_id);
    assert_eq!(server.call(2).unwrap().message()["result"], json!({"weather": "fine"}));
    assert_eq!(server.call(3).unwrap().message()["error"]["code"], -32603);
    assert_eq!(server.call(4).unwrap().message()["result"]["isError"], true);
    assert!(server.call(5).unwrap().body.len() > 1 << 20);
    let once = event(None, &answer(6).to_string());
    assert_eq!(server.call(6).unwrap().stream(), (format!("{once}{once}"), true));
    let stray = event(None, "warning: cache is cold, warming up...");
    assert_eq!(server.call(7).unwrap().stream(), (stray + &event(None, &answer(7).to_string()), true));
    assert_eq!(server.call(8).unwrap().body.len(), half);
    assert_eq!(server.child.wait().unwrap().code(), Some(70));
    assert_eq!(bench.ledger.executions().unwrap().len(), 8);
}

#[test]
fn a_server_dies_before_and_after_the_commit() {
    for (fault, executed) in [(Fault::DieBeforeCommit, 0), (Fault::DieAfterCommit, 1)] {
        let bench = Bench::new();
        let mut server = bench.ready(&put().on_call(1, fault.clone()));
        assert_eq!(server.call(1).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(server.child.wait().unwrap().code(), Some(70));
        assert_judged(&bench, &fault, executed);
    }
}

#[test]
fn a_call_that_hangs_holds_up_no_other() {
    for (fault, executed) in [(Fault::HangBeforeCommit, 0), (Fault::Hang, 1)] {
        let bench = Bench::new();
        let server = bench.ready(&put().on_call(1, fault));
        let hanging = server.send("POST", "", &call(1).to_string());
        bench.wait(|record| record.faults().len() == 1);
        assert_eq!(bench.ledger.executions().unwrap().len(), executed);
        assert_eq!(server.call(2).unwrap().message(), answer(2));
        hanging.set_nonblocking(true).unwrap();
        assert_eq!((&hanging).read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn a_question_is_an_event_and_its_answer_another_post() {
    let bench = Bench::new();
    let server = bench.ready(&put().on_call(1, Fault::Ask { what: Ask::Ping }));
    let mut stream = server.send("POST", "", &call(1).to_string());
    heard(&mut stream, r#""method":"ping""#);
    let reply = json!({"jsonrpc": "2.0", "id": "ask-1", "result": {}});
    assert_eq!(server.post(&reply).unwrap().status, 202);
    heard(&mut stream, &event(None, &answer(1).to_string()));
    heard(&mut stream, "0\r\n\r\n");
}

#[test]
fn changed_tools_are_announced_on_the_standalone_stream() {
    let bench = Bench::new();
    let http = Http::new().standalone(Standalone::Open);
    let change = Fault::ChangeTools { tools: Tools::new() };
    let server = bench.ready(&put_over(http).on_call(1, change));
    let mut stream = server.send("GET", "", "");
    heard(&mut stream, "text/event-stream");
    assert_eq!(server.call(1).unwrap().message(), answer(1));
    heard(&mut stream, "notifications/tools/list_changed");
}

#[test]
fn changed_tools_are_announced_to_a_modern_subscription() {
    let bench = Bench::new();
    let change = Fault::ChangeTools { tools: Tools::new() };
    let server = bench.start(&put().era(Era::Modern).on_call(1, change));
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let wanted = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    let mut stream = server.send("POST", "", &request(1, "subscriptions/listen", wanted).to_string());
    heard(&mut stream, "acknowledged");
    server.post(&request(2, "tools/call", json!({"name": "put", "_meta": meta}))).unwrap();
    heard(&mut stream, "notifications/tools/list_changed");
}

/// Reads just as far as the end of this text.
fn heard(stream: &mut TcpStream, text: &str) {
    let mut seen = Vec::new();
    while !seen.ends_with(text.as_bytes()) {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "the stream ended before {text}");
        seen.extend_from_slice(&byte);
    }
}

#[test]
fn connections_are_refused_until_the_server_listens() {
    let bench = Bench::new();
    let trigger = bench.folder.path().join("listen");
    let port = bench.start(&put()).port;
    let late = put_over(Http::new().listens(When::Trigger(trigger.clone())));
    let child = bench.spawn(&late, port);
    let _server = Server { child, port, session: None };
    bench.wait(|record| record.starts().len() == 2);
    let refused = TcpStream::connect(("127.0.0.1", port)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    fs::write(trigger, "").unwrap();
    bench.wait(|record| record.events().contains(&Event::Listening { start: 2, port }));
    TcpStream::connect(("127.0.0.1", port)).unwrap();
}

#[test]
fn a_handshake_may_get_anything() {
    let bench = Bench::new();
    let page = Response::new(200).text("text/html", "<html>hello</html>");
    let server = bench.start(&put_over(Http::new().handshake(page)));
    for method in ["initialize", "server/discover"] {
        let reply = server.post(&request(0, method, json!({}))).unwrap();
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/html")), "{method}");
    }
}

#[test]
fn a_fault_that_its_front_cannot_show_is_refused_at_the_start() {
    let bench = Bench::new();
    let over_pipes = put().on_call(1, HttpFault::SseEnds);
    let mut server = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-tool"));
    server.arg("fault-server").args(over_pipes.to_args(bench.ledger.path()));
    assert_eq!(server.output().unwrap().status.code(), Some(2));
    let mut over_http = bench.spawn(&put().from_start(2, put().on_call(1, Fault::CloseStdout)), 0);
    assert_eq!(over_http.wait().unwrap().code(), Some(2));
    assert!(bench.ledger.starts().unwrap().is_empty());
}

#[test]
fn an_http_scenario_survives_its_json() {
    let http = Http::new()
        .reply(Reply::SseWithIds)
        .sessions(Sessions::BadRequest)
        .standalone(Standalone::Open)
        .listens(When::Millis(3))
        .handshake(Response::new(500).rpc_error(1, "no"));
    let scenario = put_over(http)
        .on_call(1, HttpFault::SseEndsAfterId { resumed: Resumed::Status(503) })
        .on_call(2, HttpFault::Respond(Moment::AfterCommit, Response::redirect(307)));
    let arguments = scenario.to_args("ledger".as_ref());
    let json = arguments[3].to_str().unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(json).unwrap(), scenario);
}
