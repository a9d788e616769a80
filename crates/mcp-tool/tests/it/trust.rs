//! Trust is read live, and fails closed.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use mcp_tool::{
    Outcome, ToolCall, Trust,
    mcp_discovery::{Catalog, Generation, MockDiscovery},
    mcp_transport::ScriptedTransport,
    trust_fn,
};

use crate::servers::{Lives, idempotent, life, put};

/// Trusts both until it was read so many times.
fn trusted_for(readings: usize) -> (impl mcp_tool::TrustSource + 'static, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = read.clone();
    let source =
        trust_fn(
            move |_, _| {
                if counted.fetch_add(1, Ordering::Relaxed) < readings { Trust::BOTH } else { Trust::NONE }
            },
        );
    (source, read)
}

#[tokio::test]
async fn trust_that_is_withdrawn_at_any_reading_stops_the_replay() {
    // When the invocation begins, at the two checkpoints, and by the guard.
    for (readings, reason) in [(1, "server_untrusted"), (2, "server_untrusted"), (3, "trust_withdrawn")] {
        let server = Lives::of([life(idempotent()).lose(), life(idempotent())]);
        let (trust, _) = trusted_for(readings);
        let error = server.client().trust(trust).build().call(ToolCall::new("put")).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, reason), "{readings}");
        assert_eq!(server.calls(), [1, 0], "{readings}");
    }
    let server = Lives::of([life(idempotent()).lose(), life(idempotent())]);
    let (trust, read) = trusted_for(4);
    server.client().trust(trust).build().call(ToolCall::new("put")).await.unwrap();
    assert_eq!((server.calls(), read.load(Ordering::Relaxed)), (vec![1, 1], 4), "no reading is left out");
}

#[tokio::test]
async fn an_unsent_call_that_was_trusted_is_delivered_only_while_it_still_is() {
    for readings in [1, 2, 3] {
        let server = Lives::of([life(None).lose_unsent(), life(None)]);
        let (trust, _) = trusted_for(readings);
        let error = server.client().trust(trust).build().call(ToolCall::new("put")).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "trust_withdrawn"));
        assert_eq!(server.calls(), [1, 0], "{readings}");
    }
}

#[tokio::test]
async fn trust_that_comes_after_the_first_checkpoint_comes_too_late() {
    let readings = Arc::new(AtomicUsize::new(0));
    let counted = readings.clone();
    let server = Lives::of([life(idempotent()).lose(), life(idempotent())]);
    let source = trust_fn(move |_, _| match counted.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Trust::NONE,
        _ => Trust::BOTH,
    });
    let error = server.client().trust(source).build().call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.reason().code(), server.connects()), ("server_untrusted", 1));
    assert_eq!(readings.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn trust_is_asked_for_the_identity_behind_the_name() {
    let server = Lives::of([life(idempotent()).lose(), life(idempotent())])
        .with_identity(|_| mcp_tool::mcp_transport::ServerIdentity::of([("command", "node")]));
    let asked = trust_fn(|name, identity| {
        assert_eq!(name, "files");
        if identity == &mcp_tool::mcp_transport::ServerIdentity::of([("command", "node")]) {
            Trust::BOTH
        } else {
            Trust::NONE
        }
    });
    let answer = server.client().trust(asked).build().call(ToolCall::new("put")).await.unwrap();
    assert_eq!(answer.attempts, 2);
}

/// For a transport that ignores the guard there is no await between the last reading of trust and the
/// hand-over: both happen in one poll of the call.
#[tokio::test]
async fn nothing_can_come_between_the_last_reading_of_trust_and_the_hand_over() {
    use std::task::{Context, Waker};
    let restarted = Arc::new(ScriptedTransport::new());
    let first =
        Arc::new(Catalog::new(Generation::FIRST, life(idempotent()).lose()).with_tool(put(idempotent())));
    let second =
        Arc::new(Catalog::new(Generation::FIRST.next(), restarted.clone()).with_tool(put(idempotent())));
    let mut discovery = MockDiscovery::new();
    discovery.expect_catalog().return_once(move || Ok(first));
    discovery.expect_suspect().return_const(());
    discovery.expect_rebuild().return_once(move |_| Ok(second));
    let (trust, read) = trusted_for(usize::MAX);
    let client = mcp_tool::Client::with_discovery("files", discovery).trust(trust).build();
    let mut call = Box::pin(client.call(ToolCall::new("put")));
    let mut polls = Vec::new();
    while call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        polls.push((read.load(Ordering::Relaxed), restarted.calls()));
    }
    assert!(polls.iter().all(|(read, calls)| *read < 3 || *calls == 1), "{polls:?}");
    assert_eq!(restarted.calls(), 1);
}
