//! What hosts see: the observer's events and the span.

use std::sync::{Arc, Mutex};

use mcp_tool::{Happening, InvocationInfo, Observer, ToolCall, Trust, mcp_transport::Gate};

use crate::servers::{Lives, idempotent, life};

#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Observer for Diary {
    fn observe(&self, invocation: &InvocationInfo<'_>, happening: &Happening) {
        let line = match happening {
            Happening::Attempting { kind, generation, .. } => format!("{kind:?} on {}", generation.get()),
            Happening::Failed { kind, delivery, .. } => format!("{} {delivery:?}", kind.code()),
            Happening::Decided { checkpoint, decision, .. } => format!("{checkpoint:?} {decision:?}"),
            Happening::Ended { outcome, reason, attempts, replays, .. } => {
                format!("{outcome:?} {:?} {attempts} {replays}", reason.map(|reason| reason.code()))
            }
            Happening::Listed { generation, connection, tools, quarantined, .. } => {
                format!("{tools}+{quarantined} tools in {} over {}", generation.get(), connection.get())
            }
            other => format!("{other:?}"),
        };
        assert_eq!((invocation.server, invocation.tool), ("files", "put"));
        self.0.lock().unwrap().push(line);
    }
}

#[tokio::test]
async fn an_observer_sees_every_step_of_an_invocation() {
    let server = Lives::of([life(idempotent()).lose(), life(idempotent())]);
    let diary = Diary::default();
    let client = server.client().trust(Trust::BOTH).observer(diary.clone()).build();
    client.call(ToolCall::new("put")).await.unwrap();
    assert_eq!(
        *diary.0.lock().unwrap(),
        [
            "1+0 tools in 1 over 1",
            "First on 1",
            "connection_lost Unknown",
            "BeforeReconnect Replay",
            "1+0 tools in 2 over 2",
            "BeforeReplay Replay",
            "Replay on 2",
            "None None 2 1",
        ]
    );
}

#[tokio::test]
async fn a_dropped_call_is_recorded_with_what_was_on_the_wire_by_then() {
    let gate = Gate::new();
    let lost = || life(idempotent()).lose();
    for (lives, generation, ended) in [
        (vec![life(None).hang(&gate)], 1, "Some(Unknown) Some(\"dropped\") 1 0"),
        (vec![lost(), life(idempotent()).hang(&gate)], 2, "Some(Unknown) Some(\"dropped\") 2 1"),
    ] {
        let server = Lives::of(lives);
        let diary = Diary::default();
        let client = server.client().trust(Trust::BOTH).observer(diary.clone()).build();
        tokio::select! {
            _ = client.call(ToolCall::new("put")) => unreachable!("the gate is closed"),
            () = server.life(generation - 1).wait_for_calls(1) => {}
        }
        let diary = diary.0.lock().unwrap();
        assert!(diary[diary.len() - 2].ends_with(&format!(" on {generation}")), "{diary:?}");
        assert_eq!(diary[diary.len() - 1], ended);
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_before_it_is_sent_is_recorded_as_not_executed() {
    let server = Lives::of([life(None)]);
    let diary = Diary::default();
    let client = server.client().observer(diary.clone()).build();
    let mut calling = Box::pin(client.call(ToolCall::new("put")));
    assert!(futures_util::future::FutureExt::now_or_never(&mut calling).is_none());
    drop(calling);
    assert_eq!(*diary.0.lock().unwrap(), ["Some(NotExecuted) Some(\"dropped\") 0 0"]);
}
