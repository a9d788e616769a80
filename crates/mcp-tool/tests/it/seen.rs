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
async fn a_dropped_call_is_recorded_as_unknown_when_it_was_under_way() {
    let gate = Gate::new();
    let server = Lives::of([life(None).hang(&gate)]);
    let diary = Diary::default();
    let client = server.client().observer(diary.clone()).build();
    tokio::select! {
        _ = client.call(ToolCall::new("put")) => unreachable!("the gate is closed"),
        () = server.life(0).wait_for_calls(1) => {}
    }
    assert_eq!(diary.0.lock().unwrap()[1..], ["First on 1", "Some(Unknown) Some(\"dropped\") 1 0"]);
}
