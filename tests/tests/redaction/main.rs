//! Nothing of the content leaves through what is told of a lost call: every input holds a word of its own, and
//! none of these words may turn up in any text that a host could log, count or show.
//!
//! One process per test, since the log of a process is one: the words of a server that another test started
//! would be in it.

mod sinks;

#[expect(dead_code, reason = "made for tests that do more with a server")]
#[path = "../bench/server.rs"]
mod server;

use std::{process::Command, time::Duration};

use mcp_tool::{
    Client, Connector, HttpConnector, MetricsObserver, StdioConnector, SupervisedDiscovery, ToolCall, Trust,
    mcp_discovery::Supervision,
    mcp_transport::reqwest::header::{HeaderName, HeaderValue},
    replay_policy::{Decision, policy_fn},
    rmcp::model::RequestMetaObject,
};
use mcp_tool_cli::fault_server::{Fault, Http, HttpFault, Ledger, Moment, Reply, Scenario, ToolSpec};
use metrics_util::debugging::DebuggingRecorder;
use serde_json::json;

use self::{server::Server, sinks::Sinks};

/// What the caller says.
const OF_THE_CALL: [&str; 3] = ["canary-argument", "canary-key", "canary-meta"];
/// What the server says, asked and unasked.
const OF_THE_SERVER: [&str; 3] = ["canary-description", "canary-title", "canary-schema"];
/// How a process is started, and what it writes on its standard error.
const OF_THE_PROCESS: [&str; 4] = ["canary-environment", "canary-folder", "canary-word", "canary-stderr"];
/// How a server is reached over HTTP.
const OF_THE_URL: [&str; 5] =
    ["canary-user", "canary-password", "canary-query", "canary-header", "canary-token"];

/// What rmcp may log at trace, as docs/observability.md says: a call's `_meta`, and over HTTP the server's list.
const OF_RMCP: [&str; 4] = ["canary-meta", "canary-description", "canary-title", "canary-schema"];

fn put(fault: impl Into<Fault>) -> Scenario {
    let schema = json!({ "type": "object", "description": "canary-schema" });
    let tool = ToolSpec::new("put")
        .annotations(json!({ "idempotentHint": true, "title": "canary-title" }))
        .description("canary-description")
        .input_schema(schema);
    Scenario::new().tool(tool).on_every_call(fault)
}

fn call() -> ToolCall {
    let mut meta = RequestMetaObject::new();
    meta.insert("m".into(), "canary-meta".into());
    ToolCall::new("put")
        .with_argument("key", "canary-argument")
        .with_argument("canary-key", 1)
        .with_meta(meta)
}

/// Makes the calls of a host that tells everything it can, and gives what was told.
async fn tell_all(sinks: &Sinks, connector: impl Connector + std::fmt::Debug + 'static) {
    sinks.debug("connector", &connector);
    // It dies more often than a server may by default.
    let rules = Supervision::default().with_start_budget(100, Duration::from_secs(1));
    let discovery = SupervisedDiscovery::builder(connector).with_supervision(rules).build();
    let observer = (sinks.clone(), MetricsObserver::new());
    let trusted =
        Client::with_discovery("files", discovery.clone()).trust(Trust::BOTH).observer(observer).build();
    let untrusted = Client::with_discovery("files", discovery.clone()).observer(sinks.clone()).build();
    let always =
        Client::with_discovery("files", discovery.clone()).policy(policy_fn(|_| Decision::Replay)).build();
    for tool in trusted.tools().await.expect("a healthy server lists its tools") {
        sinks.debug("handle", &tool);
    }
    // Denied; replayed up to the limit; replayed up to the ceiling; out of time.
    for (client, call) in [
        (&untrusted, call()),
        (&trusted, call()),
        (&always, call()),
        (&trusted, call().with_deadline(Duration::ZERO)),
    ] {
        sinks.debug("call", &call);
        let error = client.call(call).await.expect_err("every call is lost");
        sinks.error("error", &error);
        if let Some(error) = error.transport_error() {
            sinks.error("transport error", error);
        }
        sinks.debug("client", client);
    }
    sinks.debug("status", &discovery.status());
    sinks.debug("discovery", &discovery);
    if let Some(catalog) = discovery.present() {
        sinks.debug("catalog", &catalog);
    }
    drop((trusted, untrusted, always));
    let _ = discovery.stop().await;
    if let Err(error) = mcp_tool::Discovery::catalog(&discovery).await {
        sinks.error("discovery error", &error);
    }
}

