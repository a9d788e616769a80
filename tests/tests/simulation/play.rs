//! Plays one schedule: the shipped client over the shipped discovery over the shipped transport, on a
//! paused clock and one thread, so that the same schedule always goes the same way.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use mcp_tool::{
    Answer, CallReply, CancellationToken, Catalog, CatalogTool, Client, Connector, ConservativePolicy,
    Discovery, DiscoveryError, Happening, InvocationInfo, Observer, PagingDiscovery, ReplayPolicy, ToolCall,
    ToolError,
    mcp_discovery::{Generation, ListLimits, Reconnect},
    trust_fn,
};
use tokio::{runtime, task::JoinSet, time::sleep};

use crate::{
    connector::Simulated,
    schedule::{Call, Schedule},
    tool::NAMES,
    world::{Event, Got, Record, World, between},
};

/// Longer than anything in a play takes.
const AFTERWARDS: Duration = Duration::from_secs(24 * 60 * 60);
/// No multiple of the moments at which servers write.
const PAGE_TIME: Duration = Duration::from_millis(20_002);

/// What a play is made with: what ships, or something else in its place, to see the judge find out.
pub(crate) struct Rig {
    pub(crate) connector: Made<Simulated, dyn Connector>,
    pub(crate) discovery: Made<PagingDiscovery<Arc<dyn Connector>>, dyn Discovery>,
    pub(crate) policy: Made<(), dyn ReplayPolicy>,
}

type Made<From, Part> = Box<dyn Fn(From) -> Arc<Part> + Send + Sync>;

impl Rig {
    /// Nothing but what ships.
    pub(crate) fn shipped() -> Self {
        Self {
            connector: Box::new(|simulated| Arc::new(simulated)),
            discovery: Box::new(|paging| Arc::new(paging)),
            policy: Box::new(|()| Arc::new(ConservativePolicy::default())),
        }
    }
}

pub(crate) fn play(schedule: &Schedule, rig: &Rig) -> Record {
    let runtime = runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O");
    runtime.block_on(run(Arc::new(schedule.clone()), rig))
}

async fn run(schedule: Arc<Schedule>, rig: &Rig) -> Record {
    let world = World::new(schedule.trust);
    let simulated = Simulated { world: world.clone(), schedule: schedule.clone() };
    let paging = PagingDiscovery::new((rig.connector)(simulated))
        .with_limits(ListLimits::default().with_page_time(PAGE_TIME))
        .with_reconnect(
            Reconnect::default().with_base(Duration::from_millis(1)).with_cap(Duration::from_millis(1)),
        );
    let discovery = (rig.discovery)(paging.clone());
    let mut flips = JoinSet::new();
    for (at, trust) in schedule.flips.clone() {
        let world = world.clone();
        flips.spawn(async move {
            world.at(at).await;
            world.set_trust(trust);
        });
    }
    let mut callers = JoinSet::new();
    for call in schedule.calls.clone() {
        let (world, discovery, policy) = (world.clone(), discovery.clone(), (rig.policy)(()));
        callers.spawn(async move {
            let key = call.key;
            let calling = tokio::spawn(Caller { world: world.clone(), call, discovery, policy }.run());
            match calling.await {
                Ok(Some(got)) => world.tell(Event::Got { key, got }),
                Ok(None) => world.tell(Event::Dropped { key }),
                Err(_) => world.tell(Event::Got { key, got: Got::Panicked }),
            }
        });
    }
    callers.join_all().await;
    flips.shutdown().await;
    world.tell(Event::Over);
    drop(discovery);
    paging.close().await;
    drop(paging);
    sleep(AFTERWARDS).await;
    let tasks = runtime::Handle::current().metrics().num_alive_tasks();
    world.tell(Event::TasksLeft { tasks });
    world.into_record()
}

struct Caller {
    world: World,
    call: Call,
    discovery: Arc<dyn Discovery>,
    policy: Arc<dyn ReplayPolicy>,
}

