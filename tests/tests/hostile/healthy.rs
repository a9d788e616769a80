//! The server next door, which must not notice anything.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use mcp_tool::{Client, ToolCall};
use mcp_tool_cli::fault_server::{Scenario, ToolSpec};
use tokio::{sync::oneshot, task::JoinHandle, time::sleep};

use crate::bench::Bench;

/// A healthy server that is called all the time.
pub(crate) struct Healthy {
    bench: Bench,
    stop: oneshot::Sender<()>,
    calling: JoinHandle<()>,
    answered: Arc<AtomicU64>,
    before: u64,
}

impl Healthy {
    pub(crate) async fn start() -> Self {
        let bench = Bench::new("healthy");
        let client = Client::builder("healthy", bench.connector(&Scenario::new().tool(ToolSpec::new("put"))));
        let client = client.build();
        let answered = Arc::new(AtomicU64::new(0));
        let (stop, mut stopped) = oneshot::channel();
        let count = answered.clone();
        let calling = tokio::spawn(async move {
            loop {
                let call = ToolCall::new("put").with_deadline(Duration::from_secs(60));
                client.call(call).await.expect("the server next door is not harmed");
                count.fetch_add(1, SeqCst);
                // Some calls in every second, and no load of its own.
                tokio::select! {
                    _ = &mut stopped => return,
                    () = sleep(Duration::from_millis(20)) => {}
                }
            }
        });
        let mut healthy = Self { bench, stop, calling, answered, before: 0 };
        healthy.more(3).await;
        healthy.before = healthy.answered.load(SeqCst);
        healthy
    }

    pub(crate) fn answered_meanwhile(&self) -> u64 {
        self.answered.load(SeqCst) - self.before
    }

    /// Ends it, once it has answered during the case and afterwards.
    pub(crate) async fn stop(self) {
        println!("healthy: {} calls answered meanwhile", self.answered_meanwhile());
        self.more(3).await;
        drop(self.stop);
        self.calling.await.unwrap();
        self.bench.all_gone().await;
    }

    async fn more(&self, calls: u64) {
        let wanted = self.answered.load(SeqCst) + calls;
        while self.answered.load(SeqCst) < wanted {
            assert!(!self.calling.is_finished(), "the calls next door have ended");
            sleep(Duration::from_millis(5)).await;
        }
    }
}
