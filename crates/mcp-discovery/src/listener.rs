use std::time::Duration;

use mcp_transport::{Connector, Event, Events};
use tokio::time::{Instant, sleep_until};

use crate::{
    ConnectionId,
    flight::Waiter,
    run::Runner,
    sync::{AbortHandle, spawn},
};

/// The task that listens to one connection. Dropping this ends it.
pub(crate) struct Listener(AbortHandle);

impl Listener {
    pub(crate) fn start<C: Connector + 'static>(
        runner: Runner<C>,
        connection: ConnectionId,
        events: Events,
    ) -> Self {
        Self(spawn(listen(runner, connection, events)).abort_handle())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The shortest time from the beginning of one refresh to that of the next. A server that says so after
/// each listing would else be listed as fast as it answers.
const PAUSE: Duration = Duration::from_secs(1);

/// Lists again when the server says that its tools changed, and has had the time to settle. While one
/// refresh runs, and a moment longer, one more follows for however many events come. A connection that is
/// lost on the way is left for the next caller.
async fn listen<C: Connector + 'static>(runner: Runner<C>, connection: ConnectionId, mut events: Events) {
    let mut refresh: Option<Waiter> = None;
    let mut changed: Option<Instant> = None;
    let mut next = Instant::now();
    loop {
        tokio::select! {
            // Events first, so that a burst that is already here is one change.
            biased;
            event = events.next() => match event {
                Event::ToolsChanged => {
                    let listens = runner.state.upgrade().is_some_and(|state| state.tools_changed(connection));
                    if !listens {
                        return;
                    }
                    changed = changed.or_else(|| Some(Instant::now()));
                }
                // What that means for the connection, its `is_closed` tells.
                Event::Closed => return,
                _ => {}
            },
            // Whether it went well is for the next caller to see: the generation stays suspect if not.
            Some(_) = async { Some(refresh.as_mut()?.await) } => refresh = None,
            () = settled(changed, runner.settle, next), if changed.is_some() && refresh.is_none() => {
                changed = None;
                next = Instant::now() + PAUSE;
                refresh = runner.join_from(connection);
            }
        }
    }
}

async fn settled(changed: Option<Instant>, settle: Duration, next: Instant) {
    let until = changed.and_then(|changed| changed.checked_add(settle)).map(|settled| settled.max(next));
    if let Some(until) = until.filter(|until| *until > Instant::now()) {
        sleep_until(until).await;
    }
}
