//! The span `mcp.call` is as docs/observability.md describes it, and holds nothing of the call.

use std::{
    collections::BTreeMap,
    fmt::{Debug, Write},
    sync::{Arc, Mutex},
};

use mcp_tool::{
    Client, Outcome, ToolCall, Transport, Trust, connector_fn,
    mcp_transport::{ScriptedTransport, Step, TransportError},
    rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations},
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::DefaultGuard,
};

const DOCUMENT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observability.md"));

/// Keeps what the crate's own spans and events say; the latest value of a field counts.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    names: Vec<&'static str>,
    fields: Vec<&'static str>,
    values: BTreeMap<String, String>,
    events: Vec<String>,
    /// How many spans are entered.
    inside: usize,
    /// Everything that was ever recorded.
    text: String,
}

impl Log {
    fn start() -> (Self, DefaultGuard) {
        let log = Self::default();
        let guard = tracing::subscriber::set_default(log.clone());
        (log, guard)
    }

    fn value(&self, field: &str) -> Option<String> {
        self.0.lock().unwrap().values.get(field).cloned()
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("mcp_tool")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let metadata = span.metadata();
        assert_eq!((metadata.target(), *metadata.level()), ("mcp_tool::driver", Level::INFO));
        let mut lines = self.0.lock().unwrap();
        lines.names.push(metadata.name());
        lines.fields = metadata.fields().iter().map(|field| field.name()).collect();
        span.record(&mut *lines);
        Id::from_u64(lines.names.len() as u64)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut *self.0.lock().unwrap());
    }

    fn event(&self, event: &Event<'_>) {
        assert_eq!(*event.metadata().level(), Level::DEBUG);
        let mut words = Lines::default();
        event.record(&mut words);
        let mut lines = self.0.lock().unwrap();
        assert!(lines.inside > 0, "an event outside of the span");
        lines.text.push_str(&words.text);
        lines.events.push(words.values.remove("message").expect("events have a message"));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {
        self.0.lock().unwrap().inside += 1;
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().inside -= 1;
    }
}

impl Visit for Lines {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}").trim_matches('"').to_owned();
        writeln!(self.text, "{field}={value}").unwrap();
        self.values.insert(field.name().to_owned(), value);
    }
}

/// A client of a server whose first connections follow these scripts.
fn client(scripts: impl IntoIterator<Item = ScriptedTransport>, tool: &Tool) -> Client {
    let connections: Vec<_> = scripts.into_iter().map(|script| script.with_tools([tool.clone()])).collect();
    let connections = Mutex::new(connections.into_iter());
    let connector = connector_fn(move || {
        let next = connections.lock().unwrap().next().map(|next| Arc::new(next) as Arc<dyn Transport>);
        async { next.ok_or_else(|| TransportError::connect("no connection is left")) }
    });
    Client::builder("files", connector).trust(Trust::BOTH).build()
}

fn put() -> Tool {
    Tool::new("put", "stores a value", JsonObject::new())
}

fn idempotent_put() -> Tool {
    put().with_annotations(ToolAnnotations::new().idempotent(true))
}

#[tokio::test]
async fn the_span_has_the_fields_of_the_document() {
    let (log, _guard) = Log::start();
    client([ScriptedTransport::new()], &put()).call(ToolCall::new("put")).await.unwrap();
    let (_, section) = DOCUMENT.split_once("## The span `mcp.call`").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let documented: Vec<_> = rows.map(|(field, _)| field).collect();
    let lines = log.0.lock().unwrap();
    assert_eq!((&lines.names, &lines.fields), (&vec!["mcp.call"], &documented));
    assert_eq!(lines.events, ["ended"]);
}

#[tokio::test]
async fn the_fields_tell_the_latest_attempt_and_decision() {
    let (log, _guard) = Log::start();
    let scripts = [ScriptedTransport::new().lose(), ScriptedTransport::new()];
    client(scripts, &idempotent_put()).call(ToolCall::new("put")).await.unwrap();
    let told = ["server", "tool", "generation", "attempt", "delivery", "decision", "reason"]
        .map(|field| log.value(field));
    let expected = ["files", "put", "2", "2", "unknown", "replay"].map(|value| Some(value.to_owned()));
    assert_eq!((&told[..6], &told[6]), (&expected[..], &None));
    let events = ["attempt failed", "decided", "decided", "ended"];
    assert_eq!(log.0.lock().unwrap().events, events);
}

#[tokio::test]
async fn a_refused_call_tells_its_reason_and_one_that_was_not_sent_counts_no_attempt() {
    let (log, _guard) = Log::start();
    let scripts = [ScriptedTransport::new().lose_unsent(), ScriptedTransport::new().lose()];
    let error = client(scripts, &put()).call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    let told = ["attempt", "delivery", "decision", "reason"].map(|field| log.value(field).unwrap());
    assert_eq!(told, ["1", "unknown", "unannotated", "unannotated"]);
}

#[tokio::test]
async fn neither_spans_nor_events_hold_anything_of_the_call() {
    const CANARY: &str = "canary";
    let (log, _guard) = Log::start();
    let name = format!("a\n{}", "n".repeat(200));
    let tool = Tool::new(name.clone(), CANARY, JsonObject::new())
        .with_annotations(ToolAnnotations::new().idempotent(true));
    let scripts = [
        ScriptedTransport::new().then(Step::Fail(TransportError::connection(CANARY))),
        ScriptedTransport::new()
            .then(Step::Answer(CallToolResult::error(vec![ContentBlock::text(CANARY)]).into())),
    ];
    let call = ToolCall::new(name).with_argument(CANARY, CANARY);
    client(scripts, &tool).call(call).await.unwrap();
    let text = log.0.lock().unwrap().text.clone();
    assert!(text.contains("tool=a\\n") && !text.contains(CANARY), "{text}");
    let longest = text.lines().map(str::len).max();
    assert!(longest <= Some("tool=".len() + 128 + "…".len()), "{longest:?}");
}

#[tokio::test]
async fn a_call_that_is_dropped_still_tells_its_end() {
    let (log, _guard) = Log::start();
    let gate = mcp_tool::mcp_transport::Gate::new();
    let client = client([ScriptedTransport::new().hang(&gate)], &put());
    let mut call = Box::pin(client.call(ToolCall::new("put")));
    while log.value("attempt").is_none() {
        tokio::select! {
            biased;
            _ = &mut call => unreachable!("the gate is closed"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(call);
    assert_eq!(log.value("reason").as_deref(), Some("dropped"));
    assert_eq!(log.0.lock().unwrap().events, ["ended"]);
}
