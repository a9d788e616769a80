//! The matrix: fault × hints × trust × path, over real processes, with the ledger as the judge.
//!
//! Every row starts a server of its own and has a ledger of its own, named after the row: no ledger, no
//! row. What must come of a row is computed by [`oracle`], from the row's facts and the written rules
//! alone; what did come of it is read by [`stage`] from the client and the ledger; [`judge`] compares
//! them, and holds both against what must be true of every row.
#![cfg(target_os = "linux")]

#[path = "../bench/mod.rs"]
mod bench;
mod judge;
mod oracle;
mod row;
mod scenario;
mod stage;

use row::{Era, Fault, Hints, Path, Row, Trust};
use tokio::{sync::Semaphore, task::JoinSet};

/// Rows at a time, over all tests of this program.
static ROWS: Semaphore = Semaphore::const_new(8);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_call_is_replayed_through_the_gate_only() {
    hold(product(&Fault::LOST, &Hints::ALL, &Trust::ALL, &Path::ALL, Era::Legacy)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_restart_changed_is_judged_anew() {
    hold(product(&Fault::CHANGED_BY_RESTART, &Hints::ALL, &Trust::ALL, &Path::ALL, Era::Legacy)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_never_left_is_delivered_whatever_the_hints_say() {
    hold(product(&Fault::NEVER_LEFT, &Hints::ALL, &Trust::ALL, &Path::ALL, Era::Legacy)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_final() {
    hold(product(&Fault::ANSWERED, &Hints::ALL, &Trust::ALL, &Path::ALL, Era::Legacy)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_out_of_time_is_never_sent_again() {
    hold(product(&Fault::OUT_OF_TIME, &Hints::TELLING, &Trust::TELLING, &Path::ALL, Era::Legacy)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_is_never_too_large_for_an_honest_answer() {
    hold(product(&Fault::LARGE, &[Hints::Idempotent], &[Trust::Both], &Path::ALL, Era::Legacy)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gate_is_the_same_in_the_newer_protocol() {
    hold(product(&Fault::BOTH_ERAS, &Hints::TELLING, &Trust::TELLING, &Path::ALL, Era::Modern)).await;
}

fn product(faults: &[Fault], hints: &[Hints], trust: &[Trust], paths: &[Path], era: Era) -> Vec<Row> {
    let mut rows = Vec::new();
    for &fault in faults {
        for &hints in hints {
            for &trust in trust {
                rows.extend(paths.iter().map(|&path| Row { fault, hints, trust, path, era }));
            }
        }
    }
    rows
}

/// Plays all rows and reports every one that did not come out as it must.
async fn hold(rows: Vec<Row>) {
    let total = rows.len();
    let mut plays = JoinSet::new();
    for row in rows {
        plays.spawn(async move {
            let _turn = ROWS.acquire().await.expect("nobody closes it");
            match tokio::spawn(stage::play(row)).await {
                Ok(seen) => judge::complaints(row, &seen),
                Err(panic) => Some(format!("{row}\n  {panic}")),
            }
        });
    }
    let complaints = plays.join_all().await;
    let broken: Vec<_> = complaints.into_iter().flatten().collect();
    assert!(broken.is_empty(), "{} of {total} rows:\n\n{}", broken.len(), broken.join("\n\n"));
}
