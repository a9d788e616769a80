//! `mcp-tool demo`: one call, one lost connection, over and over, with a real server as the judge.

mod listener;
mod row;
mod rows;
mod table;
mod timeline;

use std::{
    ffi::OsString,
    io::{self, Write},
    path::PathBuf,
};

pub use row::Server;

/// Whether every row kept the guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Executions, outcome and reason were right in each.
    Held,
    /// At least one row broke it.
    Broken,
}

/// Plays every row against processes of its own and prints the table.
///
/// # Errors
///
/// When a row cannot be played at all: no process can be started, no ledger written.
pub async fn run(server: &Server, out: &mut impl Write) -> io::Result<Verdict> {
    let ledgers = tempfile::tempdir()?;
    writeln!(out, "{INTRODUCTION}")?;
    let mut played = Vec::new();
    for (number, row) in rows::all().into_iter().enumerate() {
        let ledger = ledgers.path().join(format!("{number}.jsonl"));
        played.push(row.play(server, ledger).await?);
    }
    table::print(&played, out)?;
    let broken = played.iter().filter(|row| !row.held()).count();
    if broken == 0 {
        writeln!(out, "{CONCLUSION}")?;
        return Ok(Verdict::Held);
    }
    writeln!(out, "\n{broken} of {} rows broke the guarantee.", played.len())?;
    Ok(Verdict::Broken)
}

impl Server {
    /// A program that plays the fault server.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new() }
    }

    /// Adds an argument before those of the scenario.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

const INTRODUCTION: &str = "\
A tool can finish its work and lose the connection before its answer arrives.
Each row below starts a real server process, calls its tool `put`, and breaks something.
\"ran\" is how often the tool really ran, read from a ledger that the server syncs to disk.
The line below a row says what happened to its call, step by step.";

const CONCLUSION: &str = "
No tool ran twice but where its server declared that repeating is safe, and each call ended with an
answer, with \"not run\", or with \"may have run\".";
