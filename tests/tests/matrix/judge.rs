//! Compares what was seen with what is right, and holds it against what is true of every row.

use std::collections::HashSet;

use mcp_tool_cli::fault_server::{Event, Record};

use crate::{
    gate::{self, End},
    oracle,
    row::{Fault, Row},
    stage::{self, Seen},
};

/// Plays a row, and says what is wrong with it, as text; none when it came out as it must.
pub(crate) async fn judged(row: Row) -> Option<String> {
    let seen = &stage::play(row).await;
    let mut complaints = Vec::new();
    let right = oracle::right(row);
    if !right.contains(&seen.outcome) {
        complaints.push(format!("seen  {:?}", seen.outcome));
        complaints.extend(right.iter().map(|right| format!("right {right:?}")));
    }
    complaints.extend(broken_invariants(row, seen).into_iter().map(str::to_owned));
    if complaints.is_empty() {
        return None;
    }
    complaints.push(format!("ledger {:?}", seen.record.events()));
    Some(format!("{row}\n  {}", complaints.join("\n  ")))
}

/// What holds whatever the fault, the hints and the trust are. Does not ask the oracle for the outcome.
fn broken_invariants(row: Row, seen: &Seen) -> Vec<&'static str> {
    let Seen { outcome, earlier_unknown, second_attempts, record } = seen;
    let executions_of =
        |key: &str| record.executions().iter().filter(|execution| execution.key == key).count() as u32;
    let (first, second) = (executions_of("first"), executions_of("second"));
    let has_permission = gate::denial(row.hints, row.trust).is_none();
    let strikes = row.fault.strikes("".as_ref()).map(|fault| fault.name());
    let struck = strikes.is_none_or(|fault| record.faults().contains(&fault));
    let in_doubt = matches!(outcome.end, End::Unknown(_));
    let starts_nothing = has_permission || !in_doubt || outcome.starts == 1;
    let says_so = earlier_unknown.is_none_or(|unknown| unknown == (outcome.replays > 0));
    let rules = [
        ("no ledger, no row", !record.starts().is_empty()),
        ("the fault struck", struck),
        ("executions ≤ attempts", first <= outcome.attempts && second <= *second_attempts),
        ("without permission it ran at most once", has_permission || first <= 1),
        ("a second call ran once", outcome.second.is_none() || second == 1),
        ("not executed means that it did not run", !matches!(outcome.end, End::NotExecuted(_)) || first == 0),
        ("a result means that it ran", !matches!(outcome.end, End::Result(_)) || first >= 1),
        ("requests read ≤ attempts", outcome.received <= outcome.attempts + second_attempts),
        ("attempts = 1 + replays", outcome.attempts == outcome.replays + u32::from(outcome.attempts > 0)),
        ("an answer to a replay says that the call may have run before", says_so),
        ("nothing else ran", first + second == outcome.executions),
        ("an id is used once on its connection", ids_are_unique(record)),
        ("a call follows a listing of its process", listed_before_called(record)),
        ("a replay carries the same arguments", arguments_are_the_calls(row, record)),
        ("a call in doubt that may not run again starts nothing", starts_nothing),
    ];
    rules.into_iter().filter(|(_, holds)| !holds).map(|(rule, _)| rule).collect()
}

fn ids_are_unique(record: &Record) -> bool {
    let mut seen = HashSet::new();
    record.received().iter().all(|receipt| seen.insert((receipt.start, receipt.id.to_string())))
}

fn listed_before_called(record: &Record) -> bool {
    let mut listed = HashSet::new();
    record.events().iter().all(|event| match event {
        Event::Received(receipt) => listed.contains(&receipt.start),
        Event::List(listing) => {
            listed.insert(listing.start);
            true
        }
        _ => true,
    })
}

fn arguments_are_the_calls(row: Row, record: &Record) -> bool {
    let calls = if row.fault == Fault::LateAnswer { 2 } else { 1 };
    let arguments: HashSet<_> = record.received().into_iter().map(|receipt| receipt.arguments).collect();
    arguments.len() <= calls
}
