//! Compares what was seen with what is right, and holds it against what is true of every row.

use std::collections::HashSet;

use mcp_tool_cli::fault_server::{Event, Record};

use crate::{
    axes::Era,
    gate::{self, End},
    oracle,
    row::Row,
    stage::{self, Seen},
};

/// Plays a row, and says what is wrong with it, as text; none when it came out as it must.
pub(crate) async fn judged(row: Row) -> Option<String> {
    let seen = stage::play(row).await;
    let mut complaints = Vec::new();
    let right = oracle::right(row);
    if !right.contains(&seen.outcome) {
        complaints.push(format!("seen  {:?}", seen.outcome));
        complaints.extend(right.iter().map(|right| format!("right {right:?}")));
    }
    complaints.extend(broken_invariants(row, &seen).into_iter().map(str::to_owned));
    if complaints.is_empty() {
        return None;
    }
    complaints.push(format!("ledger {:?}", seen.record.events()));
    Some(format!("{row}\n  {}", complaints.join("\n  ")))
}

/// What holds whatever the fault, the hints and the trust are. Does not ask the oracle for the outcome.
fn broken_invariants(row: Row, seen: &Seen) -> Vec<&'static str> {
    let Seen { outcome, earlier_unknown, next_attempts, record } = seen;
    let executions = record.executions();
    let next = executions.iter().filter(|execution| execution.key == "next").count() as u32;
    let has_permission = gate::denial(row.hints, row.trust).is_none();
    let struck = row.strikes().is_none_or(|fault| record.faults().contains(&fault.name()));
    let says_so = earlier_unknown.is_none_or(|unknown| unknown == (outcome.replays > 0));
    let rules = [
        ("no ledger, no row", !record.starts().is_empty()),
        ("the fault struck", struck),
        ("one POST per attempt", outcome.posts == outcome.attempts),
        ("of the next call, too", record.received().len() as u32 == outcome.posts + next_attempts),
        ("executions ≤ attempts", outcome.executions <= outcome.attempts && next <= *next_attempts),
        ("without permission it ran at most once", has_permission || outcome.executions <= 1),
        ("the next call ran once, if its tool is there", next == u32::from(outcome.next == gate::RAN)),
        (
            "not executed means that it did not run",
            !matches!(outcome.end, End::NotExecuted(_)) || outcome.executions == 0,
        ),
        ("a result means that it ran", !matches!(outcome.end, End::Result(_)) || outcome.executions >= 1),
        ("attempts = 1 + replays", outcome.attempts == outcome.replays + u32::from(outcome.attempts > 0)),
        ("an answer to a replay says that the call may have run before", says_so),
        ("nothing else ran", outcome.executions + next == executions.len() as u32),
        ("an id is used once on its connection", ids_are_unique(record)),
        ("a call follows a listing of its connection", listed_before_called(record)),
        ("a call goes out again after another listing only", listed_before_called_again(record)),
        ("a replay carries the same arguments", arguments_are_the_calls(record)),
        ("without sessions none is ended", row.era == Era::Legacy || !has_deletes(record)),
    ];
    rules.into_iter().filter(|(_, holds)| !holds).map(|(rule, _)| rule).collect()
}

fn ids_are_unique(record: &Record) -> bool {
    let (mut connection, mut seen) = (0, HashSet::new());
    record.events().iter().all(|event| match event {
        Event::Handshake { .. } => {
            connection += 1;
            true
        }
        Event::Received(receipt) => seen.insert((connection, receipt.id.to_string())),
        _ => true,
    })
}

fn listed_before_called(record: &Record) -> bool {
    let mut listed = false;
    record.events().iter().all(|event| match event {
        Event::Handshake { .. } => {
            listed = false;
            true
        }
        Event::List(_) => {
            listed = true;
            true
        }
        Event::Received(_) => listed,
        _ => true,
    })
}

fn listed_before_called_again(record: &Record) -> bool {
    let mut called = HashSet::new();
    record.events().iter().all(|event| match event {
        Event::List(_) => {
            called.clear();
            true
        }
        Event::Received(receipt) => called.insert(receipt.arguments.clone()),
        _ => true,
    })
}

fn arguments_are_the_calls(record: &Record) -> bool {
    let arguments: HashSet<_> = record.received().into_iter().map(|receipt| receipt.arguments).collect();
    arguments.len() <= 2
}

fn has_deletes(record: &Record) -> bool {
    record.events().iter().any(|event| matches!(event, Event::Delete { .. }))
}
