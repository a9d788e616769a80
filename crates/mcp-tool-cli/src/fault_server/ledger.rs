//! What a fault server has done, read from outside.
use super::event::{Cancellation, Event, Execution, Exit, Listing, Receipt};
use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// A ledger file: what every start of a fault server has done, in the order in which it happened.
///
/// Each reading method reads the file anew. A file that does not exist yet is an empty ledger.
///
/// # Errors
///
/// Every reading method fails when the file cannot be read, and with [`io::ErrorKind::InvalidData`]
/// when a complete line is no [`Event`]. A last line without its newline is still being written and
/// is left out.
#[derive(Clone, Debug)]
pub struct Ledger {
    path: PathBuf,
}

#[expect(clippy::missing_errors_doc, reason = "they fail alike, as the type says")]
impl Ledger {
    /// The ledger in this file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All of it, as it is now.
    pub fn read(&self) -> io::Result<Record> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let complete = text.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let events = complete.map(serde_json::from_slice).collect::<Result<_, _>>();
        events
            .map(|events| Record { events })
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Blocks until the ledger looks as the caller wants it, and returns it.
    ///
    /// Fails with [`io::ErrorKind::TimedOut`] when it does not within `timeout`.
    pub fn wait_for(&self, timeout: Duration, wanted: impl Fn(&Record) -> bool) -> io::Result<Record> {
        let until = Instant::now() + timeout;
        loop {
            let record = self.read()?;
            if wanted(&record) {
                return Ok(record);
            }
            if Instant::now() >= until {
                let seen = format!("the ledger still says {:?}", record.events);
                return Err(io::Error::new(io::ErrorKind::TimedOut, seen));
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// [`Record::executions`] of the ledger as it is now.
    pub fn executions(&self) -> io::Result<Vec<Execution>> {
        Ok(self.read()?.executions())
    }

    /// [`Record::executions_of`] of the ledger as it is now.
    pub fn executions_of(&self, tool: &str) -> io::Result<Vec<Execution>> {
        Ok(self.read()?.executions_of(tool))
    }

    /// [`Record::received`] of the ledger as it is now.
    pub fn received(&self) -> io::Result<Vec<Receipt>> {
        Ok(self.read()?.received())
    }

    /// [`Record::starts`] of the ledger as it is now.
    pub fn starts(&self) -> io::Result<Vec<u32>> {
        Ok(self.read()?.starts())
    }

    /// [`Record::pids`] of the ledger as it is now.
    pub fn pids(&self) -> io::Result<Vec<u32>> {
        Ok(self.read()?.pids())
    }

    /// [`Record::ports`] of the ledger as it is now.
    pub fn ports(&self) -> io::Result<Vec<u16>> {
        Ok(self.read()?.ports())
    }

    /// [`Record::lists`] of the ledger as it is now.
    pub fn lists(&self) -> io::Result<Vec<Listing>> {
        Ok(self.read()?.lists())
    }

    /// [`Record::cancellations`] of the ledger as it is now.
    pub fn cancellations(&self) -> io::Result<Vec<Cancellation>> {
        Ok(self.read()?.cancellations())
    }
}

/// The content of a [`Ledger`] at one moment, each part in the order in which it happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    events: Vec<Event>,
}

impl Record {
    /// Every line.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The side effects.
    pub fn executions(&self) -> Vec<Execution> {
        self.pick(|event| match event {
            Event::Executed(execution) => Some(execution.clone()),
            _ => None,
        })
    }

    /// The side effects of one tool.
    pub fn executions_of(&self, tool: &str) -> Vec<Execution> {
        self.executions().into_iter().filter(|execution| execution.tool == tool).collect()
    }

    /// The calls that were read.
    pub fn received(&self) -> Vec<Receipt> {
        self.pick(|event| match event {
            Event::Received(receipt) => Some(receipt.clone()),
            _ => None,
        })
    }

    /// The process ids of the starts: the `n`th start's is at index `n - 1`.
    pub fn starts(&self) -> Vec<u32> {
        self.pick(|event| match event {
            Event::Start { pid } => Some(*pid),
            _ => None,
        })
    }

    /// The process ids of the starts and of their children.
    pub fn pids(&self) -> Vec<u32> {
        self.pick(|event| match event {
            Event::Start { pid } | Event::Grandchild { pid, .. } => Some(*pid),
            _ => None,
        })
    }

    /// The ports on which processes listen over HTTP.
    pub fn ports(&self) -> Vec<u16> {
        self.pick(|event| match event {
            Event::Listening { port, .. } => Some(*port),
            _ => None,
        })
    }

    /// The methods of the messages that were refused for want of a session.
    pub fn turned_away(&self) -> Vec<String> {
        self.pick(|event| match event {
            Event::TurnedAway { method, .. } => Some(method.clone().unwrap_or_default()),
            _ => None,
        })
    }

    /// The event ids by which streams were to be resumed.
    pub fn resumes(&self) -> Vec<String> {
        self.pick(|event| match event {
            Event::Get { last_event_id, .. } => last_event_id.clone(),
            _ => None,
        })
    }

    /// How many sessions were ended by a DELETE.
    pub fn ended_sessions(&self) -> usize {
        self.pick(|event| matches!(event, Event::Delete { known: true, .. }).then_some(())).len()
    }

    /// The protocol revisions that were answered to handshakes.
    pub fn versions(&self) -> Vec<String> {
        self.pick(|event| match event {
            Event::Handshake { version, .. } => Some(version.clone()),
            _ => None,
        })
    }

    /// The requests for pages of tools.
    pub fn lists(&self) -> Vec<Listing> {
        self.pick(|event| match event {
            Event::List(listing) => Some(listing.clone()),
            _ => None,
        })
    }

    /// The cancellations that were read.
    pub fn cancellations(&self) -> Vec<Cancellation> {
        self.pick(|event| match event {
            Event::Cancelled(cancellation) => Some(cancellation.clone()),
            _ => None,
        })
    }

    /// The methods of the requests about tasks.
    pub fn about_tasks(&self) -> Vec<String> {
        self.pick(|event| match event {
            Event::AboutTask { method, .. } => Some(method.clone()),
            _ => None,
        })
    }

    /// Whether the client's replies to what calls asked it were results, not errors.
    pub fn replies(&self) -> Vec<bool> {
        self.pick(|event| match event {
            Event::Replied { result, .. } => Some(*result),
            _ => None,
        })
    }

    /// The names of the faults that struck: a test that provokes one should see it here.
    pub fn faults(&self) -> Vec<String> {
        self.pick(|event| match event {
            Event::Fault { fault, .. } => Some(fault.clone()),
            _ => None,
        })
    }

    /// What ended the processes that ended by themselves.
    pub fn exits(&self) -> Vec<Exit> {
        self.pick(|event| match event {
            Event::Exit { why, .. } => Some(*why),
            _ => None,
        })
    }

    fn pick<T>(&self, part: impl Fn(&Event) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(part).collect()
    }
}
