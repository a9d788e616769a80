//! A call that became a task: the result is fetched, over whatever connection there is; nothing is called
//! again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use mcp_tool::{
    CallReply, CancellationToken, Outcome, Reason, TaskHandle, ToolCall, Transport, TransportError,
    mcp_discovery::SupervisedDiscovery,
    mcp_transport::{CallReply as Reply, ScriptedTransport, ServerIdentity, Step, TaskReply},
    rmcp::model::{CreateTaskResult, DetailedTask, JsonObject, Task, TaskPayload, TaskStatus},
};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::servers::{Lives, life};

const SECOND: Duration = Duration::from_secs(1);

fn task(status: TaskStatus) -> Task {
    Task::new("t-17", status, "2026-07-28T00:00:00Z", "2026-07-28T00:00:00Z")
}

/// A life whose first call becomes a task; of an unannotated tool, which is never replayed.
fn made(task: Task) -> ScriptedTransport {
    life(None).then(Step::Answer(Reply::Task(Box::new(CreateTaskResult::new(task)))))
}

fn working() -> Result<TaskReply, TransportError> {
    state(TaskPayload::Working)
}

fn completed() -> Result<TaskReply, TransportError> {
    let result = json!({"content": [{"type": "text", "text": "done"}]});
    let result: JsonObject = serde_json::from_value(result).unwrap();
    state(TaskPayload::Completed { result })
}

fn state(payload: TaskPayload) -> Result<TaskReply, TransportError> {
    Ok(TaskReply::State(Box::new(DetailedTask::new(task(TaskStatus::Working), payload))))
}

async fn become_task(server: &Lives) -> TaskHandle {
    become_task_of(server, ToolCall::new("put")).await
}

async fn become_task_of(server: &Lives, call: ToolCall) -> TaskHandle {
    let answer = server.client().build().call(call).await.unwrap();
    assert!(matches!(answer.reply, CallReply::Task(_)));
    answer.task.expect("the reply is a task")
}

