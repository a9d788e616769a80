//! The forms in which scenarios and ledgers travel.
use super::{driver::Bench, put};
use mcp_tool_cli::fault_server::{
    Cursors, Ending, Fault, Holds, Ledger, PageFault, Scenario, Startup, ToolSpec, Tools, When,
};
use std::{fs, io::ErrorKind};

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
