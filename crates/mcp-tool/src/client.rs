use std::{fmt, future::Future, sync::Arc};

use mcp_discovery::{Catalog, Discovery, DiscoveryError, PagingDiscovery};
use mcp_transport::{Connector, ServerIdentity, ToolCall};
use replay_policy::{ConservativePolicy, ReplayPolicy, Trust};

use crate::{
    Answer, Observer, RetryBudget, TaskHandle, ToolError, ToolHandle, TrustSource, driver,
    retry_budget::Bucket, task::MadeBy,
};

/// Calls the tools of one server. Cheap to clone; clones share the connection.
///
/// ```no_run
/// # #[cfg(feature = "stdio")]
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_tool::{Client, Outcome, StdioConnector, ToolCall, Trust};
///
/// let files = StdioConnector::new("npx").args(["-y", "@modelcontextprotocol/server-filesystem", "."]);
/// let client = Client::builder("files", files).trust(Trust::BOTH).build();
/// match client.call(ToolCall::new("read_file").with_argument("path", "README.md")).await {
///     Ok(answer) => println!("{:?} after {} attempts", answer.reply, answer.attempts),
///     Err(error) if error.outcome() == Outcome::NotExecuted => println!("call again: {error}"),
///     Err(error) => println!("verify first: {error}"),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Shared>);

/// What all clones of a client share.
pub(crate) struct Shared {
    pub(crate) name: Arc<str>,
    pub(crate) discovery: Arc<dyn Discovery>,
    pub(crate) policy: Arc<dyn ReplayPolicy>,
    pub(crate) trust: Arc<dyn TrustSource>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) retry_budget: Bucket,
}

impl Client {
    /// A client of the server that this connector reaches. It connects when it is first used.
    ///
    /// The name is the host's own for the server: it stands in errors and spans.
    pub fn builder(name: impl Into<Arc<str>>, connector: impl Connector + 'static) -> ClientBuilder {
        Self::with_discovery(name, PagingDiscovery::new(connector))
    }

    /// A client over a discovery of the host's own.
    pub fn with_discovery(name: impl Into<Arc<str>>, discovery: impl Discovery + 'static) -> ClientBuilder {
        ClientBuilder(Shared {
            name: name.into(),
            discovery: Arc::new(discovery),
            policy: Arc::new(ConservativePolicy::default()),
            trust: Arc::new(Trust::NONE),
            observer: None,
            retry_budget: Bucket::new(RetryBudget::default()),
        })
    }

    /// Makes one invocation.
    ///
    /// Without a handle, the call is made for the tool as it is listed when the invocation begins: when its
    /// future is first polled.
    ///
    /// # Errors
    ///
    /// When there is no answer: [`outcome`](ToolError::outcome) says whether the tool may have run,
    /// [`reason`](ToolError::reason) why. An error that the server answered is an [`Answer`].
    pub fn call(&self, call: ToolCall) -> impl Future<Output = Result<Answer, ToolError>> + Send {
        driver::invoke(&self.0, call, None)
    }

    /// The tools that the server has now, each with the definition as its caller sees it.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or does not list its tools.
    pub async fn tools(&self) -> Result<Vec<ToolHandle>, DiscoveryError> {
        Ok(self.handles(&*self.catalog().await?))
    }

    pub(crate) fn handles(&self, catalog: &Catalog) -> Vec<ToolHandle> {
        catalog.tools().iter().map(|tool| ToolHandle::new(self.0.clone(), tool.clone())).collect()
    }

    /// The tool of exactly this name, or none.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or does not list its tools.
    pub async fn tool(&self, name: &str) -> Result<Option<ToolHandle>, DiscoveryError> {
        let catalog = self.catalog().await?;
        Ok(catalog.tool(name).map(|tool| ToolHandle::new(self.0.clone(), tool.clone())))
    }

    /// The present catalog: connects and lists when there is none.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or does not list its tools.
    pub async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        self.0.discovery.catalog().await
    }

    /// A task that was made of a call of this tool earlier, maybe by an earlier process of the host: its id
    /// and its server's identity were kept. Asks nothing yet.
    pub fn task(
        &self,
        server: ServerIdentity,
        tool: impl Into<Arc<str>>,
        id: impl Into<Arc<str>>,
    ) -> TaskHandle {
        TaskHandle::known(&self.0, server, tool.into(), id.into(), MadeBy::default())
    }

    /// The host's name for the server.
    pub fn server(&self) -> &str {
        &self.0.name
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.0.name).finish_non_exhaustive()
    }
}

/// Puts a [`Client`] together.
#[must_use]
pub struct ClientBuilder(Shared);

impl ClientBuilder {
    /// Who decides whether a lost call may run again. Default: [`ConservativePolicy`].
    pub fn policy(mut self, policy: impl ReplayPolicy + 'static) -> Self {
        self.0.policy = Arc::new(policy);
        self
    }

    /// Whether the server and the workspace are trusted, read live. Default: neither is.
    pub fn trust(mut self, trust: impl TrustSource + 'static) -> Self {
        self.0.trust = Arc::new(trust);
        self
    }

    /// How many replays the server gets over all invocations. Default: [`RetryBudget::default`].
    pub fn retry_budget(mut self, budget: RetryBudget) -> Self {
        self.0.retry_budget = Bucket::new(budget);
        self
    }

    /// Who is told what happens. Default: nobody.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.0.observer = Some(Arc::new(observer));
        self
    }

    /// The client.
    pub fn build(self) -> Client {
        Client(Arc::new(self.0))
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("server", &self.0.name).finish_non_exhaustive()
    }
}
