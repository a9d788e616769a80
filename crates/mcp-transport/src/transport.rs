use std::{pin::Pin, sync::Arc};

use async_trait::async_trait;

use crate::{
    CallReply, Cursor, ErrorClass, Events, TaskReply, TaskRequest, ToolCall, ToolPage, TransportError,
};

/// What is known of an old connection's ability to act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fence {
    /// Nothing: what was running may still be running. Always so over HTTP.
    #[default]
    None,
    /// The server's process group was signalled and was seen empty before its leader was reaped.
    /// Processes that left the group (setsid, `docker run`, ssh, a relay) are not covered.
    GroupGone,
}

/// One live connection to an MCP server. (Not rmcp's trait of that name, which moves single messages.)
///
/// # Contract
///
/// An implementor must
/// - make exactly one attempt per [`call_tool`](Self::call_tool), and send nothing before its future
///   is first polled and nothing after it was dropped or has returned;
/// - observe the call's deadline, idle timeout, cancellation and guard ([`ToolCall::attempt`] does all
///   four), and never claim more about delivery than it can prove;
/// - hand on every answer unchanged: a JSON-RPC error and `isError` are answers, not errors;
/// - fail all calls in flight at once when the connection ends;
/// - complete nothing from an answer to an unknown id, and not take it as a fault of the connection;
/// - not retry, reconnect, sleep or decide.
///
/// A caller may assume that methods can be called concurrently, that a connection once
/// [closed](Self::is_closed) stays closed, and that `call_tool` after `close` fails proven unsent.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Makes exactly one attempt.
    ///
    /// # Errors
    ///
    /// Whatever ended the attempt without an answer, with what it proves about delivery.
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError>;

    /// Asks for one page of `tools/list`, never from a cache. None is the first page.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); a JSON-RPC error is [`ErrorKind::Rejected`](crate::ErrorKind::Rejected).
    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError>;

    /// Whether this connection is known to take no further request. False is no promise.
    fn is_closed(&self) -> bool;

    /// Ends the connection within a bound and says what is known of the old side. Calls in flight end.
    /// Idempotent.
    async fn close(&self) -> Fence;

    /// Takes no further request, because another connection is about to supersede this one, and says what
    /// is known of the old side. Provided: [`close`](Self::close), which is right where the connection
    /// has ended anyway. A transport that outlives a lost response overrides it: its calls in flight go
    /// on, and it ends with the last of them.
    async fn retire(&self) -> Fence {
        self.close().await
    }

    /// What to do with an error of this transport. Provided: the class that the error was born with.
    fn classify(&self, error: &TransportError) -> ErrorClass {
        error.class()
    }

    /// Whether the server still answers. Provided: asks for the first page of the tools, which every
    /// server must answer.
    ///
    /// # Errors
    ///
    /// As [`list_tools`](Self::list_tools).
    async fn probe(&self) -> Result<(), TransportError> {
        self.list_tools(None).await.map(drop)
    }

    /// Whether silence of this connection means anything: then whoever keeps the server usable
    /// [probes](Self::probe) it when it has been quiet for long. Provided: yes. A transport that keeps
    /// nothing between two requests (HTTP without a session) overrides it: a probe would tell nothing that
    /// the next call does not.
    fn is_probed(&self) -> bool {
        true
    }

    /// Makes one request about a task that the server made of a call. It runs no tool. Provided:
    /// unsupported.
    ///
    /// # Errors
    ///
    /// As [`list_tools`](Self::list_tools): a JSON-RPC error is
    /// [`ErrorKind::Rejected`](crate::ErrorKind::Rejected). -32602 says that the server does not know the
    /// task.
    async fn task(&self, request: TaskRequest) -> Result<TaskReply, TransportError> {
        drop(request);
        Err(TransportError::unsupported())
    }

    /// What the connection tells on its own, from now on; one that has ended tells that at once.
    /// Provided: for ever quiet.
    fn events(&self) -> Events {
        Events::quiet()
    }
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Written by hand rather than with `#[async_trait]`, so that forwarding allocates no second box.
macro_rules! forward_transport {
    ($pointer:ident) => {
        impl<T: Transport + ?Sized> Transport for $pointer<T> {
            fn call_tool<'s, 'f>(&'s self, call: ToolCall) -> BoxFuture<'f, Result<CallReply, TransportError>>
            where
                's: 'f,
                Self: 'f,
            {
                (**self).call_tool(call)
            }
            fn list_tools<'s, 'f>(
                &'s self,
                cursor: Option<Cursor>,
            ) -> BoxFuture<'f, Result<ToolPage, TransportError>>
            where
                's: 'f,
                Self: 'f,
            {
                (**self).list_tools(cursor)
            }
            fn is_closed(&self) -> bool {
                (**self).is_closed()
            }
            fn close<'s, 'f>(&'s self) -> BoxFuture<'f, Fence>
            where
                's: 'f,
                Self: 'f,
            {
                (**self).close()
            }
            fn retire<'s, 'f>(&'s self) -> BoxFuture<'f, Fence>
            where
                's: 'f,
                Self: 'f,
            {
                (**self).retire()
            }
            fn classify(&self, error: &TransportError) -> ErrorClass {
                (**self).classify(error)
            }
            fn probe<'s, 'f>(&'s self) -> BoxFuture<'f, Result<(), TransportError>>
            where
                's: 'f,
                Self: 'f,
            {
                (**self).probe()
            }
            fn is_probed(&self) -> bool {
                (**self).is_probed()
            }
            fn task<'s, 'f>(
                &'s self,
                request: TaskRequest,
            ) -> BoxFuture<'f, Result<TaskReply, TransportError>>
            where
                's: 'f,
                Self: 'f,
            {
                (**self).task(request)
            }
            fn events(&self) -> Events {
                (**self).events()
            }
        }
    };
}

forward_transport!(Arc);
forward_transport!(Box);
