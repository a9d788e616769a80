use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mcp_tool::{
    Answer, CancellationToken, Client, Connector, DiscoveryError, Outcome, PagingDiscovery, Reason, ToolCall,
    ToolError, ToolHandle, TrustSource,
    mcp_transport::{Fence, Guard, ServerIdentity, Withdrawn},
    replay_policy,
    rmcp::model::{CallToolResult, Tool},
};

use crate::{Finding, ModelCall, Operator, Person, Settings, Why, told};

/// Servers by name, and everything that stands between a model and them.
pub struct Host<P> {
    servers: BTreeMap<String, Server>,
    settings: Arc<Settings>,
    operator: Arc<Operator>,
    person: Arc<P>,
    /// What the model was shown, by server and tool.
    shown: Mutex<HashMap<(String, String), ToolHandle>>,
    /// Calls that may have run.
    doubts: Mutex<Vec<ModelCall>>,
}

struct Server {
    client: Client,
    /// Kept for closing, and to know what the name stands for.
    discovery: PagingDiscovery<Box<dyn Connector>>,
    identity: ServerIdentity,
}

impl<P: Person> Host<P> {
    pub fn new(settings: Arc<Settings>, operator: Arc<Operator>, person: Arc<P>) -> Self {
        Self {
            servers: BTreeMap::new(),
            settings,
            operator,
            person,
            shown: Mutex::default(),
            doubts: Mutex::default(),
        }
    }

    /// Adds a server. It is started or reached when it is first needed.
    pub fn add(&mut self, name: &str, connector: impl Connector + 'static) {
        let identity = connector.identity();
        let discovery = PagingDiscovery::new(Box::new(connector) as Box<dyn Connector>);
        let client = Client::with_discovery(name, discovery.clone())
            .trust(self.settings.clone())
            .observer(self.operator.clone())
            .build();
        self.servers.insert(name.to_owned(), Server { client, discovery, identity });
    }

    /// What a server's name stands for: what the user trusts, or not.
    pub fn identity(&self, server: &str) -> Option<&ServerIdentity> {
        Some(&self.servers.get(server)?.identity)
    }

    /// The tools to show to the model, by server. A server that cannot be reached hides no other.
    ///
    /// From now on a call is for the definition that was shown here, and for no other.
    pub async fn tools(&self) -> BTreeMap<&str, Result<Vec<Arc<Tool>>, DiscoveryError>> {
        let mut all = BTreeMap::new();
        for (name, server) in &self.servers {
            let handles = server.client.tools().await;
            let tools = handles.map(|handles| {
                handles
                    .into_iter()
                    .map(|handle| {
                        let tool = handle.definition().definition();
                        self.shown().insert((name.clone(), handle.name().to_owned()), handle);
                        tool
                    })
                    .collect()
            });
            all.insert(name.as_str(), tools);
        }
        all
    }

    /// Runs one tool call of the model, and returns what the model is told.
    pub async fn call(&self, call: &ModelCall, cancellation: &CancellationToken) -> CallToolResult {
        let ready = cancellation.run_until_cancelled(self.prepare(call)).await;
        let (server, handle, confirmed) = match ready {
            Some(Ok(ready)) => ready,
            Some(Err(told)) => return told,
            None => return told::cancelled(),
        };
        let mut result = handle.call(self.invocation(server, call, confirmed, cancellation)).await;
        // It has not run, so it may be called again. Mostly that is the model's to decide, but some reasons
        // are for the person.
        if let Err(error) = &result
            && error.outcome() == Outcome::NotExecuted
        {
            let again = self.ask_again(server, call, &handle, error.reason());
            match cancellation.run_until_cancelled(again).await {
                Some(Ok(Some(handle))) => {
                    let invocation = self.invocation(server, call, Confirmed::ByPerson, cancellation);
                    result = handle.call(invocation).await;
                }
                Some(Err(told)) => return told,
                Some(Ok(None)) | None => {}
            }
        }
        self.conclude(call, result).await
    }

    /// Ends the servers, and waits until they have ended.
    pub async fn close(self) -> BTreeMap<String, Fence> {
        let mut fences = BTreeMap::new();
        for (name, server) in self.servers {
            fences.insert(name, server.discovery.close().await);
        }
        fences
    }

