//! What comes back reaches its own call, unchanged, and nobody else.

use super::{Behaviour, Clause, stage::Stage};
use crate::CallReply;

pub(super) async fn to_nobody(stage: &mut Stage) {
    for _ in 0..2 {
        let pending = stage.begin_one();
        stage.answer(pending, Clause::StrayAnswerTaken).await;
    }
    if stage.transport().is_closed() {
        stage.violates(Clause::StrayAnswerTaken, "the connection was given up");
    }
}

pub(super) async fn that_say_no(stage: &mut Stage) {
    let pending = stage.begin_one();
    let Some(outcome) = stage.outcome(pending, Clause::ErrorNotHandedOn).await else {
        return;
    };
    let as_it_was = match &outcome {
        Ok(CallReply::Error(error)) => {
            stage.behaviour() == Behaviour::AnswersWithError && error.message == "0"
        }
        Ok(CallReply::Result(result)) => {
            stage.behaviour() == Behaviour::AnswersWithFailure && result.is_error == Some(true)
        }
        Ok(_) | Err(_) => false,
    };
    if !as_it_was {
        stage.violates(Clause::ErrorNotHandedOn, "its answer came back as something else");
    }
}
