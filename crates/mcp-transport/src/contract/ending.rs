//! The end of a connection ends its calls, and nothing goes out afterwards.

use tokio::time::{sleep, timeout};

use super::{
    Clause,
    stage::{PATIENCE, Pending, SHORT, Stage},
};
use crate::{Delivery, ErrorClass};

const IN_FLIGHT: usize = 4;

pub(super) async fn dies_with_a_request(stage: &mut Stage) {
    let pending = in_flight(stage);
    lost(stage, pending).await;
}

pub(super) async fn ends_under_calls(stage: &mut Stage) {
    let pending = in_flight(stage);
    stage.read_something().await;
    stage.far_end().end();
    lost(stage, pending).await;
}

pub(super) async fn ends_under_calls_that_wait(stage: &mut Stage) {
    let pending = waiting(stage).await;
    stage.far_end().end();
    lost(stage, pending).await;
}

/// What waits for a far end that takes nothing does not keep the connection from closing.
pub(super) async fn closed_under_calls_that_wait(stage: &mut Stage) {
    let pending = waiting(stage).await;
    stage.close().await;
    for pending in pending {
        loss(stage, pending).await;
    }
    refused(stage).await;
}

async fn waiting(stage: &mut Stage) -> Vec<Pending> {
    let pending = in_flight(stage);
    for pending in &pending {
        pending.get_on().await;
    }
    pending
}

fn in_flight(stage: &mut Stage) -> Vec<Pending> {
    (0..IN_FLIGHT).map(|_| stage.begin_one()).collect()
}

/// All that were made, and one that comes later.
async fn lost(stage: &mut Stage, pending: Vec<Pending>) {
    for pending in pending {
        loss(stage, pending).await;
    }
    let late = stage.begin_one();
    loss(stage, late).await;
}

async fn loss(stage: &mut Stage, pending: Pending) {
    if let Some(error) = stage.failure(pending, Clause::LeftHanging).await {
        stage.expect_class(&error, ErrorClass::Connection, Clause::NotALoss);
    }
}

pub(super) async fn closed(stage: &mut Stage) {
    let pending = in_flight(stage);
    stage.read_something().await;
    stage.close().await;
    for pending in pending {
        loss(stage, pending).await;
    }
    refused(stage).await;
    stage.close().await;
    refused(stage).await;
}

pub(super) async fn retired(stage: &mut Stage) {
    let pending = stage.begin_one();
    stage.read_something().await;
    let transport = stage.transport();
    let retiring = tokio::spawn(async move { transport.retire().await });
    // Coming back may wait for the call in flight. Taking no further one may not.
    sleep(SHORT).await;
    refused(stage).await;
    stage.far_end().release();
    match timeout(PATIENCE, retiring).await {
        Ok(Ok(fence)) => stage.judge(fence).await,
        Ok(Err(panicked)) => std::panic::resume_unwind(panicked.into_panic()),
        Err(_) => stage.violates(Clause::LeftHanging, "retiring did not end"),
    }
    if let Some(Err(error)) = stage.outcome(pending, Clause::LeftHanging).await {
        stage.expect_class(&error, ErrorClass::Connection, Clause::NotALoss);
    }
    refused(stage).await;
}

/// The connection says that it takes no call, and takes none.
async fn refused(stage: &mut Stage) {
    if !stage.transport().is_closed() {
        stage.violates(Clause::NotClosed, "the connection was said to be open after its end");
    }
    let call = stage.forbidden(Clause::TakenAfterEnd);
    let pending = stage.begin(call);
    let Some(outcome) = stage.outcome(pending, Clause::TakenAfterEnd).await else {
        return;
    };
    match outcome {
        Ok(_) => stage.violates(Clause::TakenAfterEnd, "a call was answered after the end"),
        Err(error) => {
            if error.delivery() != Delivery::Unsent {
                stage.violates(Clause::TakenAfterEnd, "a call after the end was not told as unsent");
            }
            stage.expect_class(&error, ErrorClass::Connection, Clause::TakenAfterEnd);
        }
    }
}
