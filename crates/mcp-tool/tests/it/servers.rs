use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use mcp_tool::{
    Client, ClientBuilder, Connector, Transport, TransportError,
    mcp_transport::{ScriptedTransport, ServerIdentity},
    rmcp::model::{JsonObject, Tool, ToolAnnotations},
};

/// A server that is restarted: each connection goes to the next of its lives.
#[derive(Clone)]
pub(crate) struct Lives {
    lives: Arc<Vec<Arc<ScriptedTransport>>>,
    connects: Arc<AtomicUsize>,
    identity: Arc<dyn Fn(usize) -> ServerIdentity + Send + Sync>,
}

impl Lives {
    pub(crate) fn of(lives: impl IntoIterator<Item = ScriptedTransport>) -> Self {
        Self {
            lives: Arc::new(lives.into_iter().map(Arc::new).collect()),
            connects: Arc::default(),
            identity: Arc::new(|_| ServerIdentity::unspecified()),
        }
    }

    /// The identity as it is after so many connects.
    pub(crate) fn with_identity(
        mut self,
        identity: impl Fn(usize) -> ServerIdentity + Send + Sync + 'static,
    ) -> Self {
        self.identity = Arc::new(identity);
        self
    }

    pub(crate) fn client(&self) -> ClientBuilder {
        Client::builder("files", self.clone())
    }

    pub(crate) fn life(&self, number: usize) -> &Arc<ScriptedTransport> {
        &self.lives[number]
    }

    pub(crate) fn connects(&self) -> usize {
        self.connects.load(Ordering::Relaxed)
    }

    /// Calls that arrived, per life.
    pub(crate) fn calls(&self) -> Vec<usize> {
        self.lives.iter().map(|life| life.calls()).collect()
    }
}

#[async_trait]
impl Connector for Lives {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        let number = self.connects.fetch_add(1, Ordering::Relaxed);
        match self.lives.get(number) {
            Some(life) => Ok(life.clone()),
            None => Err(TransportError::connect("no life is left")),
        }
    }

    fn identity(&self) -> ServerIdentity {
        (self.identity)(self.connects())
    }
}

/// A life of a server with the tool `put`.
pub(crate) fn life(annotations: Option<ToolAnnotations>) -> ScriptedTransport {
    ScriptedTransport::new().with_tools([put(annotations)])
}

pub(crate) fn put(annotations: Option<ToolAnnotations>) -> Tool {
    let mut tool = Tool::new("put", "puts", Arc::new(schema("key")));
    tool.annotations = annotations;
    tool
}

pub(crate) fn schema(property: &str) -> JsonObject {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), serde_json::json!({ property: { "type": "string" } }));
    schema
}

pub(crate) fn idempotent() -> Option<ToolAnnotations> {
    Some(ToolAnnotations::new().idempotent(true))
}

pub(crate) fn read_only() -> Option<ToolAnnotations> {
    Some(ToolAnnotations::new().read_only(true))
}
