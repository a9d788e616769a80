use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use mcp_tool::{
    Happening, InvocationInfo, Observer, Trust, TrustSource, replay_policy::Checkpoint, trust_fn,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::row::{Course, Expected, Got, Over, Row};
use crate::fault_server::{Fault, Http, HttpFault, Moment, Reply, Response, Resumed, Scenario, ToolSpec};

/// Every row, in the order in which the rule is easiest to understand.
pub(super) fn all() -> Vec<Row> {
    let mut rows = over_stdio();
    rows.extend(over_http().into_iter().map(|row| Row { over: Over::Http, ..row }));
    rows
}

fn over_stdio() -> Vec<Row> {
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

/// Over HTTP a lost answer is not the end of the connection, and what comes may not be from the server.
fn over_http() -> Vec<Row> {
    use Moment::{AfterCommit, BeforeCommit};
    let idempotent = || Some(json!({ "idempotentHint": true }));
    vec![
        row(
            "connection reset after running; the tool says nothing of itself",
            server(None).on_call(1, HttpFault::Reset(AfterCommit)),
            1,
            Got::MayHaveRun("unannotated"),
            "nobody declared that repeating is safe",
        ),
        row(
            "connection reset after running; declared idempotent",
            server(idempotent()).on_call(1, HttpFault::Reset(AfterCommit)),
            2,
            Got::Answer,
            "listed again over the same session, and repeated",
        ),
        row(
            "event stream broke off after running; it can be resumed",
            server(None)
                .http(Http::new().reply(Reply::SseWithIds))
                .on_call(1, HttpFault::SseEndsAfterId { resumed: Resumed::Answer }),
            1,
            Got::Answer,
            "the rest of the stream was fetched, nothing was sent again",
        ),
        row(
            "404, as for a lost session, after running",
            server(None).on_call(1, HttpFault::Respond(AfterCommit, Response::new(404))),
            1,
            Got::MayHaveRun("unannotated"),
            "a 404 is the word of a peer, and no proof",
        ),
        row(
            "503 after running; declared idempotent",
            server(idempotent()).on_call(1, HttpFault::Respond(AfterCommit, Response::new(503))),
            1,
            Got::MayHaveRun("http_status"),
            "an error status is no lost connection",
        ),
        row(
            "307, a redirect; declared idempotent",
            server(idempotent()).on_call(1, HttpFault::Respond(BeforeCommit, Response::redirect(307))),
            0,
            Got::MayHaveRun("http_status"),
            "following it would send the call a second time",
        ),
        down_when_the_call_comes(server(None)),
    ]
}

fn row(happened: &'static str, scenario: Scenario, executions: usize, got: Got, why: &'static str) -> Row {
    Row {
        over: Over::Stdio,
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

/// Nothing listens on the server's port until the call has met that.
fn down_when_the_call_comes(scenario: Scenario) -> Row {
    struct Tell(Arc<Notify>);
    impl Observer for Tell {
        fn observe(&self, _: &InvocationInfo<'_>, happening: &Happening) {
            if let Happening::Failed { .. } = happening {
                self.0.notify_one();
            }
        }
    }
    let failed = Arc::new(Notify::new());
    Row {
        trust: Arc::new(Trust::NONE),
        observer: Some(Arc::new(Tell(failed.clone()))),
        course: Course::CallWhileDown(failed),
        ..row(
            "down when the call came, back later; nothing declared or trusted",
            scenario,
            1,
            Got::Answer,
            "the call had not been sent, so it was simply delivered",
        )
    }
}