/// Runs the work with a log and a recorder that keep everything.
fn captured(work: impl AsyncFnOnce(&Sinks)) -> Sinks {
    let sinks = Sinks::default();
    tracing::subscriber::set_global_default(sinks.clone()).expect("one test per process");
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&recorder, || runtime.block_on(work(&sinks)));
    for (key, _, _, _) in snapshotter.snapshot().into_vec() {
        sinks.debug("metrics", &key);
    }
    sinks
}

fn assert_silent(sinks: &Sinks, canaries: &[&str]) {
    // The check would hold of an empty log, too.
    for sink in [
        "log of mcp_tool",
        "log of mcp_discovery",
        "log of rmcp",
        "log of a span",
        "observer",
        "error",
        "metrics",
    ] {
        assert!(sinks.count(sink) > 0, "nothing came from the {sink}");
    }
    for canary in canaries {
        let tellers = sinks.tellers_of(canary);
        let told: Vec<_> = tellers
            .iter()
            .filter(|teller| !(OF_RMCP.contains(canary) && teller.starts_with("log of rmcp")))
            .collect();
        assert!(told.is_empty(), "{canary} is told by {told:?}");
    }
}

/// Runs a test of this file in a process of its own.
fn alone(test: &str) {
    let this = std::env::current_exe().unwrap();
    let ran = Command::new(this).args([test, "--exact", "--ignored", "--nocapture"]).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && told.contains("1 passed"),
        "{told}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn a_lost_call_over_stdio_tells_nothing_of_its_content() {
    alone("over_stdio");
}

#[test]
fn a_lost_call_over_http_tells_nothing_of_its_content() {
    alone("over_http");
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn over_stdio() {
    let root = tempfile::tempdir().unwrap();
    let (folder, ledger) = (root.path().join("canary-folder"), Ledger::new(root.path().join("ledger.jsonl")));
    std::fs::create_dir(&folder).unwrap();
    let scenario = put(Fault::DieAfterCommit);
    let connector = StdioConnector::new("/bin/sh")
        .args([
            "-c",
            "echo canary-stderr >&2; exec \"$@\"",
            "canary-word",
            env!("CARGO_BIN_EXE_fault-server"),
        ])
        .args(scenario.to_args(ledger.path()))
        .env("SECRET", "canary-environment")
        .current_dir(folder)
        .with_grace(Duration::from_millis(100));
    let sinks = captured(async |sinks| tell_all(sinks, connector).await);
    let executions = ledger.executions().unwrap();
    assert!(executions.iter().all(|execution| execution.key == "canary-argument"), "the arguments arrived");
    assert!(executions.len() >= 1 + 4 + 8, "{}", executions.len());
    assert_silent(&sinks, &[&OF_THE_CALL[..], &OF_THE_SERVER, &OF_THE_PROCESS].concat());
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn over_http() {
    struct Token;
    #[async_trait::async_trait]
    impl mcp_tool::TokenSource for Token {
        async fn token(&self) -> Result<Option<String>, Box<dyn std::error::Error + Send + Sync>> {
            Ok(Some("canary-token".into()))
        }
    }
    let sinks = captured(async |sinks| {
        for fault in [HttpFault::Reset(Moment::AfterCommit), HttpFault::SseCut] {
            let server = Server::start(&put(fault).http(Http::new().reply(Reply::Sse))).await;
            let url = format!(
                "http://canary-user:canary-password@127.0.0.1:{}/mcp?key=canary-query",
                server.port()
            );
            let connector = HttpConnector::new(&url)
                .unwrap()
                .with_header(HeaderName::from_static("x-secret"), HeaderValue::from_static("canary-header"))
                .with_tokens(Token);
            tell_all(sinks, connector).await;
            assert!(server.record().executions().len() >= 5);
            server.stop().await;
        }
    });
    assert_silent(&sinks, &[&OF_THE_CALL[..], &OF_THE_SERVER, &OF_THE_URL].concat());
}
