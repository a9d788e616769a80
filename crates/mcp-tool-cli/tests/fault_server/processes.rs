//! How a server's process starts, lives and ends.
use super::{
    DEATH,
    driver::{Bench, assert_gone, runs},
    put,
};
use mcp_tool_cli::fault_server::{Ending, Fault, Holds, Startup, When};
use serde_json::json;
use std::{fs, io::Read, os::unix::process::ExitStatusExt};

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
