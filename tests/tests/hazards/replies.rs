//! Answers that are more than a result, or too much of one.

use mcp_tool::{
    CallReply, StdioTransport, ToolCall, Transport,
    mcp_transport::{ErrorClass, ErrorKind},
};
use mcp_tool_cli::fault_server::{Era, Fault, Scenario};
use rmcp::ServiceError;

use crate::{bench::Bench, listings::put_tool, raw, shows};

#[tokio::test]
async fn r7_a_request_for_input_is_an_answer_and_not_a_reason_to_call_again() {
    let scenario = modern().on_call(1, Fault::InputRequired);

    let bench = Bench::new("r7-raw");
    let service = raw::discover(&bench, &scenario).await;
    service.call_tool(raw::put("a")).await.unwrap();
    shows("R7", bench.record().received().len() == 2 && bench.record().executions().len() == 1);
    service.cancel().await.unwrap();
    bench.all_gone().await;

    let bench = Bench::new("r7");
    let transport = bench.connector(&scenario).start().await.unwrap();
    let reply = transport.call_tool(put("a")).await.unwrap();
    assert!(matches!(reply, CallReply::InputRequired(_)), "{reply:?}");
    assert_eq!((bench.record().received().len(), bench.record().executions().len()), (1, 0));
    transport.close().await;
    bench.all_gone().await;
}

#[tokio::test]
async fn r9_a_reply_that_is_too_large_ends_its_call_and_no_other() {
    let scenario = Scenario::new().tool(put_tool()).on_call(1, Fault::AnswerHuge { bytes: 20 << 20 });

    let bench = Bench::new("r9-raw");
    let service = raw::connect(&bench, &scenario).await;
    let peer = service.peer().clone();
    let large = tokio::spawn(async move { peer.call_tool(raw::put("large")).await });
    bench.wait(|record| record.executions().len() == 1).await;
    // Its answer comes behind the large one, so that one has been read.
    service.peer().call_tool(raw::put("small")).await.unwrap();
    shows("R9", !large.is_finished());
    large.abort();
    service.cancel().await.unwrap();
    bench.all_gone().await;

    let bench = Bench::new("r9");
    let transport: StdioTransport = bench.connector(&scenario).start().await.unwrap();
    let error = transport.call_tool(put("large")).await.unwrap_err();
    // A lost connection would be a reason to call again.
    assert_eq!((error.kind(), error.class()), (ErrorKind::ReplyTooLarge, ErrorClass::Other));
    transport.call_tool(put("small")).await.unwrap();
    let record = bench.record();
    let keys: Vec<_> = record.executions().into_iter().map(|execution| execution.key).collect();
    assert_eq!((keys, record.starts().len()), (vec!["large".into(), "small".into()], 1));
    transport.close().await;
    bench.all_gone().await;
}

#[tokio::test]
async fn r22_a_task_keeps_its_id() {
    let scenario = modern().on_call(1, Fault::Task);

    let bench = Bench::new("r22-raw");
    let service = raw::discover(&bench, &scenario).await;
    let error = service.peer().call_tool(raw::put("a")).await.unwrap_err();
    shows("R22", matches!(error, ServiceError::UnexpectedResponse) && bench.record().executions().len() == 1);
    service.cancel().await.unwrap();
    bench.all_gone().await;

    let bench = Bench::new("r22");
    let transport = bench.connector(&scenario).start().await.unwrap();
    let reply = transport.call_tool(put("a")).await.unwrap();
    let CallReply::Task(task) = reply else { panic!("{reply:?}") };
    let id = format!("task-{}", bench.record().received()[0].id);
    assert_eq!(task.task.task_id, id);
    transport.close().await;
    bench.all_gone().await;
}

fn modern() -> Scenario {
    Scenario::new().era(Era::Modern).tool(put_tool())
}

fn put(key: &str) -> ToolCall {
    ToolCall::new("put").with_argument("key", key)
}
