//! Each call is one request, and none after it was given up.

use tokio::time::timeout;

use super::{
    Clause,
    stage::{SHORT, Stage},
};
use crate::CancellationToken;

const AT_ONCE: usize = 8;

pub(super) async fn one_request_each(stage: &mut Stage) {
    let (_, unpolled) = stage.forbidden(Clause::SentBeforePoll);
    drop(stage.transport().call_tool(unpolled));
    let mut pending = Vec::new();
    for _ in 0..AT_ONCE {
        pending.push(stage.begin_one());
    }
    for pending in pending {
        stage.answer(pending, Clause::NotAnswered).await;
    }
}

pub(super) async fn past_its_deadline(stage: &mut Stage) {
    let (number, call) = stage.forbidden(Clause::SentAfterGivenUp);
    let pending = stage.begin((number, call.with_deadline(SHORT)));
    stage.failure(pending, Clause::DeadlineIgnored).await;
    released(stage).await;
}

pub(super) async fn cancelled(stage: &mut Stage) {
    let token = CancellationToken::new();
    let (number, call) = stage.forbidden(Clause::SentAfterGivenUp);
    let pending = stage.begin((number, call.with_cancellation(token.clone())));
    pending.get_on().await;
    token.cancel();
    stage.failure(pending, Clause::CancellationIgnored).await;
    released(stage).await;
}

pub(super) async fn dropped(stage: &mut Stage) {
    drop_one(stage).await;
    released(stage).await;
}

pub(super) async fn dropped_behind_another(stage: &mut Stage) {
    let first = stage.begin_one();
    first.get_on().await;
    drop_one(stage).await;
    stage.far_end().release();
    stage.outcome(first, Clause::LeftHanging).await;
    stage.one_more().await;
}

async fn drop_one(stage: &mut Stage) {
    let (_, call) = stage.forbidden(Clause::SentAfterGivenUp);
    let transport = stage.transport();
    if timeout(SHORT, transport.call_tool(call)).await.is_ok_and(|outcome| outcome.is_ok()) {
        stage.violates(Clause::AnswerAltered, "a call was answered that it had not answered");
    }
}

/// What was given up would go out now, or with the next call.
async fn released(stage: &mut Stage) {
    stage.far_end().release();
    stage.one_more().await;
}
