//! Rows that were played, for a person and for a program.

use std::{fmt::Write as _, io::IsTerminal};

use mcp_tool::replay_policy::Decision;
use mcp_tool_cli::{
    drill::{Transport, Verdict, timeline},
    fault_server::Event,
};
use serde_json::{Value, json};

use super::row::Played;
use crate::command::columns;

/// Whether each call that the server read is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    Shown,
    Hidden,
}

/// A call that the server read.
struct Call {
    start: u32,
    id: Value,
    ran: bool,
}

const HEADS: [&str; 5] = ["FAULT", "HINTS", "RAN", "THE CLIENT SAID", "VERDICT"];

/// A table per transport, below each row what happened, and a summary.
pub(super) fn text(rows: &[Played], calls: Calls) -> String {
    let width = width();
    let mut text = String::new();
    for (transport, name) in [(Transport::Stdio, "stdio"), (Transport::Http, "Streamable HTTP")] {
        let rows: Vec<_> = rows.iter().filter(|row| row.subject.transport == transport).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(text, "over {name}:");
        let lines: Vec<_> =
            std::iter::once(HEADS.map(str::to_owned)).chain(rows.iter().map(|row| cells(row))).collect();
        let mut table = String::new();
        columns::aligned(&mut table, &lines);
        let mut lines = table.lines();
        let _ = writeln!(text, "{}", lines.next().unwrap_or_default());
        for (line, row) in lines.zip(rows) {
            let _ = writeln!(text, "{line}");
            wrapped(&mut text, &timeline(&row.record, row.said), " > ", width);
            for why in why(row).into_iter().chain(missed(row)) {
                wrapped(&mut text, &why.split(' ').collect::<Vec<_>>(), " ", width);
            }
            if calls == Calls::Shown {
                for (number, call) in self::calls(row).iter().enumerate() {
                    let ran = if call.ran { "ran" } else { "did not run" };
                    let _ = writeln!(
                        text,
                        "      call {}: start {}, id {}, {ran}",
                        number + 1,
                        call.start,
                        call.id
                    );
                }
            }
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(rows));
    text
}

fn cells(row: &Played) -> [String; 5] {
    [
        row.subject.fault.name().to_owned(),
        row.subject.hints.name().to_owned(),
        row.judgement.executions.to_string(),
        row.said.map_or("-", |said| said.text()).to_owned(),
        verdict(row).to_owned(),
    ]
}

fn verdict(row: &Played) -> &'static str {
    match row.judgement.verdict {
        Some(Verdict::Duplicate) => "DUPLICATE",
        Some(Verdict::FalseNotExecuted) => "FALSE \"not executed\"",
        Some(Verdict::FalseSuccess) => "FALSE success",
        Some(Verdict::Hung) => "hung",
        Some(Verdict::LostRecovery) => "lost recovery",
        Some(Verdict::Correct) if row.judgement.replayed => "correct, replayed",
        Some(Verdict::Correct) => "correct",
        None if row.judgement.replayed => "replayed",
        None => "no duplicate",
    }
}

/// What a verdict rests on, where the row does not show it.
fn why(row: &Played) -> Option<String> {
    match row.judgement.verdict? {
        Verdict::Duplicate => {
            Some(format!("it is not declared safe to run it twice: {}", reason(row).unwrap_or_default()))
        }
        Verdict::FalseNotExecuted => Some("whoever believes it runs it twice".to_owned()),
        Verdict::FalseSuccess => Some("it never ran".to_owned()),
        Verdict::LostRecovery => row.judgement.possible.map(|possible| possible.text().to_owned()),
        Verdict::Hung | Verdict::Correct => None,
    }
}

/// That the client was put to no test.
fn missed(row: &Played) -> Option<String> {
    let waits_for = row.subject.fault.waits_for().filter(|_| !row.judgement.struck)?;
    Some(format!("the fault did not strike: it waits for {waits_for}"))
}

