//! The servers under test, and their definitions of now and of before.

use std::{collections::BTreeMap, time::Duration};

use mcp_tool::{CallReply, Servers, ToolCall, Trust, mcp_discovery::Supervision, trust_fn};
use mcp_tool_cli::fault_server::Record;
use tokio::time::timeout;

use crate::{
    bench::process::PATIENCE,
    definition::{Definition, Front, healthy},
    figures::Figures,
    numbers::Numbers,
};

pub(crate) const NAMES: [(&str, Front); 8] = [
    ("pipes-0", Front::Pipes),
    ("pipes-1", Front::Pipes),
    ("pipes-2", Front::Pipes),
    ("pipes-3", Front::Pipes),
    (UNTRUSTED, Front::Pipes),
    ("http-0", Front::Http),
    ("http-1", Front::Http),
    ("http-2", Front::Http),
];

/// Nothing of it may run twice, whatever it declares.
pub(crate) const UNTRUSTED: &str = "untrusted";

pub(crate) struct Fleet {
    servers: Servers,
    pub(crate) present: BTreeMap<&'static str, Definition>,
    retired: Vec<Definition>,
}

impl Fleet {
    pub(crate) fn new(figures: Figures) -> Self {
        let rules = Supervision::default()
            .with_probe_interval(Duration::from_millis(500))
            .with_probe_timeout(Duration::from_millis(500))
            .with_start_timeout(Duration::from_secs(2))
            .with_base(Duration::from_millis(20))
            .with_cap(Duration::from_millis(500))
            .with_min_uptime(Duration::from_secs(1))
            .with_start_budget(1_000, Duration::from_secs(600));
        let trust = trust_fn(|name, _| if name == UNTRUSTED { Trust::NONE } else { Trust::BOTH });
        let servers = Servers::builder().supervision(rules).trust(trust).observer(figures).build();
        Self { servers, present: BTreeMap::new(), retired: Vec::new() }
    }

    pub(crate) fn servers(&self) -> Servers {
        self.servers.clone()
    }

    /// Puts another definition in this one's place.
    pub(crate) async fn put(&mut self, name: &'static str, definition: Option<Definition>) {
        let before = match definition {
            Some(definition) => self.present.insert(name, definition),
            None => self.present.remove(name),
        };
        self.retired.extend(before);
        self.apply().await;
    }

    async fn apply(&self) {
        let entries = self.present.iter().map(|(name, definition)| definition.entry(name));
        let applied = timeout(PATIENCE, self.servers.apply(entries)).await;
        applied.expect("an edit ends what it replaces within a bound");
    }

    /// Makes healthy servers of all, waits until each answers, and until nothing of those before is left.
    pub(crate) async fn calm_down(&mut self, numbers: &mut Numbers) {
        for (name, front) in NAMES {
            let definition = Definition::new(front, healthy(numbers)).await;
            self.retired.extend(self.present.insert(name, definition));
        }
        self.apply().await;
        for (name, connected) in self.servers.connect_all().await {
            connected.unwrap_or_else(|error| panic!("{name} is healthy and does not come up: {error:?}"));
            let server = self.servers.get(&name).expect("it was put there");
            let answered = server.client().call(ToolCall::new("send")).await;
            let answer = answered.unwrap_or_else(|error| panic!("{name} is healthy: {error:?}"));
            assert!(matches!(answer.reply, CallReply::Result(_)), "{name}: {answer:?}");
        }
    }

    /// What the servers of before have done; nothing of them runs any more.
    pub(crate) async fn take_retired(&mut self) -> Vec<Record> {
        let mut records = Vec::new();
        for definition in self.retired.drain(..) {
            records.push(definition.over().await);
        }
        records
    }

    pub(crate) async fn end(mut self) {
        let late = self.servers.shut_down(PATIENCE).await;
        assert!(late.is_empty(), "{late:?} had not ended in time");
        self.retired.extend(std::mem::take(&mut self.present).into_values());
        drop(self.take_retired().await);
    }
}
