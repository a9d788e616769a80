//! Many calls in flight on one connection, which dies.

use std::{
    future::Future,
    ops::AddAssign,
    sync::Arc,
    time::{Duration, Instant},
};

use mcp_tool::{
    Client, ToolCall, Trust,
    rmcp::{
        model::CallToolRequestParams,
        serve_client,
        service::{RoleClient, RunningService},
    },
};
use tokio::task::JoinSet;

use crate::server::Server;

/// Somebody who has called, and what he learns when the connection dies.
pub(crate) trait Caller: Clone + Send + 'static {
    fn connect(server: &Server) -> impl Future<Output = Self>;
    fn call(&self, tool: &'static str) -> impl Future<Output = Ended> + Send;
}

/// How calls have ended.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Ended {
    pub(crate) answered: usize,
    /// Without an answer.
    pub(crate) lost: usize,
}

impl AddAssign for Ended {
    fn add_assign(&mut self, other: Self) {
        self.answered += other.answered;
        self.lost += other.lost;
    }
}

impl Ended {
    fn of<T, E>(call: &Result<T, E>) -> Self {
        Self { answered: usize::from(call.is_ok()), lost: usize::from(call.is_err()) }
    }
}

#[derive(Clone)]
pub(crate) struct Raw(Arc<RunningService<RoleClient, ()>>);

impl Caller for Raw {
    async fn connect(server: &Server) -> Self {
        Self(Arc::new(serve_client((), server.begin()).await.expect("the server initializes")))
    }

    async fn call(&self, tool: &'static str) -> Ended {
        Ended::of(&self.0.peer().call_tool(CallToolRequestParams::new(tool)).await)
    }
}

impl Caller for Client {
    async fn connect(server: &Server) -> Self {
        let client = Self::builder("one", server.clone()).trust(Trust::BOTH).build();
        client.catalog().await.expect("the server lists its tools");
        client
    }

    async fn call(&self, tool: &'static str) -> Ended {
        Ended::of(&self.call(ToolCall::new(tool)).await)
    }
}

/// What came of it.
pub(crate) struct Storm {
    pub(crate) ended: Ended,
    pub(crate) reconnects: usize,
    /// From the death until all calls had ended.
    pub(crate) took: Duration,
}

/// Has so many calls in flight, tells when they are, and kills their server. The next life answers at once.
pub(crate) async fn storm<C: Caller>(
    server: &Server,
    tool: &'static str,
    calls: usize,
    in_flight: impl FnOnce(),
) -> Storm {
    server.release(false);
    let caller = C::connect(server).await;
    let lives = server.lives();
    let mut calling = JoinSet::new();
    for _ in 0..calls {
        let caller = caller.clone();
        calling.spawn(async move { caller.call(tool).await });
    }
    server.has_waiting(calls).await;
    in_flight();
    let begun = Instant::now();
    server.kill();
    server.release(true);
    let mut ended = Ended::default();
    while let Some(call) = calling.join_next().await {
        ended += call.expect("no panic");
    }
    Storm { ended, reconnects: server.lives() - lives, took: begun.elapsed() }
}
