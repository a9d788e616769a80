use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{connector::Reach, process::ProcessGroup, wire::Wire};
use crate::Fence;

/// How long a process outside the group may keep standard error open after the group has gone.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Watches over one child from its start until its group has been ended.
///
/// The task that does so outlives the transport that was dropped without being closed, so that nothing
/// is left running; it is bounded by the graces of the group's end.
pub(super) struct Supervisor {
    closing: CancellationToken,
    fence: watch::Receiver<Option<Fence>>,
}

impl Supervisor {
    /// `stderr` is the task that reads the group's standard error; it ends with the group.
    pub(super) fn watch(
        group: ProcessGroup,
        wire: Arc<Wire>,
        grace: Duration,
        reach: Reach,
        stderr: JoinHandle<()>,
    ) -> Self {
        let closing = CancellationToken::new();
        let (told, fence) = watch::channel(None);
        let asked = closing.clone();
        tokio::spawn(async move {
            let ended = supervise(group, &wire, &asked, grace).await;
            let fence = match reach {
                Reach::Here => ended,
                Reach::Behind => Fence::None,
            };
            // Read to its end before anybody is told, so that its tail explains why the server ended.
            let mut stderr = stderr;
            if timeout(LAST_WORDS, &mut stderr).await.is_err() {
                stderr.abort();
            }
            told.send_replace(Some(fence));
            // Whoever asks later still finds the answer.
            asked.cancelled().await;
        });
        Self { closing, fence }
    }

    /// Ends the group, once; everybody who asks gets the same fence.
    pub(super) async fn close(&self) -> Fence {
        self.closing.cancel();
        let mut fence = self.fence.clone();
        match fence.wait_for(Option::is_some).await {
            Ok(fence) => fence.unwrap_or_default(),
            // The task died with its runtime, and killed the group as it went.
            Err(_) => Fence::None,
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

async fn supervise(
    mut group: ProcessGroup,
    wire: &Wire,
    closing: &CancellationToken,
    grace: Duration,
) -> Fence {
    tokio::select! {
        () = group.leader_exited() => {
            wire.child_gone.cancel();
            // Nobody needs to wait for a reconnect to see a dead server's last trace gone.
            if group.reap_if_alone() {
                return Fence::GroupGone;
            }
            closing.cancelled().await;
        }
        () = closing.cancelled() => {}
    }
    wire.stop.cancel();
    wire.outbox.shut_down();
    group.end(grace).await
}