impl Caller {
    /// None when the caller has dropped its call.
    async fn run(self) -> Option<Got> {
        let Self { world, call, discovery, policy } = self;
        let (key, name) = (call.key, NAMES[call.tool]);
        world.at(call.at).await;
        let trust = world.clone();
        let client = Client::with_discovery("simulated", Watched { world: world.clone(), key, discovery })
            .policy(policy)
            .trust(trust_fn(move |_, _| trust.trust()))
            .observer(Told { world: world.clone(), key })
            .build();
        let handle = match call.looked_up {
            None => None,
            Some(after) => {
                let found = client.tool(name).await;
                let Ok(Some(handle)) = found else { return Some(Got::NoTool) };
                world.tell(Event::LookedUp { key, listing: listing_of(handle.definition()) });
                world.at(between(world.now() + after)).await;
                Some(handle)
            }
        };
        let cancellation = CancellationToken::new();
        let tool_call = ToolCall::new(name)
            .with_argument("key", key)
            .with_argument("text", "x".repeat(call.text))
            .with_deadline(Duration::from_millis(call.deadline))
            .with_idle_timeout(Duration::from_millis(call.idle))
            .with_cancellation(cancellation.clone());
        world.tell(Event::Began { key });
        let began = world.now();
        let calling = async {
            match &handle {
                Some(handle) => handle.call(tool_call).await,
                None => client.call(tool_call).await,
            }
        };
        let cancelling = async {
            if let Some(after) = call.cancelled {
                world.at(began + after).await;
                world.tell(Event::Cancelled { key });
                cancellation.cancel();
            }
            std::future::pending::<()>().await;
        };
        let dropping = async {
            match call.dropped {
                Some(after) => world.at(began + after).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            result = calling => Some(got(key, &result)),
            () = cancelling => None,
            () = dropping => None,
        }
    }
}

fn got(key: usize, result: &Result<Answer, ToolError>) -> Got {
    match result {
        Ok(answer) => {
            let said = match &answer.reply {
                CallReply::Result(result) => {
                    result.content.first().and_then(|content| content.as_text()).map(|text| text.text.clone())
                }
                CallReply::Error(error) => Some(error.message.to_string()),
                _ => None,
            };
            Got::Answer {
                attempts: answer.attempts,
                replays: answer.replays,
                unsent: answer.unsent,
                earlier_unknown: answer.earlier_unknown,
                is_result: answer.reply.result().is_some(),
                is_own: said.is_some_and(|said| said == key.to_string()),
            }
        }
        Err(error) => Got::Error {
            outcome: error.outcome(),
            code: error.reason().code(),
            attempts: error.attempts(),
            replays: error.replays(),
            unsent: error.unsent(),
        },
    }
}

/// The number that the server wrote into the listing from which this was made.
fn listing_of(tool: &CatalogTool) -> Option<usize> {
    tool.definition().meta.as_ref()?.get("listing")?.as_u64().map(|listing| listing as usize)
}

/// Looks on as catalogs are given.
struct Watched {
    world: World,
    key: usize,
    discovery: Arc<dyn Discovery>,
}

impl Watched {
    fn seen(&self, catalog: Result<Arc<Catalog>, DiscoveryError>) -> Result<Arc<Catalog>, DiscoveryError> {
        if let Ok(catalog) = &catalog {
            let listing = NAMES.map(|name| catalog.tool(name).and_then(listing_of));
            let generation = catalog.generation().get();
            self.world.tell(Event::Catalog { key: self.key, generation, listing });
        }
        catalog
    }
}

#[async_trait]
impl Discovery for Watched {
    async fn catalog(&self) -> Result<Arc<Catalog>, DiscoveryError> {
        self.seen(self.discovery.catalog().await)
    }

    async fn rebuild(&self, stale: Generation) -> Result<Arc<Catalog>, DiscoveryError> {
        self.seen(self.discovery.rebuild(stale).await)
    }

    fn suspect(&self, generation: Generation) {
        self.discovery.suspect(generation);
    }
}

struct Told {
    world: World,
    key: usize,
}

impl Observer for Told {
    fn observe(&self, _: &InvocationInfo<'_>, happening: &Happening) {
        self.world.tell(Event::Told { key: self.key, happening: *happening });
    }
}