/// Why the hints do not allow to run the tool again, as the policy has it.
fn reason(row: &Played) -> Option<&'static str> {
    match row.subject.hints.decision() {
        Decision::Replay => None,
        Decision::Deny(reason) => Some(reason.code()),
    }
}

/// Parts in as many lines as the terminal needs; in one where there is none.
fn wrapped(text: &mut String, parts: &[&str], between: &str, width: Option<usize>) {
    const INDENT: &str = "      ";
    let mut line = INDENT.to_owned();
    for (number, part) in parts.iter().enumerate() {
        let needed = line.chars().count() + between.len() + part.chars().count();
        if line != INDENT && width.is_some_and(|width| needed > width) {
            let _ = writeln!(text, "{}", line.trim_end());
            line = format!("{INDENT}{}", between.trim_start());
        } else if number > 0 {
            line.push_str(between);
        }
        line.push_str(part);
    }
    if line != INDENT {
        let _ = writeln!(text, "{line}");
    }
}

/// The columns of the terminal that standard output is; none for a pipe or a file.
fn width() -> Option<usize> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    #[cfg(unix)]
    let columns = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
    #[cfg(not(unix))]
    let columns = None;
    columns.filter(|columns| *columns > 0)
}

fn summary(rows: &[Played]) -> String {
    let counted = |verdict: Verdict| {
        let count = rows.iter().filter(|row| row.judgement.verdict == Some(verdict)).count();
        (count > 0).then(|| format!("{count} {}", verdict.code()))
    };
    let counts: Vec<_> = Verdict::ALL.into_iter().filter_map(counted).collect();
    let replayed = rows.iter().filter(|row| row.judgement.replayed).count();
    let rows = match rows.len() {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    };
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    match replayed {
        0 => format!("{rows}{counts}"),
        _ => format!("{rows}{counts}; {replayed} ran the tool again, as its hints allow"),
    }
}

/// All of it.
pub(super) fn json(rows: &[Played]) -> Value {
    let count = |verdict: Verdict| rows.iter().filter(|row| row.judgement.verdict == Some(verdict)).count();
    let mut summary: serde_json::Map<_, _> =
        Verdict::ALL.into_iter().map(|verdict| (verdict.code().to_owned(), json!(count(verdict)))).collect();
    summary.insert("rows".to_owned(), json!(rows.len()));
    json!({"rows": rows.iter().map(row_json).collect::<Vec<_>>(), "summary": summary})
}

/// One row.
pub(super) fn row_json(row: &Played) -> Value {
    let Played { subject, judgement, .. } = row;
    let call = |call: &Call| json!({"start": call.start, "id": call.id, "ran": call.ran});
    json!({
        "transport": subject.transport.name(),
        "fault": subject.fault.name(),
        "hints": {
            "name": subject.hints.name(),
            "annotations": subject.hints.annotations(),
            "repeatable": subject.hints.allow_repeating(),
            "reason": reason(row),
        },
        "struck": judgement.struck,
        "executions": judgement.executions,
        "said": row.said.map(|said| said.code()),
        "exit_code": row.exit_code,
        "verdict": judgement.verdict.map(Verdict::code),
        "replayed": judgement.replayed,
        "possible": judgement.possible.map(|possible| possible.code()),
        "timeline": timeline(&row.record, row.said),
        "calls": calls(row).iter().map(call).collect::<Vec<_>>(),
    })
}

fn calls(row: &Played) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for event in row.record.events() {
        match event {
            Event::Received(receipt) => {
                calls.push(Call { start: receipt.start, id: receipt.id.clone(), ran: false });
            }
            Event::Executed(execution) => {
                let of_it = |call: &&mut Call| call.start == execution.start && call.id == execution.id;
                if let Some(call) = calls.iter_mut().rev().find(of_it) {
                    call.ran = true;
                }
            }
            _ => {}
        }
    }
    calls
}
