//! What the host does with each outcome, counted at a server that follows a script.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_tool::{
    CallReply, CancellationToken, Transport, TransportError, connector_fn,
    mcp_transport::{Event, Gate, ScriptedTransport, ServerIdentity, Step},
    rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData, JsonObject, Tool, ToolAnnotations},
};
use notes_host::{Finding, Host, ModelCall, Operator, Person, Settings, Why};
use serde_json::{Value, json};
use tokio::{sync::mpsc::UnboundedReceiver, time::timeout};

/// Says what it is told to say, and keeps what it was asked.
#[derive(Default)]
struct Somebody {
    answers: Mutex<VecDeque<bool>>,
    finding: Mutex<Option<Finding>>,
    asked: Mutex<Vec<Why>>,
    looked: Mutex<Vec<String>>,
}

impl Somebody {
    fn says(&self, answers: impl IntoIterator<Item = bool>) {
        self.answers.lock().unwrap().extend(answers);
    }

    fn finds(&self, finding: Finding) {
        *self.finding.lock().unwrap() = Some(finding);
    }

    fn asked(&self) -> Vec<Why> {
        self.asked.lock().unwrap().clone()
    }

    fn looked(&self) -> Vec<String> {
        self.looked.lock().unwrap().clone()
    }
}

impl Person for Somebody {
    async fn confirm(&self, _: &ModelCall, why: &Why) -> bool {
        self.asked.lock().unwrap().push(why.clone());
        let answer = self.answers.lock().unwrap().pop_front();
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    async fn look(&self, _: &ModelCall, code: &str) -> Finding {
        self.looked.lock().unwrap().push(code.to_owned());
        self.finding.lock().unwrap().unwrap_or(Finding::CannotTell)
    }

    fn progress(&self, _: f64, _: Option<f64>) {}
}

/// What happens while the server is being reached.
type Act = Box<dyn Fn() + Send>;

/// A host with the server `notes`, whose connections are these, one after the other.
struct Stage {
    host: Host<Somebody>,
    person: Arc<Somebody>,
    settings: Arc<Settings>,
    operator: Arc<Operator>,
    lines: UnboundedReceiver<String>,
    connections: Vec<Arc<ScriptedTransport>>,
    connecting: Arc<Mutex<Option<Act>>>,
}

impl Stage {
    fn new(connections: impl IntoIterator<Item = ScriptedTransport>) -> Self {
        let connections: Vec<_> = connections.into_iter().map(Arc::new).collect();
        let (operator, lines) = Operator::new();
        let (operator, settings, person) = (Arc::new(operator), Arc::<Settings>::default(), Arc::default());
        let mut host = Host::new(settings.clone(), operator.clone(), Arc::clone(&person));
        let left = Mutex::new(VecDeque::from(connections.clone()));
        let connecting: Arc<Mutex<Option<Act>>> = Arc::default();
        let on_connect = connecting.clone();
        let connector = connector_fn(move || {
            if let Some(act) = &*on_connect.lock().unwrap() {
                act();
            }
            let next = left.lock().unwrap().pop_front();
            async move {
                let gone = || TransportError::connect(io::Error::other("/home/jo/secret: token=hunter2"));
                next.map(|next| next as Arc<dyn Transport>).ok_or_else(gone)
            }
        });
        host.add("notes", connector.with_identity(ServerIdentity::of([("command", "notes")])));
        Self { host, person, settings, operator, lines, connections, connecting }
    }

    fn trusted(self) -> Self {
        self.settings.set_workspace(true);
        self.settings.set_server(self.host.identity("notes").unwrap(), true);
        self
    }

    async fn call(&self, tool: &str) -> CallToolResult {
        self.made(&call(tool), &CancellationToken::new()).await
    }

    /// Time is paused: an hour is over as soon as nothing moves any more.
    async fn made(&self, call: &ModelCall, cancellation: &CancellationToken) -> CallToolResult {
        let told = timeout(Duration::from_secs(3600), self.host.call(call, cancellation));
        told.await.expect("every call ends")
    }

