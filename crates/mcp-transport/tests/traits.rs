//! The traits behind pointers, and their provided methods.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use mcp_transport::{
    CallReply, Connector, Cursor, ErrorClass, ErrorKind, Event, Events, Fence, ServerIdentity, TaskReply,
    TaskRequest, ToolCall, ToolPage, Transport, TransportError, connector_fn,
};

use crate::{SECOND, done};

/// Overrides every provided method, so that a wrapper which forgets one is noticed.
#[derive(Default)]
struct Odd(AtomicUsize);

#[async_trait]
impl Transport for Odd {
    async fn call_tool(&self, _: ToolCall) -> Result<CallReply, TransportError> {
        done()
    }
    async fn list_tools(&self, _: Option<Cursor>) -> Result<ToolPage, TransportError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(ToolPage::default().with_next("odd"))
    }
    fn is_closed(&self) -> bool {
        true
    }
    async fn close(&self) -> Fence {
        Fence::GroupGone
    }
    fn classify(&self, _: &TransportError) -> ErrorClass {
        ErrorClass::Abort
    }
    async fn probe(&self) -> Result<(), TransportError> {
        Err(TransportError::unsupported())
    }
    fn is_probed(&self) -> bool {
        false
    }
    async fn task(&self, _: TaskRequest) -> Result<TaskReply, TransportError> {
        Ok(TaskReply::Acknowledged)
    }
    fn events(&self) -> Events {
        Events::closed()
    }
}

#[async_trait]
impl Connector for Odd {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        Ok(Arc::new(Self::default()))
    }
    fn identity(&self) -> ServerIdentity {
        ServerIdentity::of([("odd", "one")])
    }
}

async fn is_odd(transport: impl Transport) {
    assert!(transport.call_tool(ToolCall::new("put")).await.is_ok());
    assert_eq!(transport.list_tools(None).await.unwrap().next, Some(Cursor::new("odd")));
    assert!(transport.is_closed());
    assert_eq!(transport.close().await, Fence::GroupGone);
    assert_eq!(transport.classify(&TransportError::lost()), ErrorClass::Abort);
    assert_eq!(transport.probe().await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(!transport.is_probed());
    assert!(transport.task(TaskRequest::Get("t-17".into())).await.is_ok());
    assert_eq!(transport.events().next().await, Event::Closed);
}

#[tokio::test]
async fn a_transport_forwards_through_pointers_whole() {
    is_odd(Arc::new(Odd::default())).await;
    is_odd(Box::new(Odd::default())).await;
    is_odd(Arc::new(Odd::default()) as Arc<dyn Transport>).await;
    is_odd(Box::new(Arc::new(Odd::default())) as Box<dyn Transport>).await;
}

#[tokio::test]
async fn a_connector_forwards_through_pointers_whole() {
    for connector in [
        Box::new(Odd::default()) as Box<dyn Connector>,
        Box::new(Arc::new(Odd::default())),
        Box::new(Arc::new(Odd::default()) as Arc<dyn Connector>),
        Box::new(Box::new(Odd::default())),
    ] {
        is_odd(connector.connect().await.unwrap()).await;
        assert_eq!(connector.identity(), ServerIdentity::of([("odd", "one")]));
    }
}

/// Implements nothing but what must be implemented.
struct Plain(Odd);

#[async_trait]
impl Transport for Plain {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        self.0.call_tool(call).await
    }
    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        assert_eq!(cursor, None);
        self.0.list_tools(cursor).await
    }
    fn is_closed(&self) -> bool {
        false
    }
    async fn close(&self) -> Fence {
        Fence::None
    }
}

#[tokio::test(start_paused = true)]
async fn provided_methods_probe_by_one_page_classify_by_birth_and_stay_quiet() {
    let plain = Plain(Odd::default());
    assert!(plain.is_probed());
    plain.probe().await.unwrap();
    assert_eq!(plain.0.0.load(Ordering::Relaxed), 1);
    assert_eq!(plain.classify(&TransportError::lost()), ErrorClass::Connection);
    let error = plain.task(TaskRequest::Get("t-17".into())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(tokio::time::timeout(SECOND, plain.events().next()).await.is_err());
}

#[tokio::test]
async fn a_connector_from_a_closure_has_the_identity_that_it_is_given() {
    let connect = || async { Ok(Arc::new(Odd::default()) as Arc<dyn Transport>) };
    let connector = connector_fn(connect);
    is_odd(connector.connect().await.unwrap()).await;
    assert_eq!(connector.identity(), ServerIdentity::unspecified());
    let identity = ServerIdentity::of([("queue", "7")]);
    assert_eq!(connector_fn(connect).with_identity(identity.clone()).identity(), identity);
}
