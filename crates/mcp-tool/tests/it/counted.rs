//! What is counted through the `metrics` facade.

use std::collections::BTreeMap;

use mcp_tool::{MetricsObserver, ToolCall, Trust};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use crate::servers::{Lives, idempotent, life};

/// Runs the work with a recorder of its own; what was counted, by name and labels.
fn counted(work: impl Future) -> BTreeMap<String, DebugValue> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    metrics::with_local_recorder(&recorder, || runtime.unwrap().block_on(work));
    let values = snapshotter.snapshot().into_vec().into_iter();
    values
        .map(|(key, _, _, value)| {
            let key = key.key();
            let labels: Vec<_> =
                key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            (format!("{} {}", key.name(), labels.join(" ")), value)
        })
        .collect()
}

#[test]
fn calls_attempts_replays_deliveries_and_recoveries_are_counted_by_server_and_code() {
    let server = Lives::of([
        life(idempotent()).lose(),
        life(idempotent()),
        life(idempotent()).lose_unsent(),
        life(idempotent()),
        life(None).lose(),
    ]);
    let client = server.client().trust(Trust::BOTH).observer(MetricsObserver::new()).build();
    let counted = counted(async {
        let end = async || client.catalog().await.unwrap().transport().close().await;
        assert_eq!(client.call(ToolCall::new("put")).await.unwrap().replays, 1);
        end().await;
        assert_eq!(client.call(ToolCall::new("put")).await.unwrap().unsent, 1);
        end().await;
        client.call(ToolCall::new("put")).await.unwrap_err();
    });
    let counters = [
        ("mcp_calls_total server=files outcome=completed reason=none", 2),
        ("mcp_calls_total server=files outcome=unknown reason=unannotated", 1),
        ("mcp_attempts_total server=files", 4),
        ("mcp_replays_total server=files", 1),
        ("mcp_first_deliveries_total server=files", 1),
        ("mcp_reconnects_total server=files", 4),
    ];
    for (name, count) in counters {
        assert_eq!(counted.get(name), Some(&DebugValue::Counter(count)), "{name} in {counted:?}");
    }
    for (name, tools) in [("mcp_tools server=files", 1.0), ("mcp_quarantined_tools server=files", 0.0)] {
        assert_eq!(counted.get(name), Some(&DebugValue::Gauge(tools.into())), "{name}");
    }
    for (outcome, losses) in [("completed", 2), ("unknown", 1)] {
        let name = format!("mcp_recovery_seconds server=files outcome={outcome}");
        let Some(DebugValue::Histogram(values)) = counted.get(&name) else { panic!("{name}") };
        assert_eq!(values.len(), losses);
    }
    assert_eq!(counted.len(), counters.len() + 4, "and nothing else: {counted:?}");
    let document = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observability.md"));
    for name in counted.keys().filter_map(|key| key.split(' ').next()) {
        assert!(document.contains(&format!("\n| `{name}` |")), "{name} has no row");
    }
}
