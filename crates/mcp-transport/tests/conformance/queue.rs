//! A queue to a worker: the custom transport of the documents, and the one that `wrong.rs` spoils.

use std::sync::Arc;

use mcp_transport::{
    CallReply, CancellationToken, Cursor, Fence, ToolCall, ToolPage, Transport, TransportError,
    contract::{self, Behaviour, Bench, FarEnd, Unsupported},
    rmcp::model::JsonObject,
};
use tokio::sync::{
    mpsc::{self, OwnedPermit},
    oneshot,
};

use crate::is_kept;

const ROOM: usize = 8;

pub(crate) struct Job {
    pub(crate) tool: String,
    pub(crate) arguments: Option<Arc<JsonObject>>,
    pub(crate) reply: oneshot::Sender<CallReply>,
}

impl Job {
    pub(crate) fn of(call: &ToolCall) -> (Self, oneshot::Receiver<CallReply>) {
        let (reply, answer) = oneshot::channel();
        (Self { tool: call.name().to_owned(), arguments: call.arguments().cloned(), reply }, answer)
    }
}

pub(crate) struct Queue {
    pub(crate) jobs: mpsc::Sender<Job>,
    pub(crate) closed: CancellationToken,
}

impl Queue {
    pub(crate) async fn room(&self) -> Result<mpsc::Permit<'_, Job>, TransportError> {
        match self.closed.run_until_cancelled(self.jobs.reserve()).await {
            Some(Ok(room)) => Ok(room),
            _ => Err(TransportError::closed()),
        }
    }

    pub(crate) async fn answer(
        &self,
        answer: oneshot::Receiver<CallReply>,
    ) -> Result<CallReply, TransportError> {
        match self.closed.run_until_cancelled(answer).await {
            Some(Ok(reply)) => Ok(reply),
            _ => Err(TransportError::lost()),
        }
    }
}

#[async_trait::async_trait]
impl Transport for Queue {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        call.attempt(self.room(), |call, room| async move {
            let (job, answer) = Job::of(&call);
            room.send(job);
            self.answer(answer).await
        })
        .await
    }

    async fn list_tools(&self, _: Option<Cursor>) -> Result<ToolPage, TransportError> {
        Ok(ToolPage::default())
    }

    fn is_closed(&self) -> bool {
        self.closed.is_cancelled() || self.jobs.is_closed()
    }

    async fn close(&self) -> Fence {
        self.closed.cancel();
        Fence::None
    }
}

/// A queue, and the worker that is the far end. One that takes nothing has no room in its queue.
pub(crate) async fn start(far_end: FarEnd) -> Queue {
    let (jobs, queue) = mpsc::channel(ROOM);
    let mut taken = Vec::new();
    if far_end.behaviour() == Behaviour::TakesNothing {
        for _ in 0..ROOM {
            taken.push(jobs.clone().reserve_owned().await.expect("the queue is open"));
        }
    }
    tokio::spawn(async move {
        tokio::select! {
            () = work(&far_end, queue, taken) => {}
            () = far_end.ended() => {}
        }
    });
    Queue { jobs, closed: CancellationToken::new() }
}

async fn work(far_end: &FarEnd, mut queue: mpsc::Receiver<Job>, taken: Vec<OwnedPermit<Job>>) {
    if !far_end.may_take().await {
        return;
    }
    drop(taken);
    while let Some(job) = queue.recv().await {
        let request = far_end.received(&job.tool, job.arguments.as_deref());
        let Some(reply) = request.reply().await else { return };
        // An error only says that the caller has left.
        let _ = job.reply.send(reply);
    }
}

struct Worker;

#[async_trait::async_trait]
impl Bench for Worker {
    async fn connect(&self, far_end: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
        match far_end.behaviour() {
            // Each job brings the way back for its own answer.
            Behaviour::AnswersNobodyFirst => Err(Unsupported),
            _ => Ok(Arc::new(start(far_end).await)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_keeps_the_contract() {
    is_kept(&contract::check(Worker).await, &[Behaviour::AnswersNobodyFirst]);
}

/// On a task of a runtime with several threads, where nothing waits for its turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_keeps_the_contract_while_time_passes() {
    let report = tokio::spawn(contract::check(Worker)).await.unwrap();
    is_kept(&report, &[Behaviour::AnswersNobodyFirst]);
}
