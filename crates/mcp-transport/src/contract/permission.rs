//! A call goes out, and goes on, only while its guard, its caller and its bounds allow it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{
    Clause,
    stage::{SHORT, Stage},
};
use crate::{CancellationToken, Delivery, ErrorClass, Guard, ToolCall, Withdrawn};

pub(super) async fn refused_before_the_send(stage: &mut Stage) {
    let token = CancellationToken::new();
    token.cancel();
    refused(stage, Clause::CancellationIgnored, |call| call.with_cancellation(token)).await;
    refused(stage, Clause::DeadlineIgnored, |call| call.with_deadline(Duration::ZERO).started()).await;
    let no = Guard::new(|| Err(Withdrawn));
    refused(stage, Clause::GuardIgnored, |call| call.with_guard(no)).await;

    let asked = Arc::new(AtomicBool::new(false));
    let (number, call) = stage.call();
    let asking = asked.clone();
    let guard = Guard::new(move || {
        asking.store(true, Ordering::Relaxed);
        Ok(())
    });
    let pending = stage.begin((number, call.with_guard(guard)));
    stage.answer(pending, Clause::NotAnswered).await;
    if !asked.load(Ordering::Relaxed) {
        stage.violates(Clause::GuardIgnored, "a call was sent and its guard never asked");
    }
}

async fn refused(stage: &mut Stage, clause: Clause, bound: impl FnOnce(ToolCall) -> ToolCall) {
    let (number, call) = stage.forbidden(clause);
    let pending = stage.begin((number, bound(call)));
    let Some(outcome) = stage.outcome(pending, clause).await else {
        return;
    };
    match outcome {
        Ok(_) => stage.violates(clause, "a call was answered that must not be sent"),
        Err(error) => {
            if error.delivery() != Delivery::Unsent {
                stage.violates(clause, "a call that must not be sent was not told as unsent");
            }
            if clause == Clause::CancellationIgnored {
                stage.expect_class(&error, ErrorClass::Abort, clause);
            }
        }
    }
}

pub(super) async fn ended_in_flight(stage: &mut Stage) {
    let token = CancellationToken::new();
    let (number, call) = stage.call();
    let pending = stage.begin((number, call.with_cancellation(token.clone())));
    stage.read_something().await;
    token.cancel();
    if let Some(error) = stage.failure(pending, Clause::CancellationIgnored).await {
        stage.expect_class(&error, ErrorClass::Abort, Clause::CancellationIgnored);
    }
    cut(stage, Clause::DeadlineIgnored, |call| call.with_deadline(SHORT)).await;
    cut(stage, Clause::IdleTimeoutIgnored, |call| call.with_idle_timeout(SHORT)).await;
}

async fn cut(stage: &mut Stage, clause: Clause, bound: impl FnOnce(ToolCall) -> ToolCall) {
    let (number, call) = stage.call();
    let pending = stage.begin((number, bound(call)));
    if let Some(error) = stage.failure(pending, clause).await {
        stage.expect_class(&error, ErrorClass::Other, clause);
    }
}

/// The first may have left in part or as a whole, and is then not told as unsent. Of the second, which
/// waits behind it, nothing has left.
pub(super) async fn withdrawn_while_waiting(stage: &mut Stage) {
    let allowed = Arc::new(AtomicBool::new(true));
    let asked = allowed.clone();
    let guard = Guard::new(move || asked.load(Ordering::Relaxed).then_some(()).ok_or(Withdrawn));
    let (number, call) = stage.call();
    let first = stage.begin((number, call.with_guard(guard.clone())));
    first.get_on().await;
    let (number, call) = stage.forbidden(Clause::GuardStale);
    let second = stage.begin((number, call.with_guard(guard)));
    second.get_on().await;
    allowed.store(false, Ordering::Relaxed);
    stage.far_end().release();
    stage.outcome(first, Clause::LeftHanging).await;
    stage.outcome(second, Clause::LeftHanging).await;
    stage.one_more().await;
}
