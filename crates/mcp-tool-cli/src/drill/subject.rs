use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
};

use super::{DrillFault, DrillHints, Transport};
use crate::fault_server::{Event, Ledger, Record};

/// What a drill's ledger is about: its first line.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// How the client reaches the server.
    pub transport: Transport,
    /// What goes wrong.
    pub fault: DrillFault,
    /// What the tool declares of itself.
    pub hints: DrillHints,
}

/// A ledger that is of no use to a drill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(io::Error),
    /// It is no ledger.
    #[error("it is no ledger")]
    NoLedger,
    /// It is a ledger, or empty, and no drill wrote it.
    #[error("it is no ledger of a drill")]
    Foreign,
    /// Another drill wrote it.
    #[error("it is the ledger of another drill: {transport}, {fault}, hints {hints}")]
    Other {
        /// The other drill's transport.
        transport: &'static str,
        /// Its fault.
        fault: DrillFault,
        /// Its hints.
        hints: String,
    },
}

impl From<io::Error> for LedgerError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Self::NoLedger,
            _ => Self::Io(error),
        }
    }
}

impl Subject {
    /// Enters it in a ledger, or finds it there: a server that is started again goes on.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read or written, or is of something else.
    pub fn enter(&self, ledger: &Ledger) -> Result<(), LedgerError> {
        let record = ledger.read()?;
        match Self::of(&record) {
            Ok(there) if there == *self => Ok(()),
            Ok(there) => Err(LedgerError::Other {
                transport: there.transport.name(),
                fault: there.fault,
                hints: there.hints.name().to_owned(),
            }),
            // A line that was cut would take in the next one.
            Err(LedgerError::Foreign) if fs::metadata(ledger.path()).map_or(0, |file| file.len()) == 0 => {
                Ok(self.write(ledger)?)
            }
            Err(error) => Err(error),
        }
    }

    /// What a ledger is about.
    ///
    /// # Errors
    ///
    /// When no drill wrote it.
    pub fn of(record: &Record) -> Result<Self, LedgerError> {
        let Some(Event::Drill { transport, fault, hints }) = record.events().first() else {
            return Err(LedgerError::Foreign);
        };
        let transports = [Transport::Stdio, Transport::Http];
        let transport = transports.into_iter().find(|known| known.name() == transport);
        match (transport, fault.parse(), hints.parse()) {
            (Some(transport), Ok(fault), Ok(hints)) => Ok(Self { transport, fault, hints }),
            _ => Err(LedgerError::NoLedger),
        }
    }

    fn write(&self, ledger: &Ledger) -> io::Result<()> {
        let line = Event::Drill {
            transport: self.transport.name().to_owned(),
            fault: self.fault.name().to_owned(),
            hints: self.hints.name().to_owned(),
        };
        let line = format!("{}\n", serde_json::to_string(&line)?);
        OpenOptions::new().create(true).append(true).open(ledger.path())?.write_all(line.as_bytes())
    }
}