    /// How many calls arrived, over all connections.
    fn calls(&self) -> usize {
        self.connections.iter().map(|connection| connection.calls()).sum()
    }
}

fn call(tool: &str) -> ModelCall {
    ModelCall::new("notes", tool, r#"{"line": "buy milk"}"#).unwrap()
}

fn server() -> ScriptedTransport {
    ScriptedTransport::new().with_tools([append(), put()])
}

fn append() -> Tool {
    Tool::new("append", "appends a line", JsonObject::new())
}

fn put() -> Tool {
    Tool::new("put", "stores a value", JsonObject::new())
        .with_annotations(ToolAnnotations::new().idempotent(true))
}

fn text(told: &CallToolResult) -> String {
    let texts = told.content.iter().filter_map(ContentBlock::as_text).map(|text| text.text.clone());
    texts.collect::<Vec<_>>().join("\n")
}

fn is_error(told: &CallToolResult) -> bool {
    told.is_error == Some(true)
}

#[tokio::test(start_paused = true)]
async fn a_result_reaches_the_model_as_it_is() {
    let result = CallToolResult::error(vec![ContentBlock::text("connection reset, disk full")]);
    let stage = Stage::new([server().then(Step::Answer(result.clone().into()))]).trusted();
    assert_eq!(stage.call("append").await, result);
    assert_eq!((stage.calls(), stage.person.asked(), stage.person.looked()), (1, vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn every_other_answer_is_final_too_and_tells_the_model_what_to_do() {
    let refusal = ErrorData::new(ErrorCode(-32603), "database connection lost", None);
    let input = json!({"resultType": "input_required", "inputRequests": {}});
    let task = json!({
        "resultType": "task", "taskId": "t-7", "status": "working", "createdAt": "2026-07-28T00:00:00Z",
        "lastUpdatedAt": "2026-07-28T00:00:00Z", "ttlMs": null, "ttl": null,
    });
    let answers = [
        (CallReply::Error(refusal), true, "error -32603, database connection lost"),
        (CallReply::InputRequired(Box::new(serde_json::from_value(input).unwrap())), true, "asks for input"),
        (CallReply::Task(Box::new(serde_json::from_value(task).unwrap())), false, "task t-7"),
    ];
    for (answer, failed, says) in answers {
        let stage = Stage::new([server().then(Step::Answer(answer)), server()]).trusted();
        let told = stage.call("put").await;
        assert_eq!((is_error(&told), text(&told).contains(says)), (failed, true), "{told:?}");
        assert_eq!((stage.calls(), stage.person.looked()), (1, vec![]));
    }
}

#[tokio::test(start_paused = true)]
async fn the_person_is_asked_unless_both_the_server_and_the_workspace_are_trusted() {
    for (workspace, server_trusted) in [(false, false), (false, true), (true, false), (true, true)] {
        for agrees in [false, true] {
            let stage = Stage::new([server()]);
            stage.settings.set_workspace(workspace);
            stage.settings.set_server(stage.host.identity("notes").unwrap(), server_trusted);
            stage.person.says([agrees]);
            let told = stage.call("append").await;

            let bypass = workspace && server_trusted;
            assert_eq!(stage.person.asked(), if bypass { vec![] } else { vec![Why::Untrusted] });
            assert_eq!(stage.calls(), usize::from(bypass || agrees));
            assert_eq!(text(&told).contains("declined"), !(bypass || agrees));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_run_is_made_once_and_a_person_looks() {
    let findings = [
        (Finding::Ran, "it did run. Do not call it again"),
        (Finding::DidNotRun, "it did not run. You may call it again"),
        (Finding::CannotTell, "could not tell. Do not call it again"),
    ];
    for (finding, says) in findings {
        let mut stage = Stage::new([server().lose(), server()]).trusted();
        stage.person.finds(finding);
        let told = stage.call("append").await;
        assert!(is_error(&told));
        assert_eq!(text(&told).split(':').next(), Some("Unknown (unannotated)"));
        assert!(text(&told).contains(says), "{told:?}");
        assert_eq!((stage.calls(), stage.person.looked()), (1, vec!["unannotated".to_owned()]));

        assert_eq!(stage.operator.in_doubt(), 1);
        let mut seen = Vec::new();
        while let Ok(line) = stage.lines.try_recv() {
            seen.push(line);
        }
        assert!(seen[0].contains("connection_lost"), "{seen:?}");
        assert!(seen.last().unwrap().ends_with("unknown (unannotated), attempts: 1, replays: 0"), "{seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_call_is_asked_about_while_it_is_in_doubt() {
    let stage = Stage::new([server().lose(), server()]).trusted();
    stage.call("append").await;
    stage.person.says([false, true]);

    let told = stage.call("append").await;
    assert!(text(&told).contains("declined"));
    assert_eq!((stage.calls(), stage.person.asked()), (1, vec![Why::InDoubt]));

    let other = ModelCall::new("notes", "append", r#"{"line": "buy bread"}"#).unwrap();
    stage.made(&other, &CancellationToken::new()).await;
    assert_eq!((stage.calls(), stage.person.asked().len()), (2, 1));

    stage.call("append").await;
    stage.call("append").await;
    assert_eq!((stage.calls(), stage.person.asked().len()), (4, 2));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_person_found_not_to_have_run_is_in_doubt_no_longer() {
    let stage = Stage::new([server().lose(), server()]).trusted();
    stage.person.finds(Finding::DidNotRun);
    stage.call("append").await;
    stage.call("append").await;
    assert_eq!((stage.calls(), stage.person.asked()), (2, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_replay_is_told_to_the_model() {
    let exists = ErrorData::new(ErrorCode(-32000), "already exists", None);
    let second = server().then(Step::Answer(CallReply::Error(exists)));
    let stage = Stage::new([server().lose(), second]).trusted();
    let told = stage.call("put").await;
    assert!(text(&told).contains("already exists\nAn earlier attempt"), "{told:?}");
    assert_eq!((stage.calls(), stage.person.looked()), (2, vec![]));
}

#[tokio::test(start_paused = true)]
async fn an_error_says_nothing_of_its_cause() {
    let stage = Stage::new([]).trusted();
    assert_eq!(
        text(&stage.call("append").await),
        "Not executed (not_connected). The server is not there; you may try later."
    );

    let broken = TransportError::connection(io::Error::other("/home/jo/secret: token=hunter2"));
    let mut stage = Stage::new([server().then(Step::Fail(broken.proven_unsent()))]).trusted();
    assert_eq!(text(&stage.call("append").await), "Not executed (unavailable). You may call the tool again.");
    while let Ok(line) = stage.lines.try_recv() {
        assert!(!line.contains("jo") && !line.contains("hunter2"), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn trust_that_goes_before_the_first_byte_sends_nothing_and_asks() {
    for agrees in [false, true] {
        let stage = Stage::new([server(), server()]).trusted();
        stage.host.tools().await;
        // The connection ends unnoticed; while the call reaches the server anew, the trust is withdrawn.
        stage.connections[0].disconnect();
        let settings = stage.settings.clone();
        *stage.connecting.lock().unwrap() = Some(Box::new(move || settings.set_workspace(false)));
        stage.person.says([agrees]);

        let told = stage.call("append").await;
        assert_eq!(stage.person.asked(), [Why::TrustWithdrawn]);
        assert_eq!(stage.calls(), usize::from(agrees));
        assert_eq!(text(&told).contains("declined"), !agrees);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_changed_is_shown_to_the_person_before_it_is_called() {
    let stage = Stage::new([server()]).trusted();
    stage.host.tools().await;
    stage.connections[0].set_tools([Tool::new("append", "appends a line, and mails it", JsonObject::new())]);
    stage.connections[0].tell(Event::ToolsChanged);
    while stage.connections[0].lists() < 2 {
        tokio::task::yield_now().await;
    }
    stage.person.says([false, true]);

    assert!(text(&stage.call("append").await).contains("declined"));
    assert_eq!(stage.calls(), 0);
    assert!(!is_error(&stage.call("append").await));
    assert_eq!(stage.calls(), 1);
    let asked = stage.person.asked();
    assert!(
        matches!(&asked[..], [first, Why::ToolChanged(now)] if now.contains("mails it") && *first == asked[1])
    );

    // What was agreed to is not asked about again.
    stage.call("append").await;
    assert_eq!((stage.calls(), stage.person.asked().len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_cancelled_before_it_leaves_and_while_it_is_under_way() {
    let stage = Stage::new([server()]);
    let cancellation = CancellationToken::new();
    let (append, never) = (call("append"), Gate::new());
    let (told, ()) = tokio::join!(stage.made(&append, &cancellation), async {
        while stage.person.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        cancellation.cancel();
    });
    assert!(text(&told).starts_with("Not executed (cancelled)"));
    assert_eq!(stage.calls(), 0);

    let stage = Stage::new([server().hang(&never)]).trusted();
    let cancellation = CancellationToken::new();
    let (told, ()) = tokio::join!(stage.made(&append, &cancellation), async {
        stage.connections[0].wait_for_calls(1).await;
        cancellation.cancel();
    });
    assert!(text(&told).starts_with("Unknown (cancelled)"));
    assert_eq!((stage.calls(), stage.person.looked()), (1, vec!["cancelled".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_called_says_so() {
    let stage = Stage::new([server()]).trusted();
    assert!(text(&stage.call("delete").await).contains("unknown_tool"));
    let elsewhere = ModelCall::new("elsewhere", "append", "").unwrap();
    let told = stage.made(&elsewhere, &CancellationToken::new()).await;
    assert!(text(&told).contains("unknown_server"));
    assert!(text(&ModelCall::new("notes", "append", "[1]").unwrap_err()).contains("invalid_arguments"));
    assert_eq!(stage.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn arguments_arrive_as_the_model_wrote_them() {
    let stage = Stage::new([server()]).trusted();
    stage.call("append").await;
    let received = stage.connections[0].received();
    let arguments = received[0].arguments().map(|arguments| Value::Object((**arguments).clone()));
    assert_eq!(arguments, Some(json!({"line": "buy milk"})));
}
