//! The matrix: fault × hints × trust × path, over real processes, with the ledger as the judge.
//!
//! Every row starts a server of its own and has a ledger of its own, named after the row: no ledger, no
//! row. What must come of a row is computed by [`oracle`], from the row's facts and the written rules
//! alone; what did come of it is read by [`stage`] from the client and the ledger; [`judge`] compares
//! them, and holds both against what must be true of every row.
#![cfg(target_os = "linux")]

#[path = "../bench/axes.rs"]
mod axes;
#[path = "../bench/mod.rs"]
mod bench;
#[path = "../bench/closures.rs"]
mod closures;
#[path = "../bench/gate.rs"]
mod gate;
mod judge;
mod oracle;
mod row;
#[path = "../bench/rows.rs"]
mod rows;
mod scenario;
mod stage;
#[path = "../bench/told.rs"]
mod told;

use axes::{Era, Hints, Trust, product};
use judge::judged;
use row::Fault;
use rows::hold;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_call_is_replayed_through_the_gate_only() {
    hold(product(&Fault::LOST, &Hints::ALL, &Trust::ALL, Era::Legacy), judged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_restart_changed_is_judged_anew() {
    hold(product(&Fault::CHANGED_BY_RESTART, &Hints::ALL, &Trust::ALL, Era::Legacy), judged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_never_left_is_delivered_whatever_the_hints_say() {
    hold(product(&Fault::NEVER_LEFT, &Hints::ALL, &Trust::ALL, Era::Legacy), judged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_final() {
    hold(product(&Fault::ANSWERED, &Hints::ALL, &Trust::ALL, Era::Legacy), judged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_out_of_time_is_never_sent_again() {
    hold(product(&Fault::OUT_OF_TIME, &Hints::TELLING, &Trust::TELLING, Era::Legacy), judged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_is_never_too_large_for_an_honest_answer() {
    hold(product(&Fault::LARGE, &[Hints::Idempotent], &[Trust::Both], Era::Legacy), judged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gate_is_the_same_in_the_newer_protocol() {
    hold(product(&Fault::BOTH_ERAS, &Hints::TELLING, &Trust::TELLING, Era::Modern), judged).await;
}
