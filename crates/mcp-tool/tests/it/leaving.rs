//! Cancelling, dropping, running out of time.

use std::{sync::Arc, time::Duration};

use mcp_tool::{
    CancellationToken, Client, Outcome, ToolCall, Transport, Trust, connector_fn,
    mcp_transport::{Gate, ScriptedTransport, Step, TransportError},
};

use crate::servers::{Lives, idempotent, life};

#[tokio::test]
async fn a_call_that_was_cancelled_before_it_began_sends_nothing() {
    let token = CancellationToken::new();
    token.cancel();
    let server = Lives::of([life(idempotent())]);
    let call = ToolCall::new("put").with_cancellation(token);
    let error = server.client().trust(Trust::BOTH).build().call(call).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "cancelled"));
    assert_eq!(server.calls(), [0]);
}

#[tokio::test]
async fn cancelling_is_final_even_for_a_safe_call() {
    let (token, gate) = (CancellationToken::new(), Gate::new());
    let server = Lives::of([life(idempotent()).hang(&gate), life(idempotent())]);
    let client = server.client().trust(Trust::BOTH).build();
    let call = ToolCall::new("put").with_cancellation(token.clone());
    let calling = tokio::spawn(async move { client.call(call).await });
    server.life(0).wait_for_calls(1).await;
    token.cancel();
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "cancelled"));
    assert_eq!((server.calls(), server.connects()), (vec![1, 0], 1));
}

#[tokio::test]
async fn an_abort_wins_over_a_loss_that_races_with_it() {
    let token = CancellationToken::new();
    let lost = life(idempotent()).then(Step::Fail(TransportError::lost()));
    let server = Lives::of([lost, life(idempotent())]);
    let client = server.client().trust(Trust::BOTH).build();
    client.catalog().await.unwrap();
    let racing = token.clone();
    let call = ToolCall::new("put").with_cancellation(token).with_guard(mcp_tool::mcp_transport::Guard::new(
        move || {
            // Directly before the first byte: the loss and the abort are there together.
            racing.cancel();
            Ok(())
        },
    ));
    let error = client.call(call).await.unwrap_err();
    assert_eq!(error.reason().code(), "cancelled");
    assert_eq!((server.calls(), server.connects()), (vec![1, 0], 1));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_reconnect_that_does_not_come_about() {
    let server = Lives::of([life(idempotent()).lose()]);
    let call = ToolCall::new("put").with_deadline(Duration::from_millis(50));
    let error = server.client().trust(Trust::BOTH).build().call(call).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "deadline"));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_reconnect_at_once() {
    let token = CancellationToken::new();
    let server = Lives::of([life(idempotent()).lose()]);
    let client = server.client().trust(Trust::BOTH).build();
    let call = ToolCall::new("put").with_cancellation(token.clone());
    let calling = tokio::spawn(async move { client.call(call).await });
    while server.connects() < 2 {
        tokio::task::yield_now().await;
    }
    token.cancel();
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "cancelled"));
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_ignores_the_bounds_is_dropped_and_nothing_is_known() {
    struct Deaf;
    #[async_trait::async_trait]
    impl Transport for Deaf {
        async fn call_tool(&self, _: ToolCall) -> Result<mcp_tool::CallReply, TransportError> {
            std::future::pending().await
        }
        async fn list_tools(
            &self,
            _: Option<mcp_tool::mcp_transport::Cursor>,
        ) -> Result<mcp_tool::mcp_transport::ToolPage, TransportError> {
            Ok(mcp_tool::mcp_transport::ToolPage::of([crate::servers::put(None)]))
        }
        fn is_closed(&self) -> bool {
            false
        }
        async fn close(&self) -> mcp_tool::mcp_transport::Fence {
            mcp_tool::mcp_transport::Fence::None
        }
    }
    let deaf = connector_fn(|| async { Ok(Arc::new(Deaf) as Arc<dyn Transport>) });
    let client = Client::builder("files", deaf).build();
    let error = client.call(ToolCall::new("put").with_deadline(Duration::from_secs(5))).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "deadline"));

    let token = CancellationToken::new();
    let cancelling = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancelling.cancel();
    });
    let began = tokio::time::Instant::now();
    let error = client.call(ToolCall::new("put").with_cancellation(token)).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "cancelled"));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test]
async fn ten_thousand_calls_in_flight_share_one_reconnect() {
    let gate = Gate::new();
    let mut first = ScriptedTransport::new().with_tools([crate::servers::put(idempotent())]);
    for _ in 0..10_000 {
        first = first.hang(&gate);
    }
    let server = Lives::of([first, life(idempotent())]);
    let client = server.client().trust(Trust::BOTH).build();
    let calls: Vec<_> = (0..10_000)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call(ToolCall::new("put")).await })
        })
        .collect();
    server.life(0).wait_for_calls(10_000).await;
    server.life(0).disconnect();
    for call in calls {
        let answer = call.await.unwrap().unwrap();
        assert_eq!(answer.attempts, 2);
    }
    assert_eq!((server.connects(), server.calls()), (2, vec![10_000, 10_000]));
}
