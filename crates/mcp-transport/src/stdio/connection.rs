use std::{
    any::Any,
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use rmcp::{
    ClientHandler,
    model::ServerPeerInfo,
    service::{ClientLifecycleMode, Peer, RoleClient, serve_client_with_lifecycle},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
    time::timeout,
};

use super::{
    line_transport::LineTransport, lines::Lines, outbox::Outbox, sink::Sink, supervisor::Supervisor,
    wire::Wire,
};
use crate::{
    CallReply, Cursor, Events, Fence, TaskReply, TaskRequest, ToolCall, ToolPage, Transport, TransportError,
    handshake::{handshake_error, listen_for_changes},
    request::{Asked, DEFAULT_MAX_UNANSWERED, Host, call_tool, list_tools, task},
};

/// One live connection over newline-delimited JSON: a child process, or any pair of byte streams.
pub struct StdioTransport {
    peer: Peer<RoleClient>,
    wire: Arc<Wire>,
    /// None when the streams are not those of a child.
    supervisor: Option<Supervisor>,
    list_timeout: Duration,
    tasks: Vec<JoinHandle<()>>,
    /// rmcp's service: it ends when this is dropped.
    _service: Box<dyn Any + Send + Sync>,
}

/// Bounds of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) connect: Duration,
    pub(super) list: Duration,
    pub(super) line: usize,
    pub(super) unanswered: usize,
}

impl StdioTransport {
    /// Speaks MCP over a pair of byte streams that the host brings (a socket, a pipe, an in-memory
    /// duplex), with the same guarantees as over a child's pipes, but without a process to end:
    /// closing reports [`Fence::None`]. Handshake within 60 s, pages of tools within 30 s, lines up to
    /// 16 MiB.
    ///
    /// What the writer accepts counts as received, so one with a buffer of its own proves less. It is
    /// flushed whenever nothing more is to be written.
    ///
    /// # Errors
    ///
    /// Whatever kept the handshake from completing.
    pub async fn over<H: ClientHandler>(
        reader: impl AsyncRead + Send + 'static,
        writer: impl AsyncWrite + Send + 'static,
        handler: H,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, TransportError> {
        let bounds = Bounds::default();
        let (wire, lines) = open(reader, Sink::Stream(Box::pin(writer)), &bounds);
        Self::establish(wire, lines, handler, lifecycle, bounds, None).await
    }

    /// What the server said of itself in the handshake.
    pub fn server(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// rmcp's peer, for everything that is not a tool: prompts, resources, notifications.
    ///
    /// A tool that is called through it is outside every guarantee of this crate.
    pub fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(super) async fn establish<H: ClientHandler>(
        wire: Arc<Wire>,
        lines: LineTransport,
        handler: H,
        lifecycle: ClientLifecycleMode,
        bounds: Bounds,
        supervisor: Option<Supervisor>,
    ) -> Result<Self, TransportError> {
        let drainer = wire.clone();
        let mut tasks = AbortAll(vec![tokio::spawn(async move { drainer.outbox.drain().await })]);
        let requests = &wire.requests;
        let handler = Host::new(handler, requests.questions().clone(), requests.asked().clone());
        let shaking_hands = serve_client_with_lifecycle(handler, lines, lifecycle);
        let service = match timeout(bounds.connect, shaking_hands).await {
            Ok(Ok(service)) => service,
            failed => {
                if let Some(supervisor) = &supervisor {
                    supervisor.close().await;
                }
                return Err(match failed {
                    _ if wire.echoes.load(Ordering::Relaxed) => {
                        TransportError::handshake("what was sent to the server came back")
                    }
                    Ok(Err(error)) => handshake_error(error),
                    _ => TransportError::connect_timeout(),
                });
            }
        };
        wire.is_shaking_hands.store(false, Ordering::Relaxed);
        let peer = service.peer().clone();
        tasks.0.extend(listen_for_changes(&peer));
        Ok(Self {
            peer,
            wire,
            supervisor,
            list_timeout: bounds.list,
            tasks: std::mem::take(&mut tasks.0),
            _service: Box::new(service),
        })
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(60),
            list: Duration::from_secs(30),
            line: super::lines::DEFAULT_MAX_LINE,
            unanswered: DEFAULT_MAX_UNANSWERED,
        }
    }
}

pub(super) fn open(
    reader: impl AsyncRead + Send + 'static,
    writer: Sink,
    bounds: &Bounds,
) -> (Arc<Wire>, LineTransport) {
    let (wire, released) = Wire::new(Outbox::new(writer), Asked::new(bounds.unanswered, bounds.line));
    let lines = LineTransport::new(wire.clone(), Lines::new(Box::pin(reader), bounds.line), released);
    (wire, lines)
}

#[async_trait]
impl Transport for StdioTransport {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        // rmcp needs no arguments: the line transport writes the frame from the call itself.
        call_tool(&*self.wire, &self.peer, call, None).await
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        list_tools(&*self.wire, &self.peer, cursor, self.list_timeout).await
    }

    async fn task(&self, request: TaskRequest) -> Result<TaskReply, TransportError> {
        task(&*self.wire, &self.peer, request, self.list_timeout).await
    }

    fn is_closed(&self) -> bool {
        self.wire.is_closed()
    }

    /// When only the way out has failed, what was sent may still be answered: it is waited for, each call
    /// by its own bounds. Then the connection is closed, which is the fence.
    async fn retire(&self) -> Fence {
        if !self.wire.is_ended() && self.wire.outbox.is_broken() {
            self.wire.drain().await;
        }
        self.close().await
    }

    async fn close(&self) -> Fence {
        self.wire.end();
        self.wire.stop.cancel();
        self.wire.outbox.shut_down();
        match &self.supervisor {
            Some(supervisor) => supervisor.close().await,
            None => Fence::None,
        }
    }

    fn events(&self) -> Events {
        self.wire.requests.subscribe()
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.wire.end();
        self.wire.stop.cancel();
        self.wire.outbox.shut_down();
    }
}

impl fmt::Debug for StdioTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioTransport").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

struct AbortAll(Vec<JoinHandle<()>>);

impl Drop for AbortAll {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests;