    /// Finds the tool, and asks whoever must be asked.
    async fn prepare(&self, call: &ModelCall) -> Result<(&Server, ToolHandle, Confirmed), CallToolResult> {
        let server = self.servers.get(&call.server).ok_or_else(|| told::no_server(call))?;
        let shown = self.shown().get(&(call.server.clone(), call.tool.clone())).cloned();
        let handle = match shown {
            Some(handle) => handle,
            None => self.present(server, call).await?,
        };
        let why = match (self.in_doubt(call), self.trusts(server)) {
            (true, _) => Why::InDoubt,
            (false, false) => Why::Untrusted,
            (false, true) => return Ok((server, handle, Confirmed::ByTrust)),
        };
        match self.person.confirm(call, &why).await {
            true => Ok((server, handle, Confirmed::ByPerson)),
            false => Err(told::declined()),
        }
    }

    /// The tool as the server lists it now.
    async fn present(&self, server: &Server, call: &ModelCall) -> Result<ToolHandle, CallToolResult> {
        let handle = server.client.tool(&call.tool).await.map_err(|error| told::unavailable(&error))?;
        handle.ok_or_else(|| told::no_tool(call))
    }

    /// The predicate of the replay gate, asked of the same source: whoever would be asked here would not
    /// have a lost call sent again either.
    fn trusts(&self, server: &Server) -> bool {
        let trust = self.settings.trust(server.client.server(), &server.identity);
        trust.is_trusted_server_in_trusted_workspace()
    }

    fn invocation(
        &self,
        server: &Server,
        call: &ModelCall,
        confirmed: Confirmed,
        cancellation: &CancellationToken,
    ) -> ToolCall {
        let person = self.person.clone();
        let invocation = ToolCall::new(call.tool.as_str())
            .with_arguments(call.arguments.clone())
            .with_cancellation(cancellation.clone())
            .with_progress(move |report| person.progress(report.progress, report.total));
        match confirmed {
            Confirmed::ByPerson => invocation,
            // Nobody was asked, because of a trust that may be gone before the first byte leaves.
            Confirmed::ByTrust => {
                let (settings, name) = (self.settings.clone(), server.client.server().to_owned());
                let identity = server.identity.clone();
                invocation.with_guard(Guard::new(move || {
                    let trust = settings.trust(&name, &identity);
                    trust.is_trusted_server_in_trusted_workspace().then_some(()).ok_or(Withdrawn)
                }))
            }
        }
    }

    /// For a call that has not run: the handle to call again with, if a person was to be asked and agrees.
    async fn ask_again(
        &self,
        server: &Server,
        call: &ModelCall,
        handle: &ToolHandle,
        reason: Reason,
    ) -> Result<Option<ToolHandle>, CallToolResult> {
        let (handle, why) = match reason {
            Reason::TrustWithdrawn | Reason::Denied(replay_policy::Reason::TrustWithdrawn) => {
                (handle.clone(), Why::TrustWithdrawn)
            }
            Reason::ToolChanged | Reason::Denied(replay_policy::Reason::ToolChanged) => {
                let handle = self.present(server, call).await?;
                let definition = handle.definition().json().to_owned();
                (handle, Why::ToolChanged(definition))
            }
            _ => return Ok(None),
        };
        if !self.person.confirm(call, &why).await {
            return Err(told::declined());
        }
        self.shown().insert((call.server.clone(), call.tool.clone()), handle.clone());
        Ok(Some(handle))
    }

    async fn conclude(&self, call: &ModelCall, result: Result<Answer, ToolError>) -> CallToolResult {
        match result {
            Ok(answer) => {
                self.doubts().retain(|doubt| doubt != call);
                told::answer(answer)
            }
            Err(error) => match error.outcome() {
                Outcome::NotExecuted => told::not_executed(&error),
                Outcome::Unknown => {
                    // Never again without being asked for, by whomever.
                    self.doubts().push(call.clone());
                    let finding = self.person.look(call, error.reason().code()).await;
                    if finding == Finding::DidNotRun {
                        self.doubts().retain(|doubt| doubt != call);
                    }
                    told::unknown(&error, finding)
                }
            },
        }
    }

    fn in_doubt(&self, call: &ModelCall) -> bool {
        self.doubts().contains(call)
    }

    fn doubts(&self) -> MutexGuard<'_, Vec<ModelCall>> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shown(&self) -> MutexGuard<'_, HashMap<(String, String), ToolHandle>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By what a call goes out.
#[derive(Clone, Copy)]
enum Confirmed {
    ByTrust,
    ByPerson,
}
