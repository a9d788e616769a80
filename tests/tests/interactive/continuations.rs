//! Calls that were answered with a request for input, and what continues them.

use mcp_tool::{CallReply, Outcome, Reason, ToolCall, mcp_transport::Guard};
use mcp_tool_cli::fault_server::{Era, Fault, HttpFault, Moment, Scenario, When};
use serde_json::json;

use crate::{
    stage::{Front, Stage},
    tools,
};

fn asking() -> Scenario {
    tools().era(Era::Modern).on_call(1, Fault::InputRequired)
}

/// Calls the read-only tool, which may be replayed, and gives what continues it.
async fn asked(stage: &Stage) -> ToolCall {
    let call = ToolCall::new("get").with_argument("key", "a");
    let answer = stage.client.call(call.clone()).await.unwrap();
    let CallReply::InputRequired(asked) = answer.reply else { panic!("{:?}", answer.reply) };
    let accepted = json!({"action": "accept", "content": {"colour": "blue"}});
    call.continuing(&asked, [("colour".to_owned(), accepted)].into())
}

/// Which of the calls that the server read were continuations.
fn continuations(stage: &Stage) -> Vec<bool> {
    stage.record().received().iter().map(|receipt| receipt.continues).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_continuation_is_answered() {
    for front in Front::BOTH {
        let stage = Stage::open(front, &asking()).await;
        let continuation = asked(&stage).await;
        assert_eq!(stage.record().executions().len(), 0);
        let answer = stage.client.call(continuation).await.unwrap();
        assert!(answer.reply.result().is_some());
        assert_eq!((stage.record().executions().len(), continuations(&stage)), (1, vec![false, true]));
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_continuation_is_not_sent_again_though_its_tool_is_safe_and_trusted() {
    let reset: Fault = HttpFault::Reset(Moment::AfterCommit).into();
    for (front, fault) in
        [(Front::Pipes, Fault::DieAfterCommit), (Front::Http, Fault::DieAfterCommit), (Front::Http, reset)]
    {
        let stage = Stage::open(front, &asking().on_call(2, fault)).await;
        let continuation = asked(&stage).await;
        let error = stage.client.call(continuation).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::Continuation));
        assert_eq!((stage.record().executions().len(), continuations(&stage)), (1, vec![false, true]));
        // A call that is none is replayed as ever.
        assert!(stage.client.call(ToolCall::new("get")).await.is_ok());
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_continuation_that_was_never_read_is_delivered_to_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let sending = folder.path().join("sending");
    // Not before the call is on its way: a death that was known by then would cost no try.
    let dies = Fault::DieUnread { when: When::Trigger(sending.clone()) };
    let stage =
        Stage::open(Front::Pipes, &asking().on_call(2, dies).from_start(2, tools().era(Era::Modern))).await;
    let tells = Guard::new(move || {
        std::fs::write(&sending, "").expect("the folder is there");
        Ok(())
    });
    let continuation = asked(&stage).await.with_guard(tells);
    let answer = stage.client.call(continuation).await.unwrap();
    assert_eq!((answer.attempts, answer.unsent), (1, 1));
    assert_eq!((stage.record().executions().len(), continuations(&stage)), (1, vec![false, true]));
    stage.close().await;
}
