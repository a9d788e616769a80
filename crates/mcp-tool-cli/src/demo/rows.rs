use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use mcp_tool::{
    Happening, InvocationInfo, Observer, Trust, TrustSource, replay_policy::Checkpoint, trust_fn,
};
use serde_json::{Value, json};

use super::row::{Course, Expected, Got, Row};
use crate::fault_server::{Fault, Scenario, ToolSpec};

/// Every row, in the order in which the rule is easiest to understand.
pub(super) fn all() -> Vec<Row> {
    let died = || Fault::DieAfterCommit;
    let idempotent = || Some(json!({ "idempotentHint": true }));
    vec![
        row("nothing", server(None), 1, Got::Answer, "the answer came: it stands"),
        row(
            "died after running; the tool says nothing of itself",
            server(None).on_call(1, died()),
            1,
            Got::MayHaveRun("unannotated"),
            "nobody declared that repeating is safe",
        ),
        row(
            "died after running; declared idempotent",
            server(idempotent()).on_call(1, died()),
            2,
            Got::Answer,
            "repeating was declared safe, so it was repeated",
        ),
        row(
            "died after running; declared read-only",
            server(Some(json!({ "readOnlyHint": true }))).on_call(1, died()),
            2,
            Got::Answer,
            "reading twice is safe",
        ),
        row(
            "died after running; declared read-only and destructive",
            server(Some(json!({ "readOnlyHint": true, "destructiveHint": true }))).on_call(1, died()),
            1,
            Got::MayHaveRun("contradictory_hints"),
            "hints that contradict each other are no declaration",
        ),
        row(
            "died after running; idempotent no more after its restart",
            server(idempotent()).on_call(1, died()).from_start(2, server(None)),
            1,
            Got::MayHaveRun("unannotated"),
            "the tool is judged again as it is listed now",
        ),
        revoked_during_reconnect(server(idempotent()).on_call(1, died())),
        Row {
            trust: Arc::new(Trust::NONE.with_trusted_workspace()),
            ..row(
                "died after running; declared idempotent, server not trusted",
                server(idempotent()).on_call(1, died()),
                1,
                Got::MayHaveRun("server_untrusted"),
                "the word of an untrusted server counts for nothing",
            )
        },
        Row {
            trust: Arc::new(Trust::NONE),
            course: Course::CallAfterIdleDeath,
            ..row(
                "died while idle, before the call; nothing declared or trusted",
                server(None).on_call(1, Fault::DieAfterAnswer),
                1,
                Got::Answer,
                "the call had not been sent, so it was simply delivered",
            )
        },
        row(
            "the tool answered: \"database connection lost\"",
            server(idempotent()).on_call(1, Fault::lost_connection_error()),
            1,
            Got::ErrorAnswer,
            "an answer is an answer, whatever it says",
        ),
        Row {
            course: Course::Cancel,
            ..row(
                "the caller cancelled after the tool had run",
                server(idempotent()).on_call(1, Fault::Hang),
                1,
                Got::MayHaveRun("cancelled"),
                "who gives up gets no repetition",
            )
        },
    ]
}

fn row(happened: &'static str, scenario: Scenario, executions: usize, got: Got, why: &'static str) -> Row {
    Row {
        happened,
        scenario,
        trust: Arc::new(Trust::BOTH),
        observer: None,
        course: Course::Call,
        expected: Expected { executions, got },
        why,
    }
}

fn server(annotations: Option<Value>) -> Scenario {
    let put = ToolSpec::new("put");
    Scenario::new().tool(match annotations {
        Some(annotations) => put.annotations(annotations),
        None => put,
    })
}

/// The operator withdraws trust between the two checkpoints.
fn revoked_during_reconnect(scenario: Scenario) -> Row {
    struct Revoke(Arc<AtomicBool>);
    impl Observer for Revoke {
        fn observe(&self, _: &InvocationInfo<'_>, happening: &Happening) {
            if let Happening::Decided { checkpoint: Checkpoint::BeforeReconnect, .. } = happening {
                self.0.store(true, Ordering::Relaxed);
            }
        }
    }
    let revoked = Arc::new(AtomicBool::new(false));
    let read = revoked.clone();
    let trust: Arc<dyn TrustSource> =
        Arc::new(trust_fn(move |_, _| if read.load(Ordering::Relaxed) { Trust::NONE } else { Trust::BOTH }));
    Row {
        trust,
        observer: Some(Arc::new(Revoke(revoked))),
        ..row(
            "died after running; trust was revoked during the reconnect",
            scenario,
            1,
            Got::MayHaveRun("server_untrusted"),
            "trust is read again before anything is repeated",
        )
    }
}
