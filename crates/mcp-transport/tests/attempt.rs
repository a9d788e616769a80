//! One attempt under the call's own bounds.

use std::{
    future::{pending, ready},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_transport::{
    CancellationToken, Delivery, ErrorClass, ErrorKind, Guard, ToolCall, TransportError, Withdrawn,
};
use tokio::time::Instant;

use crate::{SECOND, done, told};

fn call() -> ToolCall {
    ToolCall::new("put").with_deadline(SECOND)
}

#[tokio::test(start_paused = true)]
async fn a_prepare_that_fails_is_proven_unsent_whatever_its_error_claims() {
    let failing = ready(Err::<(), _>(TransportError::lost()));
    let error = call().attempt(failing, |_, ()| async { unreachable!() }).await.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Connection, "connection_lost", Delivery::Unsent));
}

#[tokio::test(start_paused = true)]
async fn a_prepare_that_is_cut_is_proven_unsent() {
    let (token, began) = (CancellationToken::new(), Instant::now());
    let error = call().attempt(pending::<Result<(), _>>(), |_, ()| async { unreachable!() });
    let error = error.await.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Other, "deadline", Delivery::Unsent));
    assert_eq!(began.elapsed(), SECOND);

    token.cancel();
    let cancelled = call().with_cancellation(token);
    let error = cancelled.attempt(pending::<Result<(), _>>(), |_, ()| async { unreachable!() });
    let error = error.await.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Abort, "cancelled", Delivery::Unsent));
}

#[tokio::test(start_paused = true)]
async fn a_send_that_is_cut_is_in_doubt_and_is_dropped() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let hang = |dropped: &Arc<AtomicUsize>| {
        let sending = Dropped(dropped.clone());
        move |_, ()| async move {
            let _sending = sending;
            pending().await
        }
    };
    let error = call().attempt(ready(Ok(())), hang(&dropped)).await.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Other, "deadline", Delivery::Unknown));
    let idle = call().with_idle_timeout(SECOND / 2);
    let error = idle.attempt(ready(Ok(())), hang(&dropped)).await.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Other, "idle_timeout", Delivery::Unknown));
    let token = CancellationToken::new();
    let sending = call().with_cancellation(token.clone()).attempt(ready(Ok(())), hang(&dropped));
    let error = tokio::join!(sending, async { token.cancel() }).0.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Abort, "cancelled", Delivery::Unknown));
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn the_guard_stands_between_prepare_and_send() {
    let prepared = Arc::new(AtomicUsize::new(0));
    let guard = Guard::new({
        let prepared = prepared.clone();
        move || if prepared.load(Ordering::Relaxed) == 0 { Ok(()) } else { Err(Withdrawn) }
    });
    let prepare = async {
        prepared.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let error = call().with_guard(guard).attempt(prepare, |_, ()| async { unreachable!() }).await;
    let error = error.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Other, "withdrawn", Delivery::Unsent));

    // What happened to the call itself while it was prepared counts, too.
    let token = CancellationToken::new();
    let prepare = async {
        token.cancel();
        Ok(())
    };
    let cancelled = call().with_cancellation(token.clone());
    let error = cancelled.attempt(prepare, |_, ()| async { unreachable!() }).await.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Abort, "cancelled", Delivery::Unsent));
}

#[tokio::test(start_paused = true)]
async fn an_answer_wins_over_an_abort_and_an_abort_over_an_error() {
    let token = CancellationToken::new();
    let answered = |token: CancellationToken| async move {
        token.cancel();
        done()
    };
    let reply = call().with_cancellation(token.clone());
    assert!(reply.attempt(ready(Ok(())), |_, ()| answered(token.clone())).await.is_ok());

    // Both are there when the attempt looks again.
    let (token, (answer, answered)) = (CancellationToken::new(), tokio::sync::oneshot::channel());
    let reply = call().with_cancellation(token.clone());
    let reply = reply.attempt(ready(Ok(())), |_, ()| async { answered.await.unwrap() });
    let mut reply = std::pin::pin!(reply);
    assert!(tokio::time::timeout(Duration::ZERO, &mut reply).await.is_err());
    token.cancel();
    answer.send(done()).unwrap();
    assert!(reply.await.is_ok());

    for (error, delivery) in [
        (TransportError::lost(), Delivery::Unknown),
        (TransportError::lost().proven_unsent(), Delivery::Unsent),
        (TransportError::other("x").refused(), Delivery::Refused),
    ] {
        let token = CancellationToken::new();
        let failing = |token: CancellationToken| async move {
            token.cancel();
            Err(error)
        };
        let failed = call().with_cancellation(token.clone());
        let error = failed.attempt(ready(Ok(())), |_, ()| failing(token)).await.unwrap_err();
        assert_eq!(told(&error), (ErrorClass::Abort, "cancelled", delivery));
    }
}

#[tokio::test(start_paused = true)]
async fn progress_keeps_an_attempt_alive_and_an_earlier_attempts_progress_does_not() {
    let progress =
        || serde_json::from_value(serde_json::json!({"progressToken": 1, "progress": 1.0})).unwrap();
    let call = ToolCall::new("slow").with_idle_timeout(SECOND).started();
    let began = Instant::now();
    let working = |call: ToolCall, ()| async move {
        for _ in 0..5 {
            tokio::time::sleep(SECOND * 9 / 10).await;
            call.progressed(&progress());
        }
        pending().await
    };
    let error = call.clone().attempt(ready(Ok(())), working).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IdleTimeout);
    assert_eq!(began.elapsed(), SECOND * 9 / 2 + SECOND);

    let began = Instant::now();
    let next = call.next_attempt();
    call.progressed(&progress());
    let error = next.attempt(ready(Ok(())), |_, ()| pending()).await.unwrap_err();
    assert_eq!((error.kind(), began.elapsed()), (ErrorKind::IdleTimeout, SECOND));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_one_over_all_attempts() {
    let call = call().started();
    tokio::time::sleep(SECOND * 3 / 4).await;
    let began = Instant::now();
    let error = call.clone().attempt(ready(Ok(())), |_, ()| pending()).await.unwrap_err();
    assert_eq!((error.kind(), began.elapsed()), (ErrorKind::Deadline, SECOND / 4));
    let error = call.next_attempt().attempt(ready(Ok(())), |_, ()| pending()).await.unwrap_err();
    assert_eq!(told(&error), (ErrorClass::Other, "deadline", Delivery::Unsent), "not even tried");
    // As far as time goes.
    let _ = ToolCall::new("put").with_deadline(Duration::MAX).with_idle_timeout(Duration::MAX).started();
}
