//! Many who want a catalog at once, from several threads: in many of the orders in which they can come.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test -p mcp-discovery --lib interleavings`

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use async_trait::async_trait;
use mcp_transport::{
    CallReply, Connector, Cursor, Fence, ToolCall, ToolPage, Transport, TransportError,
    rmcp::model::{JsonObject, Tool},
};
use shuttle::{
    Config, Runner,
    future::{block_on, spawn, yield_now},
    scheduler::{PctScheduler, RandomScheduler},
};

use crate::{
    Catalog, Discovery, PagingDiscovery, Reconnect,
    generations::{Generations, Joined, Need},
    sync::Mutex,
};

const SCHEDULES: usize = 3_000;

/// A server that everybody reaches, and what it saw.
#[derive(Default)]
struct Seen {
    /// Counts up with everything that is noted.
    clock: AtomicUsize,
    connecting: AtomicUsize,
    made: AtomicUsize,
    closed: AtomicUsize,
    /// The present connection is lost with this.
    lost: AtomicBool,
}

impl Seen {
    fn now(&self) -> usize {
        self.clock.fetch_add(1, SeqCst)
    }
}

struct Server(Arc<Seen>);

struct Connection {
    seen: Arc<Seen>,
    closed: AtomicBool,
}

/// One connect under way; it may be given up.
struct Connecting<'a>(&'a Seen);

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        self.0.connecting.fetch_sub(1, SeqCst);
    }
}

#[async_trait]
impl Connector for Server {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        assert_eq!(self.0.connecting.fetch_add(1, SeqCst), 0, "two connects at one time");
        let _connecting = Connecting(&self.0);
        yield_now().await;
        assert_eq!(
            self.0.made.fetch_add(1, SeqCst),
            self.0.closed.load(SeqCst),
            "two connections at one time"
        );
        self.0.lost.store(false, SeqCst);
        Ok(Arc::new(Connection { seen: self.0.clone(), closed: AtomicBool::new(false) }))
    }
}

#[async_trait]
impl Transport for Connection {
    async fn call_tool(&self, _: ToolCall) -> Result<CallReply, TransportError> {
        unreachable!("nobody calls")
    }

    /// The tool's name is when the listing was asked for.
    async fn list_tools(&self, _: Option<Cursor>) -> Result<ToolPage, TransportError> {
        let asked = self.seen.now().to_string();
        yield_now().await;
        if self.is_closed() {
            return Err(TransportError::lost());
        }
        Ok(ToolPage::of([Tool::new(asked, "", JsonObject::new())]))
    }

    fn is_closed(&self) -> bool {
        self.closed.load(SeqCst) || self.seen.lost.load(SeqCst)
    }

    async fn close(&self) -> Fence {
        yield_now().await;
        if !self.closed.swap(true, SeqCst) {
            self.seen.closed.fetch_add(1, SeqCst);
        }
        Fence::None
    }
}

/// When the listing of this catalog was asked for.
fn asked(catalog: &Catalog) -> usize {
    catalog.tools()[0].name().parse().expect("it is a number")
}

fn discovery() -> (PagingDiscovery<Server>, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let at_once = Reconnect::default().with_base(Duration::ZERO);
    (PagingDiscovery::new(Server(seen.clone())).with_reconnect(at_once), seen)
}

/// Plays it in many orders: at random, and with few changes of the thread.
fn in_many_orders(play: impl Fn() + Send + Sync + Clone + 'static) {
    // Its timers are made and never fire: nothing here takes that long.
    let clock = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let _entered = clock.enter();
    let schedules = Runner::new(RandomScheduler::new(SCHEDULES), Config::new()).run(play.clone())
        + Runner::new(PctScheduler::new(3, SCHEDULES), Config::new()).run(play);
    println!("{schedules} schedules");
}

#[test]
fn all_who_come_share_one_connect_and_who_lost_a_call_gets_a_listing_that_was_asked_for_afterwards() {
    in_many_orders(|| {
        block_on(async {
            let (discovery, seen) = discovery();
            let first = discovery.catalog().await.expect("a catalog").generation();
            seen.lost.store(true, SeqCst);
            let comers: Vec<_> = (0..3)
                .map(|number| {
                    let (discovery, seen) = (discovery.clone(), seen.clone());
                    spawn(async move {
                        let lost = seen.now();
                        if number == 0 {
                            discovery.catalog().await.expect("a catalog");
                        } else {
                            let catalog = discovery.rebuild(first).await.expect("a catalog");
                            assert!(asked(&catalog) > lost, "a listing from before the loss");
                            assert!(catalog.generation() > first);
                        }
                    })
                })
                .collect();
            for comer in comers {
                comer.await.expect("it does not panic");
            }
            // One after the first, however many came and in which order.
            assert_eq!(seen.made.load(SeqCst), 2, "a straggler costs the new connection");
            discovery.close().await;
            assert_eq!(seen.closed.load(SeqCst), 2);
        });
    });
}

#[test]
fn whoever_leaves_and_whoever_closes_nothing_that_was_made_is_left_open() {
    in_many_orders(|| {
        block_on(async {
            let (discovery, seen) = discovery();
            let comers: Vec<_> = (0..3)
                .map(|_| {
                    let discovery = discovery.clone();
                    spawn(async move { drop(discovery.catalog().await) })
                })
                .collect();
            comers[0].abort();
            let closer = discovery.clone();
            let closing = spawn(async move { closer.close().await });
            comers[1].abort();
            for comer in comers {
                // An error says that it was aborted.
                let _ = comer.await;
            }
            closing.await.expect("it does not panic");
            discovery.close().await;
            assert_eq!(seen.made.load(SeqCst), seen.closed.load(SeqCst));
            assert_eq!(seen.connecting.load(SeqCst), 0);
        });
    });
}

/// What joining would be if it took the lock twice: to look, and then to start.
#[test]
fn a_flight_that_is_started_after_a_look_at_what_was_there_is_found_out() {
    let looks_first = || {
        let generations = Arc::new(Mutex::new(Generations::new()));
        let comers: Vec<_> = (0..2)
            .map(|_| {
                let generations = generations.clone();
                shuttle::thread::spawn(move || {
                    let seen = generations.lock().unwrap().clone();
                    let is_new = matches!(seen.clone().join(Need::Catalog, |_| true), Joined::New(_));
                    if is_new {
                        let _ = generations.lock().unwrap().join(Need::FreshListing, |_| false);
                    }
                    is_new
                })
            })
            .collect();
        let started = comers.into_iter().map(|comer| comer.join().unwrap());
        assert_eq!(started.filter(|is_new| *is_new).count(), 1, "two flights for one");
    };
    let found = catch_unwind(AssertUnwindSafe(|| in_many_orders(looks_first)));
    assert!(found.is_err());
}
