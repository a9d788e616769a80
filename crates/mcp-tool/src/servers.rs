//! Several servers, each kept usable on its own.

mod builder;
mod entry;
mod slot;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    StreamExt,
    future::{BoxFuture, join_all},
    stream::FuturesUnordered,
};
use mcp_discovery::{Catalog, DiscoveryError, Status, SupervisedDiscovery};
use mcp_transport::Fence;
use tokio::{sync::Semaphore, time::timeout};

pub use self::{builder::ServersBuilder, entry::ServerEntry};
use self::{builder::Settings, slot::Slot};
use crate::{Client, ToolHandle};

/// A set of servers by name. Cheap to clone; clones are the same set.
///
/// Each server has a [`Client`] and a supervision of its own: one that hangs, crashes or floods costs the
/// others nothing. At most so many are being started at a time as the
/// [builder](ServersBuilder::starts_at_once) says. A tool is addressed by its server's name and its own exact
/// name, so that equal names never collide.
///
/// When the last clone is dropped, each server ends with its last [`Server`] or [`Client`].
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use mcp_tool::{ServerEntry, Servers, ToolCall, Transport, connector_fn, mcp_transport::ScriptedTransport};
/// use mcp_tool::rmcp::model::{JsonObject, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let reach = || async {
///     let tools = [Tool::new("put", "stores a value", JsonObject::new())];
///     Ok(Arc::new(ScriptedTransport::new().with_tools(tools)) as Arc<dyn Transport>)
/// };
/// let servers = Servers::builder().build();
/// servers.apply([ServerEntry::new("a", connector_fn(reach)), ServerEntry::new("b", connector_fn(reach))]).await;
/// servers.connect_all().await;
/// assert_eq!(servers.tools().len(), 2, "one `put` on each");
///
/// let a = servers.get("a").unwrap();
/// a.client().call(ToolCall::new("put")).await.unwrap();
/// assert!(servers.shut_down(Duration::from_secs(10)).await.is_empty());
/// # }
/// ```
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

struct Inner {
    settings: Settings,
    starts: Arc<Semaphore>,
    members: Mutex<BTreeMap<Arc<str>, Member>>,
}

struct Member {
    server: Server,
    slot: Slot,
}

/// One server of a [`Servers`]. Cheap to clone; clones are the same server.
#[derive(Clone, Debug)]
pub struct Server {
    client: Client,
    supervision: SupervisedDiscovery,
}

/// What [`Servers::apply`] did, by name, in the order of the names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Servers that were not there before.
    pub added: Vec<Arc<str>>,
    /// Servers that are reached in another way now. Their old connections have ended.
    pub changed: Vec<Arc<str>>,
    /// Servers of which other tools are wanted, and nothing else has changed: they go on running.
    pub filtered: Vec<Arc<str>>,
    /// Servers that are there no more. They have ended.
    pub removed: Vec<Arc<str>>,
}

impl Servers {
    /// Settings of a set, to be changed.
    pub fn builder() -> ServersBuilder {
        ServersBuilder::new()
    }

    fn with(settings: Settings) -> Self {
        let starts = Arc::new(Semaphore::new(settings.starts_at_once));
        Self(Arc::new(Inner { settings, starts, members: Mutex::default() }))
    }

    /// Makes these the servers of the set: adds, changes and removes as needed, and leaves untouched what is
    /// the same. Of two entries with one name the later counts.
    ///
    /// A server that is added is started by its first call or by [`connect_all`](Self::connect_all). One
    /// that is changed is ended, with the calls in flight on it, and brought back in the new way if it was
    /// in use. A call that is bound to the old identity never reaches the new server: it ends,
    /// `server_changed`. All of this holds as soon as this is first polled; it returns when the old
    /// processes and sessions have ended, which their transports bound.
    pub async fn apply(&self, entries: impl IntoIterator<Item = ServerEntry>) -> Applied {
        let entries: BTreeMap<_, _> = entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect();
        let mut applied = Applied::default();
        let ending = FuturesUnordered::new();
        {
            let mut members = self.members();
            members.retain(|name, member| {
                let stays = entries.contains_key(name);
                if !stays {
                    ending.push(member.remove());
                    applied.removed.push(name.clone());
                }
                stays
            });
            for (name, entry) in entries {
                match members.get(&name) {
                    None => {
                        members.insert(name.clone(), self.member(entry));
                        applied.added.push(name);
                    }
                    Some(member) if !member.slot.reaches_as(&entry) => {
                        ending.push(member.change(entry));
                        applied.changed.push(name);
                    }
                    Some(member) if member.slot.filter() != entry.filter => {
                        member.filter(entry);
                        applied.filtered.push(name);
                    }
                    Some(_) => {}
                }
            }
        }
        ending.for_each(async |_: Fence| {}).await;
        applied
    }

