//! What all parts of a play share: the clock's free moments, the trust, and the record of what happened.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use mcp_tool::{Happening, Outcome, Trust};
use tokio::time::{Instant, sleep_until};

use crate::life::{CallFault, Connect, ListingFault, Noise, ReadFault, WriteFault};

/// What a server does is done at moments of its own, this far apart. At one moment at most one thing comes
/// in, so that rmcp, which picks at random among what is ready, has no choice.
const APART: u64 = 11;

/// The first moment from so many milliseconds on at which no server does anything. Callers begin at such
/// moments, and so does what waits for a round number of seconds, which is no multiple of the above.
pub(crate) fn between(millis: u64) -> u64 {
    millis.next_multiple_of(APART) + 4
}

/// The record is in order: what stands earlier happened earlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    Trust(Trust),
    Connecting {
        life: usize,
        identity: usize,
    },
    Connected {
        life: usize,
    },
    /// The connect ended without a connection, or was given up.
    NotConnected {
        life: usize,
    },
    /// Bytes of the stream towards the server, from and to so many.
    Accepted {
        life: usize,
        from: usize,
        to: usize,
    },
    /// What the server read of a request.
    Asked {
        life: usize,
        id: i64,
        what: Asked,
    },
    /// A whole listing was written.
    Listed {
        life: usize,
        listing: usize,
    },
    Executed {
        life: usize,
        id: i64,
        key: usize,
    },
    /// Something happened after which the client may give this connection up.
    Hurt {
        life: usize,
        by: Harm,
    },
    /// Something happened that must do no harm.
    Harmless {
        life: usize,
        noise: Noise,
    },
    Struck {
        life: usize,
        fault: CallFault,
    },
    /// The client has closed its side.
    Left {
        life: usize,
    },
    /// A catalog was given to a caller.
    Catalog {
        key: usize,
        generation: u64,
        listing: [Option<usize>; 2],
    },
    LookedUp {
        key: usize,
        listing: Option<usize>,
    },
    Began {
        key: usize,
    },
    Cancelled {
        key: usize,
    },
    Dropped {
        key: usize,
    },
    Told {
        key: usize,
        happening: Happening,
    },
    /// What a caller got.
    Got {
        key: usize,
        got: Got,
    },
    /// Every caller has what it gets; from here on everything is taken down.
    Over,
    /// What then is still running.
    TasksLeft {
        tasks: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Handshake,
    /// The first page begins a listing.
    Page {
        listing: usize,
        second: bool,
    },
    Call {
        key: usize,
    },
    Else,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Harm {
    Connect(Connect),
    Listing(ListingFault),
    Write(WriteFault),
    Read(ReadFault),
    Call(CallFault),
    /// In the middle of the handshake.
    Noise(Noise),
    Died,
}

/// What a caller got, as far as it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Answer {
        attempts: u32,
        replays: u32,
        unsent: u32,
        earlier_unknown: bool,
        is_result: bool,
        is_own: bool,
    },
    Error {
        outcome: Outcome,
        code: &'static str,
        attempts: u32,
        replays: u32,
        unsent: u32,
    },
    /// Its tool could not be looked up, so there was no call.
    NoTool,
    Panicked,
}

#[derive(Clone)]
pub(crate) struct World(Arc<Mutex<Inner>>);

struct Inner {
    began: Instant,
    taken: BTreeSet<u64>,
    trust: Trust,
    record: Vec<(u64, Event)>,
    /// What was accepted of each life's requests.
    bytes: Vec<Vec<u8>>,
    listings: usize,
    connecting: usize,
    most_connecting: usize,
}

/// What is left of a play.
pub(crate) struct Record {
    /// With the milliseconds since the beginning.
    pub(crate) events: Vec<(u64, Event)>,
    pub(crate) bytes: Vec<Vec<u8>>,
    pub(crate) most_connecting: usize,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, event) in &self.events {
            writeln!(f, "{at:>9} ms {event:?}")?;
        }
        Ok(())
    }
}

impl World {
    pub(crate) fn new(trust: Trust) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            began: Instant::now(),
            taken: BTreeSet::new(),
            trust,
            record: Vec::new(),
            bytes: Vec::new(),
            listings: 0,
            connecting: 0,
            most_connecting: 0,
        })))
    }

    pub(crate) fn now(&self) -> u64 {
        self.inner().now()
    }

    pub(crate) fn tell(&self, event: Event) {
        self.inner().tell(event);
    }

    /// The next free moment, after at least so many milliseconds.
    pub(crate) fn moment(&self, after: u64) -> u64 {
        let mut inner = self.inner();
        let mut moment = (inner.now() + after.max(1)).next_multiple_of(APART);
        while !inner.taken.insert(moment) {
            moment += APART;
        }
        moment
    }

    /// Waits for this moment.
    pub(crate) async fn at(&self, moment: u64) {
        let began = self.inner().began;
        sleep_until(began + Duration::from_millis(moment)).await;
    }

    pub(crate) fn trust(&self) -> Trust {
        self.inner().trust
    }

    pub(crate) fn set_trust(&self, trust: Trust) {
        let mut inner = self.inner();
        inner.trust = trust;
        inner.tell(Event::Trust(trust));
    }

    /// One more life of the server: its number.
    pub(crate) fn connecting(&self, identity: usize) -> usize {
        let mut inner = self.inner();
        let life = inner.bytes.len();
        inner.bytes.push(Vec::new());
        inner.connecting += 1;
        inner.most_connecting = inner.most_connecting.max(inner.connecting);
        inner.tell(Event::Connecting { life, identity });
        life
    }

    pub(crate) fn connected(&self, event: Event) {
        let mut inner = self.inner();
        inner.connecting -= 1;
        inner.tell(event);
    }

    pub(crate) fn accepted(&self, life: usize, bytes: &[u8]) {
        let mut inner = self.inner();
        let from = inner.bytes[life].len();
        inner.bytes[life].extend_from_slice(bytes);
        inner.tell(Event::Accepted { life, from, to: from + bytes.len() });
    }

    /// One more listing: its number.
    pub(crate) fn listing(&self) -> usize {
        let mut inner = self.inner();
        inner.listings += 1;
        inner.listings - 1
    }

    pub(crate) fn into_record(self) -> Record {
        let mut inner = self.inner();
        Record {
            events: std::mem::take(&mut inner.record),
            bytes: std::mem::take(&mut inner.bytes),
            most_connecting: inner.most_connecting,
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("nobody panics with it")
    }
}

impl Inner {
    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn tell(&mut self, event: Event) {
        let now = self.now();
        // Bytes between which nothing else happened are told of at once.
        if let (Event::Accepted { life, from, to }, Some((_, Event::Accepted { life: before, to: end, .. }))) =
            (event, self.record.last_mut())
            && life == *before
            && from == *end
        {
            *end = to;
            return;
        }
        self.record.push((now, event));
    }
}
