//! What is read of a call, and what becomes of the pipes.
use super::{
    DEATH, answer,
    driver::{Bench, PATIENCE, runs},
    put,
};
use mcp_tool_cli::fault_server::{Exit, Fault, When};
use serde_json::json;
use std::{fs, io::ErrorKind, io::Write, sync::mpsc::channel, thread};

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
