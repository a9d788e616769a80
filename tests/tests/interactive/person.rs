#![expect(
    deprecated,
    reason = "roots and sampling are on their way out, and servers of 2025-11-25 ask for them"
)]

use std::sync::Arc;

use mcp_tool::rmcp::{
    ClientHandler, ErrorData,
    model::{
        CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        ElicitationAction, ListRootsResult, Root, SamplingMessage,
    },
    service::{RequestContext, RoleClient},
};
use tokio::sync::{Semaphore, watch};

/// A host that answers what servers ask, each question when it is let.
#[derive(Clone)]
pub(crate) struct Person(Arc<Inner>);

struct Inner {
    may_answer: Semaphore,
    seen: watch::Sender<Seen>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) asked: usize,
    pub(crate) answered: usize,
    /// Nobody wanted to know any more.
    pub(crate) let_off: usize,
}

/// A question that is thought about.
struct Thinking<'a>(&'a Person);

impl Drop for Thinking<'_> {
    fn drop(&mut self) {
        self.0.0.seen.send_modify(|seen| seen.let_off = seen.asked - seen.answered);
    }
}

impl Person {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner { may_answer: Semaphore::new(0), seen: watch::channel(Seen::default()).0 }))
    }

    /// Lets them answer one question.
    pub(crate) fn decides(&self) {
        self.0.may_answer.add_permits(1);
    }

    pub(crate) fn seen(&self) -> Seen {
        *self.0.seen.borrow()
    }

    pub(crate) async fn until(&self, wanted: impl FnMut(&Seen) -> bool) {
        let mut seen = self.0.seen.subscribe();
        let found = tokio::time::timeout(crate::bench::process::PATIENCE, seen.wait_for(wanted)).await;
        assert!(found.is_ok(), "waited in vain: {:?}", self.seen());
    }

    async fn thinks(&self) {
        self.0.seen.send_modify(|seen| seen.asked += 1);
        let thinking = Thinking(self);
        self.0.may_answer.acquire().await.expect("it is never closed").forget();
        self.0.seen.send_modify(|seen| seen.answered += 1);
        std::mem::forget(thinking);
    }
}

impl ClientHandler for Person {
    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.thinks().await;
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(serde_json::json!({"colour": "blue"})))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.thinks().await;
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text("blue"), "a model".to_owned()))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.thinks().await;
        Ok(ListRootsResult::new(vec![Root::new("file:///a")]))
    }
}
