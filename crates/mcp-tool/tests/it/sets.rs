//! Several servers in one set.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_tool::{
    CallReply, Outcome, ServerEntry, Servers, ToolCall, ToolFilter, Transport, TransportError, Trust,
    connector_fn,
    mcp_discovery::{DownReason, State},
    mcp_transport::{Cursor, Fence, Gate, ScriptedTransport, ServerIdentity, ToolPage},
};
use tokio::{sync::Notify, time::timeout};

use crate::servers::{Lives, idempotent, life, put};

/// Longer than anything waits.
const AGES: Duration = Duration::from_secs(3_600);

fn identity(name: &'static str) -> impl Fn(usize) -> ServerIdentity + Send + Sync + 'static {
    move |_| ServerIdentity::of([("command", name)])
}

/// A server of this identity that goes through these lives.
fn server(name: &'static str, lives: impl IntoIterator<Item = ScriptedTransport>) -> Lives {
    Lives::of(lives).with_identity(identity(name))
}

fn trusted() -> Servers {
    Servers::builder().trust(Trust::BOTH).build()
}

async fn calls(servers: &Servers, name: &str) -> Result<u32, (Outcome, &'static str)> {
    let server = servers.get(name).expect("it is in the set");
    let answered = server.client().call(ToolCall::new("put")).await;
    answered.map(|answer| answer.attempts).map_err(|error| (error.outcome(), error.reason().code()))
}

#[tokio::test]
async fn a_tool_belongs_to_its_server_whatever_others_are_called() {
    // Names that would be the same if they were joined.
    let (short, long) = (server("a", [life(None)]), server("b", [life(None)]));
    let servers = trusted();
    servers.apply([ServerEntry::new("a", short.clone()), ServerEntry::new("a__put", long.clone())]).await;
    assert!(servers.tools().is_empty(), "nothing is started unasked");
    assert_eq!((short.connects(), long.connects()), (0, 0));
    servers.connect_all().await;
    let tools = servers.tools();
    let addresses: Vec<_> = tools.iter().map(|tool| (tool.server(), tool.name())).collect();
    assert_eq!(addresses, [("a", "put"), ("a__put", "put")]);
    tools[1].call(tools[1].to_call()).await.unwrap();
    assert_eq!((short.calls(), long.calls()), (vec![0], vec![1]));
    assert!(servers.get("put").is_none());
}

#[tokio::test(start_paused = true)]
async fn starts_are_limited_and_one_that_hangs_delays_no_other() {
    let (starting, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let slow = |_| {
        let (starting, most) = (starting.clone(), most.clone());
        connector_fn(move || {
            let (starting, most) = (starting.clone(), most.clone());
            async move {
                most.fetch_max(starting.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(1)).await;
                starting.fetch_sub(1, Ordering::Relaxed);
                Ok(Arc::new(life(None)) as Arc<dyn Transport>)
            }
        })
    };
    let servers = Servers::builder().starts_at_once(4).build();
    let hanging = ServerEntry::new("hangs", connector_fn(std::future::pending));
    let entries = (0..20).map(|number| ServerEntry::new(format!("{number:02}"), slow(number)));
    servers.apply(entries.chain([hanging])).await;
    let all = timeout(Duration::from_secs(60), servers.connect_all());
    assert!(all.await.is_err(), "one never comes up");
    assert_eq!((most.load(Ordering::Relaxed), servers.tools().len()), (4, 20));
    let states = servers.statuses().into_iter().filter(|(_, status)| status.state == State::Ready);
    assert_eq!(states.count(), 20);
}

#[tokio::test(start_paused = true)]
async fn applying_entries_touches_only_what_has_changed() {
    let (kept, edited, gone) =
        (server("kept", [life(None)]), server("old", [life(None)]), server("gone", [life(None)]));
    let entries = [("kept", &kept), ("edited", &edited), ("gone", &gone)];
    let servers = trusted();
    let added = servers.apply(entries.map(|(name, lives)| ServerEntry::new(name, lives.clone()))).await;
    assert_eq!(added.added.len(), 3);
    servers.connect_all().await;

    let new = server("new", [life(None)]);
    let applied = servers
        .apply([
            ServerEntry::new("kept", kept.clone()),
            ServerEntry::new("edited", new.clone()),
            ServerEntry::new("added", server("added", [life(None)])),
        ])
        .await;
    let names = |names: &[Arc<str>]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&applied.added), ["added"]);
    assert_eq!(names(&applied.changed), ["edited"]);
    assert_eq!(names(&applied.removed), ["gone"]);
    assert!(gone.life(0).is_closed() && edited.life(0).is_closed() && !kept.life(0).is_closed());
    // It was in use, so it comes back in the new way without being asked.
    tokio::time::sleep(AGES).await;
    assert_eq!((new.connects(), kept.connects(), edited.connects()), (1, 1, 1));
    assert_eq!(
        servers.get("added").unwrap().status().state,
        State::Down { reason: DownReason::NotStarted, next_try: None }
    );
    assert_eq!(calls(&servers, "edited").await, Ok(1));
    assert_eq!((edited.calls(), new.calls()), (vec![0], vec![1]));
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_the_identity_does_not_tell_is_told_by_the_settings() {
    let (old, new) = (server("same", [life(None)]), server("same", [life(None)]));
    let servers = trusted();
    servers.apply([ServerEntry::new("a", old.clone()).with_settings("TOKEN=1")]).await;
    servers.connect_all().await;
    let same = servers.apply([ServerEntry::new("a", new.clone()).with_settings("TOKEN=1")]).await;
    assert_eq!(same, mcp_tool::Applied::default());
    assert_eq!((new.connects(), old.life(0).is_closed()), (0, false));
    let changed = servers.apply([ServerEntry::new("a", new.clone()).with_settings("TOKEN=2")]).await;
    assert_eq!(changed.changed.len(), 1);
    assert!(
        !format!("{servers:?} {:?}", ServerEntry::new("a", new.clone()).with_settings("TOKEN=2"))
            .contains("TOKEN")
    );
    assert_eq!(calls(&servers, "a").await, Ok(1));
    assert_eq!((old.calls(), new.calls()), (vec![0], vec![1]));
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_edited_under_a_call_ends_it_and_the_call_never_reaches_the_new_server() {
    let gate = Gate::new();
    let old = server("old", [life(idempotent()).hang(&gate)]);
    let new = server("new", [life(idempotent())]);
    let servers = trusted();
    servers.apply([ServerEntry::new("a", old.clone())]).await;
    let call = calls(&servers, "a");
    let edit = async {
        old.life(0).wait_for_calls(1).await;
        servers.apply([ServerEntry::new("a", new.clone())]).await;
    };
    let (ended, ()) = tokio::join!(call, edit);
    assert_eq!(ended, Err((Outcome::Unknown, "server_changed")));
    tokio::time::sleep(AGES).await;
    assert_eq!((old.calls(), new.calls(), new.connects()), (vec![1], vec![0], 1));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_being_made_for_an_edited_entry_is_not_waited_for() {
    /// Counts how often it is dropped.
    struct Ended(Arc<Mutex<u32>>);
    impl Drop for Ended {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    // The identity is the same, so nothing but the place in the set can tell.
    let (begun, ended) = (Arc::new(Notify::new()), Arc::new(Mutex::new(0)));
    let old = {
        let (begun, ended) = (begun.clone(), ended.clone());
        connector_fn(move || {
            let (begun, ended) = (begun.clone(), Ended(ended.clone()));
            async move {
                let _ended = ended;
                begun.notify_one();
                std::future::pending().await
            }
        })
    };
    let new = Lives::of([life(None)]);
    let servers = trusted();
    servers.apply([ServerEntry::new("a", old).with_settings("1")]).await;
    let edit = async {
        begun.notified().await;
        servers.apply([ServerEntry::new("a", new.clone()).with_settings("2")]).await;
    };
    let both = timeout(Duration::from_secs(1), async { tokio::join!(calls(&servers, "a"), edit) });
    let (called, ()) = both.await.expect("nobody waits for the old one");
    assert_eq!((called, *ended.lock().unwrap(), new.calls()), (Ok(1), 1, vec![1]));
}

/// A connection whose tools are listed when somebody says so.
struct ListsLater {
    server: ScriptedTransport,
    begun: Arc<Notify>,
    go: Arc<Notify>,
}

#[async_trait::async_trait]
impl Transport for ListsLater {
    async fn call_tool(&self, call: ToolCall) -> Result<CallReply, TransportError> {
        self.server.call_tool(call).await
    }
    async fn list_tools(&self, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
        self.begun.notify_one();
        self.go.notified().await;
        self.server.list_tools(cursor).await
    }
    fn is_closed(&self) -> bool {
        self.server.is_closed()
    }
    async fn close(&self) -> Fence {
        self.server.close().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_being_listed_for_an_edited_entry_is_not_used() {
    for identities in [["old", "new"], ["same", "same"]] {
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let stale = Arc::new(ListsLater { server: life(None), begun: begun.clone(), go: go.clone() });
        let reached = stale.clone();
        let old = connector_fn(move || {
            let reached = reached.clone();
            async move { Ok(reached as Arc<dyn Transport>) }
        });
        let old = old.with_identity(identity(identities[0])(0));
        let new = server(identities[1], [life(None)]);
        let servers = trusted();
        servers.apply([ServerEntry::new("a", old).with_settings("1")]).await;
        let edit = async {
            begun.notified().await;
            servers.apply([ServerEntry::new("a", new.clone()).with_settings("2")]).await;
            go.notify_one();
        };
        let (called, ()) = tokio::join!(calls(&servers, "a"), edit);
        assert_eq!((called, stale.server.calls(), new.calls()), (Ok(1), 0, vec![1]), "{identities:?}");
        assert!(stale.is_closed());
    }
}

#[tokio::test(start_paused = true)]
async fn other_wanted_tools_take_effect_without_a_restart() {
    let lives = server(
        "a",
        [ScriptedTransport::new().with_tools([put(None), {
            let mut other = put(None);
            other.name = "other".into();
            other
        }])],
    );
    let entry = |filter| ServerEntry::new("a", lives.clone()).with_filter(filter);
    let servers = trusted();
    servers.apply([entry(ToolFilter::all())]).await;
    servers.connect_all().await;
    assert_eq!((servers.tools().len(), calls(&servers, "a").await), (2, Ok(1)));
    let applied = servers.apply([entry(ToolFilter::all().excluding(["put"]))]).await;
    assert_eq!((applied.filtered.len(), applied.changed.len()), (1, 0));
    assert_eq!(calls(&servers, "a").await, Err((Outcome::NotExecuted, "unknown_tool")));
    assert_eq!((servers.tools().len(), lives.connects(), lives.calls()), (1, 1, vec![1]));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_removed_is_started_by_nobody_who_still_holds_it() {
    let lives = server("a", [life(None), life(None)]);
    let servers = trusted();
    servers.apply([ServerEntry::new("a", lives.clone())]).await;
    servers.connect_all().await;
    let held = servers.get("a").unwrap();
    servers.apply([]).await;
    assert!(lives.life(0).is_closed() && servers.all().is_empty());
    let error = held.client().call(ToolCall::new("put")).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::NotExecuted, "unavailable"));
    assert!(held.supervision().connect().await.is_err());
    assert!(held.supervision().reconnect().await.is_err());
    tokio::time::sleep(AGES).await;
    assert_eq!(lives.connects(), 1);
}

#[tokio::test(start_paused = true)]
async fn shutting_down_ends_all_servers_and_names_those_that_take_too_long() {
    struct Unending(ScriptedTransport);
    #[async_trait::async_trait]
    impl Transport for Unending {
        async fn call_tool(&self, call: ToolCall) -> Result<mcp_tool::CallReply, mcp_tool::TransportError> {
            self.0.call_tool(call).await
        }
        async fn list_tools(
            &self,
            cursor: Option<mcp_tool::mcp_transport::Cursor>,
        ) -> Result<mcp_tool::mcp_transport::ToolPage, mcp_tool::TransportError> {
            self.0.list_tools(cursor).await
        }
        fn is_closed(&self) -> bool {
            false
        }
        async fn close(&self) -> mcp_tool::mcp_transport::Fence {
            std::future::pending().await
        }
    }
    let lives = server("a", [life(None)]);
    let unending = connector_fn(|| async { Ok(Arc::new(Unending(life(None))) as Arc<dyn Transport>) });
    let servers = trusted();
    servers.apply([ServerEntry::new("a", lives.clone()), ServerEntry::new("unending", unending)]).await;
    servers.connect_all().await;
    let began = tokio::time::Instant::now();
    assert_eq!(servers.shut_down(Duration::from_secs(10)).await, ["unending".into()]);
    assert_eq!(began.elapsed(), Duration::from_secs(10));
    assert!(lives.life(0).is_closed() && servers.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn of_64_servers_one_dies_under_10_000_calls_and_only_that_one_reconnects() {
    const SERVERS: usize = 64;
    const CALLS: usize = 10_000;
    let gate = Gate::new();
    let hanging = |calls: usize| (0..calls).fold(life(idempotent()), |life, _| life.hang(&gate));
    let on = |number: usize| CALLS / SERVERS + usize::from(number < CALLS % SERVERS);
    let lives: Vec<_> =
        (0..SERVERS).map(|number| Lives::of([hanging(on(number)), life(idempotent())])).collect();
    let servers = trusted();
    servers
        .apply(lives.iter().enumerate().map(|(n, lives)| ServerEntry::new(format!("{n:02}"), lives.clone())))
        .await;
    servers.connect_all().await;
    let calls: Vec<_> = (0..CALLS)
        .map(|number| {
            let client = servers.get(&format!("{:02}", number % SERVERS)).unwrap().client().clone();
            tokio::spawn(async move { client.call(ToolCall::new("put")).await })
        })
        .collect();
    for (number, lives) in lives.iter().enumerate() {
        lives.life(0).wait_for_calls(on(number)).await;
    }
    lives[7].life(0).disconnect();
    lives[7].life(1).wait_for_calls(on(7)).await;
    gate.open();
    let mut replays = 0;
    for call in calls {
        replays += call.await.unwrap().unwrap().replays as usize;
    }
    assert_eq!(replays, on(7));
    let connects: usize = lives.iter().map(Lives::connects).sum();
    assert_eq!((connects, lives[7].connects()), (SERVERS + 1, 2));
    assert!(servers.shut_down(AGES).await.is_empty());
}
