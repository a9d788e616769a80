use std::{
    fmt,
    future::Future,
    sync::atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{CallReply, Cursor, ErrorClass, Fence, ToolCall, ToolPage, Transport, TransportError};

/// A transport made from two closures by [`callable`].
pub struct Callable<C, L> {
    call: C,
    list: L,
    /// Takes no further call.
    closed: AtomicBool,
    /// Cancelled by closing: the calls in flight end.
    ended: CancellationToken,
}

/// A transport from closures: one that makes a call, one that lists a page of tools.
///
/// The callable path of a host that has its own way to reach a server, and wants the same gate. The
/// call's deadline, idle timeout, cancellation and guard are applied around the closure, and one that
/// waits before it sends asks [`ToolCall::may_send`] once more; there is no progress. A call that fails with class `Connection` closes this transport to further calls, so that
/// the host's connector is asked for the next one; calls in flight go on until [`Transport::close`].
///
/// ```
/// use mcp_transport::{CallReply, ToolCall, ToolPage, Transport, callable, rmcp::model::CallToolResult};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let transport = callable(
///     |_call: ToolCall| async { Ok(CallReply::from(CallToolResult::success(vec![]))) },
///     |_cursor| async { Ok(ToolPage::default()) },
/// );
/// assert!(transport.call_tool(ToolCall::new("put")).await.is_ok());
/// # }
/// ```
pub fn callable<C, CFut, L, LFut>(call: C, list: L) -> Callable<C, L>
where
    C: Fn(ToolCall) -> CFut + Send + Sync,
    CFut: Future<Output = Result<CallReply, TransportError>> + Send,
    L: Fn(Option<Cursor>) -> LFut + Send + Sync,
    LFut: Future<Output = Result<ToolPage, TransportError>> + Send,
{
    Callable { call, list, closed: AtomicBool::new(false), ended: CancellationToken::new() }
}

#[async_trait]
impl<C, CFut, L, LFut> Transport for Callable<C, L>
where
    C: Fn(ToolCall) -> CFut + Send + Sync,
    CFut: Future<Output = Result<CallReply, TransportError>> + Send,
    L: Fn(Option<Cursor>) -> LFut + Send + Sync,
    LFut: Future<Output = Result<ToolPage, TransportError>> + Send,
{
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        let open = async { if self.is_closed() { Err(TransportError::closed()) } else { Ok(()) } };
        let send = |call: ToolCall, ()| async {
            tokio::select! {
                biased;
                reply = (self.call)(call) => reply,
                () = self.ended.cancelled() => Err(TransportError::lost()),
            }
        };
        let reply = call.attempt(open, send).await;
        if reply.as_ref().is_err_and(|error| error.class() == ErrorClass::Connection) {
            self.closed.store(true, Ordering::Release);
        }
        reply
    }

    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        if self.is_closed() {
            return Err(TransportError::closed());
        }
        tokio::select! {
            biased;
            page = (self.list)(cursor) => page,
            () = self.ended.cancelled() => Err(TransportError::lost()),
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    async fn retire(&self) -> Fence {
        self.closed.store(true, Ordering::Release);
        Fence::None
    }

    async fn close(&self) -> Fence {
        self.closed.store(true, Ordering::Release);
        self.ended.cancel();
        Fence::None
    }
}

impl<C, L> fmt::Debug for Callable<C, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callable").field("closed", &self.closed).finish_non_exhaustive()
    }
}
