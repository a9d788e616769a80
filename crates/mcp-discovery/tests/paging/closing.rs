//! Ending a connection on purpose, and ending the discovery.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use mcp_discovery::{Discovery, DiscoveryErrorKind};
use mcp_transport::{Event, Fence};
use tokio::{runtime::Handle, time::sleep};

use crate::server::{Server, Step};

/// Longer than anything waits.
const AGES: Duration = Duration::from_secs(3_600);

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn close_ends_the_connection_and_tells_the_fence_to_the_next_one_too() {
    let server = Server::new();
    server.fence_with(Fence::GroupGone);
    let discovery = server.discovery();
    assert_eq!(discovery.close().await, Fence::None, "there was nothing to close");
    let before = discovery.catalog().await.unwrap();
    assert_eq!(discovery.close().await, Fence::GroupGone);
    assert_eq!(discovery.close().await, Fence::GroupGone);
    assert!(before.transport().is_closed());
    sleep(AGES).await;
    assert_eq!(server.log(), ["connect 1", "list 1", "close 1", "closed 1"]);
    assert_eq!(tasks(), 0);

    let after = discovery.catalog().await.unwrap();
    assert_eq!(after.predecessor_fence(), Some(Fence::GroupGone));
    assert_eq!(after.connection(), before.connection().next());
    assert!(after.generation() > before.generation());
}

#[tokio::test(start_paused = true)]
async fn close_stops_who_waits_and_the_connection_that_was_being_made() {
    let server = Server::new();
    server.on_list([Step::Hang]);
    let discovery = server.discovery();
    let mut running = discovery.catalog();
    let mut queued = Box::pin(discovery.refresh());
    assert!((&mut running).now_or_never().is_none());
    server.until("list 1", 1).await;
    assert!((&mut queued).now_or_never().is_none());

    discovery.close().await;
    assert_eq!(running.await.unwrap_err().kind(), DiscoveryErrorKind::Stopped);
    assert_eq!(queued.await.unwrap_err().kind(), DiscoveryErrorKind::Stopped);
    assert_eq!((server.count("connect"), server.open(), tasks()), (1, 0, 0));
    assert!(discovery.catalog().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_comes_while_it_is_closed_waits_and_connects_anew() {
    let server = Server::new();
    let discovery = server.discovery();
    discovery.catalog().await.unwrap();
    server.on_close([Step::Hold]);
    let mut close = Box::pin(discovery.close());
    assert!((&mut close).now_or_never().is_none());
    let mut call = Box::pin(discovery.refresh());
    assert!((&mut call).now_or_never().is_none());
    sleep(AGES).await;
    assert_eq!(server.log(), ["connect 1", "list 1", "close 1"]);
    server.release();
    close.await;
    assert!(call.await.is_ok());
    assert_eq!(server.log()[3..], ["closed 1", "connect 2", "list 2"]);
}

#[tokio::test]
async fn a_caller_who_comes_while_a_flight_is_being_stopped_does_not_share_its_end() {
    let server = Server::new();
    server.on_list([Step::Hang]);
    server.on_close([Step::Hold]);
    let discovery = server.discovery();
    let mut stopped = discovery.catalog();
    assert!((&mut stopped).now_or_never().is_none());
    server.until("list 1", 1).await;
    let mut close = Box::pin(discovery.close());
    assert!((&mut close).now_or_never().is_none());
    // The flight has been told to stop and does not know it yet.
    let mut call = discovery.catalog();
    assert!((&mut call).now_or_never().is_none());
    server.until("close 1", 1).await;
    server.release();
    close.await;
    assert_eq!(stopped.await.unwrap_err().kind(), DiscoveryErrorKind::Stopped);
    assert!(call.await.is_ok());
    assert_eq!(server.open(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_of_a_connection_that_is_being_closed_revives_nothing() {
    let server = Server::new();
    let discovery = server.discovery();
    discovery.catalog().await.unwrap();
    server.on_close([Step::Slow(Duration::from_secs(1))]);
    server.link(1).tell(Event::ToolsChanged);
    let mut close = Box::pin(discovery.close());
    assert!((&mut close).now_or_never().is_none());
    server.link(1).tell(Event::ToolsChanged);
    close.await;
    sleep(AGES).await;
    assert_eq!(server.log(), ["connect 1", "list 1", "close 1", "closed 1"]);
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_leaves_no_task_and_no_connection_that_nobody_holds() {
    let server = Server::new();
    let discovery = server.discovery();
    let held = discovery.catalog().await.unwrap();
    let link = Arc::downgrade(&server.link(1));
    let clone = discovery.clone();
    drop(discovery);
    sleep(AGES).await;
    assert_eq!(tasks(), 1, "a clone still listens");
    server.on_list([Step::Hang]);
    server.link(1).tell(Event::ToolsChanged);
    server.until("list 1", 2).await;
    assert_eq!(tasks(), 2);

    drop(clone);
    sleep(AGES).await;
    assert_eq!(tasks(), 0);
    // What is held stays usable; who holds it decides when it ends.
    assert!(!held.transport().is_closed());
    server.forget_links();
    assert!(link.upgrade().is_some());
    drop(held);
    assert!(link.upgrade().is_none());
    assert_eq!(server.count("close"), 0);
}
