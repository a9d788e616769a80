//! What one call over Streamable HTTP leads to, over real sockets, with the server's ledger as the judge.
//!
//! The matrix is fault × hints × trust × path × era, the full product but for one fault: a server that
//! dies again and again is met only by calls that are replayed; what others see of it is its first
//! death, which is a fault of its own. Every row starts a server of its own. What must come of a row is
//! computed by [`oracle`], from the row's facts and the written rules alone; what did come of it is read
//! by [`stage`] from the client and the ledger; [`judge`] compares them, and holds both against what must
//! be true of every row: above all, one POST per attempt.
//!
//! [`generations`] looks at the sessions behind the calls, [`addresses`] at where there is no server.

mod addresses;
#[path = "../bench/axes.rs"]
mod axes;
#[path = "../bench/closures.rs"]
mod closures;
#[path = "../bench/gate.rs"]
mod gate;
mod generations;
mod judge;
mod oracle;
mod row;
#[path = "../bench/rows.rs"]
mod rows;
mod scenario;
#[path = "../bench/server.rs"]
mod server;
mod stage;
mod streams;
mod tokens;
#[path = "../bench/told.rs"]
mod told;

use axes::{Era, Hints, Trust, product};
use judge::judged;
use row::Fault;
use rows::hold;

/// With sessions and without.
async fn hold_in_both_eras(faults: &[Fault]) {
    let mut rows = product(faults, &Hints::ALL, &Trust::ALL, Era::Legacy);
    rows.extend(product(faults, &Hints::ALL, &Trust::ALL, Era::Modern));
    hold(rows, judged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_final() {
    hold_in_both_eras(&Fault::ANSWERED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_call_is_replayed_through_the_gate_only() {
    hold_in_both_eras(&Fault::LOST).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_found_is_a_loss_in_a_session_and_nowhere_else() {
    hold_in_both_eras(&Fault::NOT_FOUND).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_is_never_a_reason_to_post_again() {
    hold_in_both_eras(&Fault::STATUS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_of_no_use_is_never_a_reason_to_post_again() {
    hold_in_both_eras(&Fault::UNUSABLE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_given_up_is_never_posted_again() {
    hold_in_both_eras(&Fault::GIVEN_UP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changed_meanwhile_is_judged_anew() {
    hold_in_both_eras(&Fault::CHANGED_MEANWHILE).await;
    for era in [Era::Legacy, Era::Modern] {
        let replayed = [Hints::Idempotent, Hints::ReadOnly];
        hold(product(&[Fault::DieFourTimes], &replayed, &[Trust::Both], era), judged).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_never_left_is_delivered_whatever_the_hints_say() {
    hold_in_both_eras(&Fault::NEVER_LEFT).await;
}
