//! How a fault server writes its ledger, and how it counts by it.
use super::{
    event::{Event, Exit, Receipt},
    ledger::Ledger,
};
use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process,
};

/// One process's pen. Lines of several processes never mix: each is appended by a single write.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    start: u32,
}

impl Journal {
    /// Enters a new start, numbered by its place in the file, so that no two processes share a number.
    pub(super) fn begin(path: &Path) -> io::Result<Self> {
        let mut journal = Self::resume(path, 0)?;
        journal.record(&Event::Start { pid: process::id() })?;
        let starts = Ledger::new(path).starts()?;
        let own = starts.iter().rposition(|&pid| pid == process::id());
        journal.start = own.ok_or(io::ErrorKind::InvalidData)? as u32 + 1;
        Ok(journal)
    }

    /// Goes on with a start that this process has entered before it replaced its own image.
    pub(super) fn resume(path: &Path, start: u32) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file, start })
    }

    pub(super) fn start(&self) -> u32 {
        self.start
    }

    pub(super) fn record(&self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        (&self.file).write_all(&line)
    }

    /// Like [`record`](Self::record), and on disk when it returns.
    pub(super) fn commit(&self, event: &Event) -> io::Result<()> {
        self.record(event)?;
        self.file.sync_data()
    }

    pub(super) fn fault(&self, fault: impl Into<String>) -> io::Result<()> {
        self.record(&Event::Fault { start: self.start, fault: fault.into() })
    }

    pub(super) fn exit(&self, why: Exit) -> io::Result<()> {
        self.record(&Event::Exit { start: self.start, why })
    }
}

/// Counts the calls in a ledger, of all processes, reading only what was appended since.
#[derive(Debug)]
pub(super) struct Tally {
    file: BufReader<File>,
    line: Vec<u8>,
    received: u32,
}

impl Tally {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufReader::new(File::open(path)?), line: Vec::new(), received: 0 })
    }

    /// The number of calls so far.
    pub(super) fn received(&mut self) -> io::Result<u32> {
        while self.next_receipt()?.is_some() {}
        Ok(self.received)
    }

    /// The number of a call that was recorded just now: the order of the file decides.
    pub(super) fn number_of(&mut self, start: u32, call: u32) -> io::Result<u32> {
        while let Some(receipt) = self.next_receipt()? {
            if (receipt.start, receipt.call) == (start, call) {
                break;
            }
        }
        Ok(self.received)
    }

    fn next_receipt(&mut self) -> io::Result<Option<Receipt>> {
        loop {
            self.file.read_until(b'\n', &mut self.line)?;
            if !self.line.ends_with(b"\n") {
                return Ok(None);
            }
            let event = serde_json::from_slice(&self.line)?;
            self.line.clear();
            if let Event::Received(receipt) = event {
                self.received += 1;
                return Ok(Some(receipt));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn call(journal: &Journal, call: u32) {
        let receipt = Receipt {
            start: journal.start(),
            call,
            id: Value::from(call),
            tool: "put".to_owned(),
            arguments: String::new(),
            continues: false,
        };
        journal.record(&Event::Received(receipt)).unwrap();
    }

    #[test]
    fn calls_are_numbered_in_the_order_of_the_file_over_all_processes() {
        let path = std::env::temp_dir().join(format!("tally-{}.jsonl", process::id()));
        let first = Journal::begin(&path).unwrap();
        let second = Journal::begin(&path).unwrap();
        let (mut ours, mut theirs) = (Tally::new(&path).unwrap(), Tally::new(&path).unwrap());
        call(&first, 1);
        call(&second, 1);
        assert_eq!(ours.number_of(first.start(), 1).unwrap(), 1);
        assert_eq!(theirs.number_of(second.start(), 1).unwrap(), 2);
        call(&first, 2);
        assert_eq!(ours.number_of(first.start(), 2).unwrap(), 3);
        assert_eq!(theirs.received().unwrap(), 3);
        std::fs::remove_file(path).unwrap();
    }
}
