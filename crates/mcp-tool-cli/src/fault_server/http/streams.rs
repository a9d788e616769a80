//! What event streams with ids have carried, so that a client can ask for the rest.
use super::Resumed;
use std::{
    collections::HashMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// The streams of one process; like a session, no other process knows them.
#[derive(Debug)]
pub(super) struct Streams {
    /// Milliseconds that a client is to wait before it asks for the rest of one.
    pub(super) retry_ms: Option<u64>,
    logs: Mutex<HashMap<u64, Log>>,
    grown: Condvar,
}

#[derive(Debug)]
struct Log {
    messages: Vec<String>,
    over: bool,
    resumed: Resumed,
}

impl Streams {
    pub(super) fn new(retry_ms: Option<u64>) -> Self {
        Self { retry_ms, logs: Mutex::default(), grown: Condvar::new() }
    }

    /// A new stream's number.
    pub(super) fn open(&self, resumed: Resumed) -> u64 {
        let mut logs = self.logs();
        let number = logs.len() as u64 + 1;
        logs.insert(number, Log { messages: Vec::new(), over: false, resumed });
        number
    }

    /// Keeps a message; what it returns is the id of its event.
    pub(super) fn append(&self, stream: u64, message: String) -> String {
        let mut logs = self.logs();
        let Some(log) = logs.get_mut(&stream) else { return String::new() };
        log.messages.push(message);
        self.grown.notify_all();
        event_id(stream, log.messages.len())
    }

    /// Nothing more will be appended.
    pub(super) fn end(&self, stream: u64) {
        if let Some(log) = self.logs().get_mut(&stream) {
            log.over = true;
            self.grown.notify_all();
        }
    }

    /// Where the event with this id stands, and what asking for the rest leads to.
    pub(super) fn find(&self, event_id: &str) -> Option<(Position, Resumed)> {
        let (stream, seen) = event_id.split_once('.')?;
        let position = Position { stream: stream.parse().ok()?, seen: seen.parse().ok()? };
        let mut logs = self.logs();
        let log = logs.get_mut(&position.stream)?;
        let resumed = log.resumed;
        if let Resumed::StatusThenAnswer(_) = resumed {
            log.resumed = Resumed::Answer;
        }
        Some((position, resumed))
    }

    /// Waits for the message after `position`; none when there is no other.
    pub(super) fn next(&self, position: &mut Position) -> Option<(String, String)> {
        let mut logs = self.logs();
        loop {
            let log = logs.get(&position.stream)?;
            if let Some(message) = log.messages.get(position.seen) {
                position.seen += 1;
                return Some((event_id(position.stream, position.seen), message.clone()));
            }
            if log.over {
                return None;
            }
            logs = self.grown.wait(logs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn logs(&self) -> MutexGuard<'_, HashMap<u64, Log>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// After so many messages of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    stream: u64,
    seen: usize,
}

/// The id of the event that brings a stream's `messages` up to this number; 0 comes before the first.
pub(super) fn event_id(stream: u64, messages: usize) -> String {
    format!("{stream}.{messages}")
}
