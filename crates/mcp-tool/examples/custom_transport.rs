//! A transport of one's own: a queue to a worker, which claims by name what a failure proves.
//!
//! `cargo run -p mcp-tool --all-features --example custom_transport`; under `cargo test` it is held to the contract
//! of all transports.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use mcp_tool::{
    CallReply, CancellationToken, Client, Outcome, ToolCall, Transport, TransportError, Trust, connector_fn,
    mcp_transport::{Cursor, Fence, ToolPage},
    rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations},
};
use tokio::sync::{mpsc, oneshot};

/// One call on its way to the worker.
struct Job {
    tool: String,
    arguments: Option<Arc<JsonObject>>,
    reply: oneshot::Sender<CallToolResult>,
}

/// A connection to one worker.
struct Queue {
    jobs: mpsc::Sender<Job>,
    closed: CancellationToken,
}

#[async_trait]
impl Transport for Queue {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        // Waiting for room sends nothing: whatever ends it proves that the call was not sent.
        let room = async {
            match self.closed.run_until_cancelled(self.jobs.reserve()).await {
                Some(Ok(room)) => Ok(room),
                _ => Err(TransportError::closed()),
            }
        };
        // From here on nothing is claimed: the worker may have run what it did not answer.
        call.attempt(room, |call, room| async move {
            let (reply, answer) = oneshot::channel();
            let arguments = call.arguments().cloned();
            room.send(Job { tool: call.name().to_owned(), arguments, reply });
            match self.closed.run_until_cancelled(answer).await {
                Some(Ok(result)) => Ok(CallReply::from(result)),
                _ => Err(TransportError::lost()),
            }
        })
        .await
    }

    async fn list_tools(&self, _: Option<Cursor>) -> Result<ToolPage, TransportError> {
        if self.is_closed() {
            return Err(TransportError::closed());
        }
        let tool = |name| Tool::new(name, "stores a value", JsonObject::new());
        let put = tool("put").with_annotations(ToolAnnotations::new().idempotent(true));
        Ok(ToolPage::of([put, tool("append")]))
    }

    fn is_closed(&self) -> bool {
        self.closed.is_cancelled() || self.jobs.is_closed()
    }

    async fn close(&self) -> Fence {
        self.closed.cancel();
        // The worker may still be busy with a job: nothing is known of it.
        Fence::None
    }
}

/// The far side: runs jobs and counts them. The first worker dies after its first job.
#[derive(Clone, Default)]
struct Workers {
    started: Arc<AtomicUsize>,
    executions: Arc<AtomicUsize>,
}

impl Workers {
    fn start(&self) -> Queue {
        let (jobs, mut queue) = mpsc::channel::<Job>(8);
        let is_first = self.started.fetch_add(1, Ordering::Relaxed) == 0;
        let executions = self.executions.clone();
        tokio::spawn(async move {
            while let Some(job) = queue.recv().await {
                executions.fetch_add(1, Ordering::Relaxed);
                let arguments = job.arguments.map_or(0, |arguments| arguments.len());
                println!("  the worker runs {} with {arguments} argument", job.tool);
                if is_first {
                    // Known to be gone before the job's loss is told: otherwise the replay might still be put
                    // into this queue, and be lost with it.
                    queue.close();
                    return;
                }
                // An error only says that the caller has left.
                let _ = job.reply.send(CallToolResult::success(vec![]));
            }
        });
        Queue { jobs, closed: CancellationToken::new() }
    }

    fn executions(&self) -> usize {
        self.executions.load(Ordering::Relaxed)
    }
}

fn client(connect: impl Fn() -> Queue + Send + Sync + 'static) -> Client {
    let connector = connector_fn(move || {
        let queue = connect();
        async { Ok(Arc::new(queue) as Arc<dyn Transport>) }
    });
    Client::builder("workers", connector).trust(Trust::BOTH).build()
}

#[tokio::main]
async fn main() {
    println!("put, declared idempotent, by a worker that dies:");
    let workers = Workers::default();
    let started = workers.clone();
    let call = ToolCall::new("put").with_argument("key", "a");
    let answer = client(move || started.start()).call(call).await.unwrap();
    println!("  answered after {} attempts", answer.attempts);
    assert_eq!((answer.attempts, answer.replays, workers.executions()), (2, 1, 2));

    println!("append, about which nothing is declared, by a worker that dies:");
    let workers = Workers::default();
    let started = workers.clone();
    let call = ToolCall::new("append").with_argument("key", "a");
    let error = client(move || started.start()).call(call).await.unwrap_err();
    println!("  {}, because {}", error.outcome().code(), error.reason());
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unannotated"));
    assert_eq!((error.attempts(), workers.executions()), (1, 1));

    println!("append, into a queue that has no room until the deadline:");
    let (jobs, _taken_by_nobody) = mpsc::channel(1);
    let _the_only_room = jobs.clone().reserve_owned().await.unwrap();
    let call = ToolCall::new("append").with_deadline(Duration::from_millis(20));
    let full = client(move || Queue { jobs: jobs.clone(), closed: CancellationToken::new() });
    let error = full.call(call).await.unwrap_err();
    println!("  {}, because {}", error.outcome().code(), error.reason());
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "deadline"));
    assert_eq!((error.attempts(), error.unsent()), (0, 1));
}

/// The queue under the contract suite: the worker is the far end, and does what the suite says.
#[cfg(test)]
mod tests {
    use mcp_tool::mcp_transport::contract::{self, Behaviour, Bench, FarEnd, Unsupported};

    use super::*;

    struct Worker;

    #[async_trait]
    impl Bench for Worker {
        async fn connect(&self, far_end: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
            // A job brings the way back for its own result, and for nothing else.
            if matches!(far_end.behaviour(), Behaviour::AnswersNobodyFirst | Behaviour::AnswersWithError) {
                return Err(Unsupported);
            }
            let (jobs, queue) = mpsc::channel(1);
            // A job that is in the queue has left. So that nothing leaves, there is no room in it.
            let takes_nothing = far_end.behaviour() == Behaviour::TakesNothing;
            let room = if takes_nothing { jobs.clone().reserve_owned().await.ok() } else { None };
            tokio::spawn(async move {
                tokio::select! {
                    () = work(&far_end, queue, room) => {}
                    () = far_end.ended() => {}
                }
            });
            Ok(Arc::new(Queue { jobs, closed: CancellationToken::new() }))
        }
    }

    async fn work(far_end: &FarEnd, mut queue: mpsc::Receiver<Job>, room: Option<mpsc::OwnedPermit<Job>>) {
        if !far_end.may_take().await {
            return;
        }
        drop(room);
        while let Some(job) = queue.recv().await {
            let taken = far_end.received(&job.tool, job.arguments.as_deref());
            let Some(CallReply::Result(result)) = taken.reply().await else { return };
            // An error only says that the caller has left.
            let _ = job.reply.send(*result);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_keeps_the_contract() {
        let report = contract::check(Worker).await;
        assert_eq!(report.skipped(), [Behaviour::AnswersNobodyFirst, Behaviour::AnswersWithError]);
    }
}
