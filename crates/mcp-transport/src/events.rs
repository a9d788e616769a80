use tokio::sync::broadcast::{self, error::RecvError};

/// Something that a connection tells on its own.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection has ended. Nothing follows.
    Closed,
    /// The server says that its list of tools changed (`notifications/tools/list_changed`).
    ToolsChanged,
}

/// The events of one connection, from the moment of asking.
#[derive(Debug)]
pub struct Events(Option<broadcast::Receiver<Event>>);

impl Events {
    /// For ever quiet.
    pub fn quiet() -> Self {
        Self(None)
    }

    /// Those of a connection that has already ended: [`Event::Closed`], then quiet.
    pub fn closed() -> Self {
        EventSender::default().subscribe()
    }

    /// The next event. After [`Event::Closed`] it waits for ever. Safe to cancel.
    pub async fn next(&mut self) -> Event {
        let Some(receiver) = &mut self.0 else {
            return std::future::pending().await;
        };
        match receiver.recv().await {
            Ok(Event::Closed) | Err(RecvError::Closed) => {
                self.0 = None;
                Event::Closed
            }
            Ok(event) => event,
            // What was missed can only have been repeats of the one event that repeats.
            Err(RecvError::Lagged(_)) => Event::ToolsChanged,
        }
    }
}

/// Where a transport tells its events; dropping the last one closes the stream.
#[derive(Clone, Debug)]
pub struct EventSender(broadcast::Sender<Event>);

impl Default for EventSender {
    fn default() -> Self {
        Self(broadcast::channel(16).0)
    }
}

impl EventSender {
    /// Tells everybody who listens now.
    pub fn send(&self, event: Event) {
        // An error only says that nobody listens.
        let _ = self.0.send(event);
    }

    /// One more listener.
    pub fn subscribe(&self) -> Events {
        Events(Some(self.0.subscribe()))
    }
}