fn methods(life: &ScriptedTransport) -> Vec<&'static str> {
    life.task_requests().iter().map(|request| request.method()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_is_asked_for_until_it_is_there() {
    let server = Lives::of([made(task(TaskStatus::Working).with_poll_interval_ms(3000))
        .then_task(working())
        .then_task(working())
        .then_task(completed())]);
    let handle = become_task(&server).await;
    assert_eq!((handle.id(), handle.server(), handle.tool()), ("t-17", "files", "put"));
    let began = Instant::now();
    let answer = handle.result().await.unwrap();
    assert!(answer.reply.result().is_some_and(|result| result.content.len() == 1));
    assert_eq!((answer.attempts, answer.replays, answer.earlier_unknown), (1, 0, false));
    assert!(answer.task.is_none());
    // The first look after the interval of the reply, then the default one, since no other was named.
    assert_eq!(began.elapsed(), 5 * SECOND);
    assert_eq!((methods(server.life(0)), server.calls()), (vec!["tasks/get"; 3], vec![1]));
    assert!(server.life(0).task_requests().iter().all(|request| request.id() == "t-17"));
}

#[tokio::test(start_paused = true)]
async fn no_server_is_asked_too_often_or_too_rarely() {
    for (wished, waited) in [(0, Duration::from_millis(100)), (u64::MAX, 60 * SECOND)] {
        let server =
            Lives::of([made(task(TaskStatus::Working).with_poll_interval_ms(wished)).then_task(completed())]);
        let handle = become_task(&server).await;
        let began = Instant::now();
        handle.result().await.unwrap();
        assert_eq!(began.elapsed(), waited, "{wished}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_had_ended_at_once_is_not_waited_for() {
    let server = Lives::of([made(task(TaskStatus::Completed)).then_task(completed())]);
    let handle = become_task(&server).await;
    let began = Instant::now();
    handle.result().await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_costs_a_task_nothing_and_no_tool_is_called_again() {
    let server = Lives::of([
        made(task(TaskStatus::Working)).then_task(working()).then_task(Err(TransportError::lost())),
        life(None).then_task(Err(TransportError::lost())),
        life(None).then_task(working()).then_task(completed()),
    ]);
    let handle = become_task(&server).await;
    assert!(handle.result().await.unwrap().reply.result().is_some());
    assert_eq!((server.calls(), server.connects()), (vec![1, 0, 0], 3));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ended_while_nobody_looked_is_made_anew() {
    let server = Lives::of([made(task(TaskStatus::Working)), life(None).then_task(completed())]);
    let handle = become_task(&server).await;
    server.life(0).disconnect();
    assert!(handle.result().await.is_ok());
    assert_eq!((server.calls(), server.connects()), (vec![1, 0], 2));
}

#[tokio::test(start_paused = true)]
async fn a_lost_response_lists_again_first_and_keeps_the_connection() {
    // Over HTTP a lost response says nothing of the session; class `Other` leaves the script's open.
    let lost = TransportError::http_status(503);
    let server = Lives::of([made(task(TaskStatus::Working)).then_task(Err(lost)).then_task(completed())]);
    let handle = become_task(&server).await;
    assert!(handle.result().await.is_ok());
    assert_eq!((server.life(0).lists(), server.connects()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn what_never_passes_ends_after_five_failures_in_a_row_and_can_be_asked_for_again() {
    let mut first = made(task(TaskStatus::Working)).then_task(Err(TransportError::rejected(-32603)));
    first = first.then_task(working());
    for _ in 0..5 {
        first = first.then_task(Err(TransportError::rejected(-32603)));
    }
    let server = Lives::of([first.then_task(completed())]);
    let handle = become_task(&server).await;
    let error = handle.result().await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "rejected"));
    assert_eq!((error.attempts(), error.tool(), error.server()), (1, "put", "files"));
    assert_eq!(server.life(0).task_requests().len(), 7);
    assert!(handle.result().await.is_ok());
    assert_eq!(server.calls(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_forgot_the_task_leaves_the_outcome_unknown_at_once() {
    for code in [-32602, -32601] {
        let server = Lives::of([
            made(task(TaskStatus::Working)).then_task(Err(TransportError::lost())),
            life(None).then_task(Err(TransportError::rejected(code))),
        ]);
        let error = become_task(&server).await.result().await.unwrap_err();
        assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::TaskForgotten));
        assert_eq!((server.calls(), server.life(1).task_requests().len()), (vec![1, 0], 1));
    }
}

#[tokio::test(start_paused = true)]
async fn another_server_is_never_asked_for_the_task() {
    let of = |name: &str| ServerIdentity::of([("command", name)]);
    let server = Lives::of([
        made(task(TaskStatus::Working)).then_task(Err(TransportError::lost())),
        // Changed while it was being reached: that connection is not used.
        life(None),
        life(None).then_task(completed()),
    ])
    .with_identity(move |connects| of(if connects < 2 { "one" } else { "other" }));
    let handle = become_task(&server).await;
    assert_eq!(*handle.identity(), of("one"));
    for error in [handle.result().await.unwrap_err(), handle.cancel().await.unwrap_err()] {
        assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::ServerChanged));
    }
    assert_eq!((server.life(2).task_requests().len(), server.calls()), (0, vec![1, 0, 0]));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_leaves_the_outcome_unknown() {
    let server = Lives::of([made(task(TaskStatus::Working))]);
    let handle = become_task(&server).await;
    server.life(0).disconnect();
    let error = handle.result().await.unwrap_err();
    assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::Unavailable));
    assert_eq!(error.transport_error().map(|error| error.kind().code()), Some("connect_failed"));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_failed_is_a_json_rpc_error_and_one_that_was_cancelled_is_unknown() {
    let error: JsonObject = serde_json::from_value(json!({"code": -32000, "message": "no"})).unwrap();
    let server = Lives::of([made(task(TaskStatus::Working)).then_task(state(TaskPayload::Failed { error }))]);
    let answer = become_task(&server).await.result().await.unwrap();
    assert!(matches!(answer.reply, CallReply::Error(error) if error.code.0 == -32000));

    let server = Lives::of([made(task(TaskStatus::Working)).then_task(state(TaskPayload::Cancelled))]);
    let error = become_task(&server).await.result().await.unwrap_err();
    assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::TaskCancelled));
}

#[tokio::test(start_paused = true)]
async fn a_task_asks_each_question_once_and_goes_on_when_it_was_answered() {
    let asks = |keys: &[&str]| {
        let question = |key: &&str| {
            ((*key).to_owned(), serde_json::from_value(json!({"method": "roots/list"})).unwrap())
        };
        state(TaskPayload::InputRequired { input_requests: keys.iter().map(question).collect() })
    };
    let server = Lives::of([made(task(TaskStatus::Working))
        .then_task(asks(&["a"]))
        .then_task(Ok(TaskReply::Acknowledged))
        .then_task(asks(&["a"]))
        .then_task(asks(&["a", "b"]))
        .then_task(completed())]);
    let handle = become_task(&server).await;
    let asked = handle.result().await.unwrap();
    let handle = asked.task.expect("the same task goes on");
    let keys = |reply: CallReply| match reply {
        CallReply::InputRequired(asks) => asks.input_requests.unwrap().into_keys().collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(keys(asked.reply), ["a"]);
    handle.update(BTreeMap::from([("a".to_owned(), json!({"roots": []}))])).await.unwrap();
    assert_eq!(keys(handle.result().await.unwrap().reply), ["b"]);
    assert!(handle.result().await.unwrap().reply.result().is_some());
    let expected = ["tasks/get", "tasks/update", "tasks/get", "tasks/get", "tasks/get"];
    assert_eq!((methods(server.life(0)), server.calls()), (expected.to_vec(), vec![1]));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_the_waiting_and_not_the_task() {
    let server = Lives::of([made(task(TaskStatus::Working)).then_task(working()).then_task(completed())]);
    let handle = become_task(&server).await;
    let began = Instant::now();
    let error = handle.clone().with_deadline(SECOND * 3 / 2).result().await.unwrap_err();
    assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::Deadline));
    assert_eq!(began.elapsed(), SECOND * 3 / 2);
    assert!(handle.result().await.is_ok());
    assert_eq!(methods(server.life(0)), ["tasks/get"; 2]);
}

#[tokio::test(start_paused = true)]
async fn the_token_of_the_call_cancels_its_task_at_the_server() {
    let server = Lives::of([made(task(TaskStatus::Working)).then_task(Ok(TaskReply::Acknowledged))]);
    let token = CancellationToken::new();
    let handle = become_task_of(&server, ToolCall::new("put").with_cancellation(token.clone())).await;
    let ended = tokio::spawn(async move { handle.result().await });
    tokio::task::yield_now().await;
    token.cancel();
    let error = ended.await.unwrap().unwrap_err();
    assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::Cancelled));
    assert_eq!(methods(server.life(0)), ["tasks/cancel"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_ends_within_a_second_though_the_server_cannot_be_told() {
    let server = Lives::of([made(task(TaskStatus::Working))]);
    let token = CancellationToken::new();
    let handle = become_task(&server).await.with_cancellation(token.clone());
    server.life(0).disconnect();
    token.cancel();
    let ended = timeout(SECOND, handle.result()).await.expect("within a second");
    assert_eq!(ended.unwrap_err().reason(), Reason::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_there_wins_over_the_cancellation() {
    let server = Lives::of([made(task(TaskStatus::Completed)).then_task(completed())]);
    let token = CancellationToken::new();
    let handle = become_task(&server).await.with_cancellation(token.clone());
    token.cancel();
    assert!(handle.result().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn cancelling_tells_the_server_and_the_result_says_what_came_of_it() {
    let server = Lives::of([made(task(TaskStatus::Working))
        .then_task(Ok(TaskReply::Acknowledged))
        .then_task(completed())]);
    let handle = become_task(&server).await;
    handle.cancel().await.unwrap();
    assert!(handle.result().await.is_ok(), "the server had finished it");
    assert_eq!(methods(server.life(0)), ["tasks/cancel", "tasks/get"]);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_by_its_id_after_the_host_was_restarted() {
    let server = Lives::of([life(None).then_task(completed())]);
    let client = server.client().build();
    let handle = client.task(ServerIdentity::unspecified(), "put", "t-17");
    assert!(handle.result().await.unwrap().reply.result().is_some());
    assert_eq!((server.calls(), handle.tool()), (vec![0], "put"));
}

#[tokio::test(start_paused = true)]
async fn a_supervised_connection_carries_what_is_asked_about_tasks() {
    let server = Lives::of([made(task(TaskStatus::Working)).then_task(completed())]);
    let discovery = Arc::new(SupervisedDiscovery::new(server.clone()));
    let client = mcp_tool::Client::with_discovery("files", discovery.clone()).build();
    let handle = client.call(ToolCall::new("put")).await.unwrap().task.unwrap();
    assert!(handle.result().await.is_ok());
    assert_eq!((methods(server.life(0)), server.calls()), (vec!["tasks/get"], vec![1]));
    discovery.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_transport_without_tasks_says_so() {
    struct WithoutTasks(Arc<ScriptedTransport>);
    #[async_trait::async_trait]
    impl Transport for WithoutTasks {
        async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
            self.0.call_tool(call).await
        }
        async fn list_tools(
            &self,
            cursor: Option<mcp_tool::mcp_transport::Cursor>,
        ) -> Result<mcp_tool::mcp_transport::ToolPage, TransportError> {
            self.0.list_tools(cursor).await
        }
        fn is_closed(&self) -> bool {
            false
        }
        async fn close(&self) -> mcp_tool::mcp_transport::Fence {
            self.0.close().await
        }
    }
    let script = Arc::new(made(task(TaskStatus::Working)));
    let connector = mcp_tool::connector_fn(move || {
        let transport: Arc<dyn Transport> = Arc::new(WithoutTasks(script.clone()));
        async move { Ok(transport) }
    });
    let client = mcp_tool::Client::builder("files", connector).build();
    let handle = client.call(ToolCall::new("put")).await.unwrap().task.unwrap();
    let error = handle.result().await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unsupported"));
}

#[tokio::test(start_paused = true)]
async fn nothing_shows_the_id_of_a_task() {
    let server =
        Lives::of([made(task(TaskStatus::Working)).then_task(Err(TransportError::rejected(-32602)))]);
    let handle = become_task(&server).await;
    let error = handle.result().await.unwrap_err();
    let requests = server.life(0).task_requests();
    assert!(!format!("{handle:?} {error:?} {error} {requests:?}").contains("t-17"));
}