    /// The server of this name.
    pub fn get(&self, name: &str) -> Option<Server> {
        self.members().get(name).map(|member| member.server.clone())
    }

    /// All servers, in the order of their names.
    pub fn all(&self) -> Vec<Server> {
        self.members().values().map(|member| member.server.clone()).collect()
    }

    /// How each server is now, in the order of their names. [`Server::supervision`] tells how that changes.
    pub fn statuses(&self) -> Vec<(Arc<str>, Status)> {
        let members = self.members();
        members.iter().map(|(name, member)| (name.clone(), member.server.status())).collect()
    }

    /// Starts all servers that have no connection, those that were stopped too, and returns when each has come
    /// up or failed to.
    pub async fn connect_all(&self) -> Vec<(Arc<str>, Result<Arc<Catalog>, DiscoveryError>)> {
        join_all(self.all().into_iter().map(async |server| {
            let connected = server.supervision.connect().await;
            (Arc::from(server.name()), connected)
        }))
        .await
    }

    /// The tools of all servers that have a listing now, in the order of the servers' names and then in the
    /// server's own order. Starts nothing.
    pub fn tools(&self) -> Vec<ToolHandle> {
        self.all().iter().flat_map(Server::tools).collect()
    }

    /// Removes and ends all servers, and says which had not ended within this time.
    pub async fn shut_down(&self, within: Duration) -> Vec<Arc<str>> {
        let removed = std::mem::take(&mut *self.members());
        let ending = removed.into_iter().map(async |(name, member)| {
            let ended = timeout(within, member.remove()).await;
            ended.is_err().then_some(name)
        });
        join_all(ending).await.into_iter().flatten().collect()
    }

    fn member(&self, entry: ServerEntry) -> Member {
        let (name, filter) = (entry.name.clone(), entry.filter.clone());
        let slot = Slot::new(entry, Arc::clone(&self.0.starts));
        let supervision = self.0.settings.supervise(slot.clone());
        supervision.set_filter(filter);
        let client = self.0.settings.client(name, supervision.clone());
        Member { server: Server { client, supervision }, slot }
    }

    fn members(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Member>> {
        self.0.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Member {
    /// Whoever still holds the server can start it no more.
    fn remove(&self) -> BoxFuture<'static, Fence> {
        self.slot.put(None);
        Box::pin(self.server.supervision.stop())
    }

    fn change(&self, entry: ServerEntry) -> BoxFuture<'static, Fence> {
        self.server.supervision.set_filter(entry.filter.clone());
        self.slot.put(Some(entry));
        Box::pin(self.server.supervision.renew())
    }

    fn filter(&self, entry: ServerEntry) {
        self.server.supervision.set_filter(entry.filter.clone());
        self.slot.put(Some(entry));
        if let Some(present) = self.server.supervision.present() {
            // Whoever asks for the tools next gets them as they are wanted now.
            mcp_discovery::Discovery::suspect(&self.server.supervision, present.generation());
        }
    }
}

impl Server {
    /// The host's name for it.
    pub fn name(&self) -> &str {
        self.client.server()
    }

    /// Calls its tools.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Watches over it: its status, its changes, explicit connects and stops.
    pub fn supervision(&self) -> &SupervisedDiscovery {
        &self.supervision
    }

    /// How it is now.
    pub fn status(&self) -> Status {
        self.supervision.status()
    }

    /// Its tools by the present listing, if there is one. Starts nothing.
    pub fn tools(&self) -> Vec<ToolHandle> {
        self.supervision.present().map(|catalog| self.client.handles(&catalog)).unwrap_or_default()
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.statuses()).finish()
    }
}
