//! Calls that became tasks.

use mcp_tool::{CallReply, CancellationToken, Outcome, Reason, TaskHandle, ToolCall};
use mcp_tool_cli::fault_server::{Era, Fault, Kept};

use crate::{
    stage::{Front, Stage},
    tools,
};

async fn opened(front: Front, era: Era, looks: u32, kept: Kept) -> Stage {
    Stage::open(front, &tools().era(era).on_call(1, Fault::KeptTask { looks, kept })).await
}

async fn become_task(stage: &Stage, call: ToolCall) -> TaskHandle {
    let answer = stage.client.call(call).await.unwrap();
    answer.task.unwrap_or_else(|| panic!("no task: {:?}", answer.reply))
}

fn text(reply: &CallReply) -> &str {
    &reply.result().expect("a result").content[0].as_text().expect("text").text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_outlives_kill_9_of_its_server_and_nothing_is_called_again() {
    for front in Front::BOTH {
        for era in [Era::Legacy, Era::Modern] {
            let stage = opened(front, era, 2, Kept::ByLedger).await;
            let task = become_task(&stage, ToolCall::new("put")).await;
            let result = tokio::spawn(async move { task.result().await });
            stage.wait(|record| !record.about_tasks().is_empty()).await;
            stage.kill().await;
            let answer = result.await.unwrap().unwrap();
            assert_eq!((text(&answer.reply), answer.attempts, answer.replays), ("put ran", 1, 0));
            let record = stage.record();
            assert_eq!(
                (record.executions().len(), record.received().len(), record.starts().len()),
                (1, 1, 2),
                "{front:?} {era:?}"
            );
            stage.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_died_with_its_server_leaves_the_outcome_unknown_and_nothing_is_called_again() {
    for front in Front::BOTH {
        let stage = opened(front, Era::Legacy, 0, Kept::ByProcess).await;
        let task = become_task(&stage, ToolCall::new("put")).await;
        stage.kill().await;
        let error = task.result().await.unwrap_err();
        assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::TaskForgotten), "{front:?}");
        let record = stage.record();
        assert_eq!((record.executions().len(), record.received().len()), (1, 1));
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_reaches_the_server_that_has_the_task() {
    for front in Front::BOTH {
        let stage = opened(front, Era::Modern, u32::MAX, Kept::ByLedger).await;
        let token = CancellationToken::new();
        let task = become_task(&stage, ToolCall::new("put").with_cancellation(token.clone())).await;
        let waiting = task.clone();
        let result = tokio::spawn(async move { waiting.result().await });
        stage.wait(|record| record.about_tasks().len() > 1).await;
        token.cancel();
        assert_eq!(result.await.unwrap().unwrap_err().reason(), Reason::Cancelled);
        let record = stage.wait(|record| record.about_tasks().iter().any(|m| m == "tasks/cancel")).await;
        assert_eq!(record.received().len(), 1);
        let ended = task.with_cancellation(CancellationToken::new()).result().await.unwrap_err();
        assert_eq!((ended.outcome(), ended.reason()), (Outcome::Unknown, Reason::TaskCancelled));
        stage.close().await;
    }
}
