//! From the command line to a serving process.
use super::{
    Ending, Fault, Scenario, Startup,
    event::Exit,
    http,
    journal::Journal,
    process::{self, LateWork, Rebirth},
    protocol::Protocol,
    stdio,
    step::Step,
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

const USAGE: &str =
    "usage: fault-server --ledger FILE (--scenario JSON | --scenario-file FILE) [--http PORT]";

/// Runs a fault server over standard input and output, or over Streamable HTTP.
///
/// `args` are the arguments after the program's name and, where the fault server is a subcommand, after
/// that: `--ledger FILE` and either `--scenario JSON` or `--scenario-file FILE`, as
/// [`Scenario::to_args`] makes them. With `--http PORT` it serves HTTP on that port of the loopback
/// interface, on any path; 0 takes a free port, and [`Record::ports`] tells which. It still ends with its
/// standard input, so that no server outlives a test; give it a pipe. The process starts itself again for some faults, with the very
/// arguments it has and some more at the end; so they must lead here.
///
/// [`Record::ports`]: super::Record::ports
///
/// The exit code is 0 at the end of the input, 2 for wrong arguments, 70 for a death that the scenario
/// asked for, and 1 when the ledger cannot be written.
pub fn main_with_args(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Arguments::parse(args) {
        Ok(arguments) if arguments.is_grandchild => process::live_as_grandchild(),
        Ok(arguments) => live(arguments).unwrap_or_else(|error| {
            eprintln!("fault-server: {error}");
            ExitCode::FAILURE
        }),
        Err(problem) => {
            eprintln!("fault-server: {problem}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// What a process tells its next image.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Resume {
    pub(super) start: u32,
    pub(super) how: Rebirth,
    /// Steps whose moment has not come yet.
    pub(super) waiting: Vec<Vec<Step>>,
}

struct Arguments {
    ledger: PathBuf,
    scenario: Scenario,
    http: Option<u16>,
    resume: Option<Resume>,
    is_grandchild: bool,
    late_work: Option<LateWork>,
}

impl Arguments {
    fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let (mut ledger, mut scenario, mut http) = (None, None, None);
        let (mut resume, mut is_grandchild, mut late_work) = (None, false, None);
        let mut args = args.into_iter();
        while let Some(option) = args.next() {
            let option = option.to_string_lossy().into_owned();
            let mut value = || args.next().ok_or(format!("{option} needs a value"));
            match &*option {
                "--ledger" => ledger = Some(PathBuf::from(value()?)),
                "--scenario" => scenario = Some(json(&option, value()?.as_encoded_bytes())?),
                "--scenario-file" => {
                    let text = fs::read(value()?).map_err(|error| format!("{option}: {error}"))?;
                    scenario = Some(json(&option, &text)?);
                }
                "--http" => http = Some(json(&option, value()?.as_encoded_bytes())?),
                "--resume" => resume = Some(json(&option, value()?.as_encoded_bytes())?),
                "--late-work" => late_work = Some(json(&option, value()?.as_encoded_bytes())?),
                "--grandchild" => is_grandchild = true,
                _ => return Err(format!("unknown option {option}")),
            }
        }
        let ledger = ledger.ok_or("no --ledger")?;
        let scenario: Scenario = scenario.ok_or("no scenario")?;
        let out_of_place = |fault: &&Fault| match http {
            Some(_) => fault.needs_pipes(),
            None => matches!(fault, Fault::Http(_)),
        };
        if let Some(fault) = scenario.all_faults().find(out_of_place) {
            return Err(format!("{} is not possible over this front", fault.name()));
        }
        Ok(Self { ledger, scenario, http, resume, is_grandchild, late_work })
    }
}

fn json<T: for<'a> Deserialize<'a>>(option: &str, text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("{option}: {error}"))
}

fn live(arguments: Arguments) -> io::Result<ExitCode> {
    match arguments.late_work {
        Some(work) => process::work_late(work, &arguments.ledger).map(|()| ExitCode::SUCCESS),
        None => serve(arguments),
    }
}

fn serve(arguments: Arguments) -> io::Result<ExitCode> {
    let Arguments { ledger, scenario, http, resume, .. } = arguments;
    let (journal, resume) = enter(&ledger, resume)?;
    let scenario = scenario.of_start(journal.start());
    let fresh = resume.is_none();
    if fresh && scenario.ending == Ending::AtKill {
        let state = Resume { start: journal.start(), how: Rebirth::Stubborn, waiting: Vec::new() };
        return Err(process::be_reborn(state.how, serde_json::to_string(&state)?));
    }
    if let Some(code) = refusal(&scenario, journal.start()) {
        journal.fault("refused_to_start")?;
        journal.exit(Exit::Fault)?;
        return Ok(code);
    }
    let reborn_midway = resume.as_ref().is_some_and(|resume| resume.how != Rebirth::Stubborn);
    if let Some(holds) = scenario.grandchild.filter(|_| !reborn_midway) {
        process::start_grandchild(holds, &journal)?;
    }
    let protocol = Protocol::new(scenario, Arc::new(journal), &ledger)?;
    match http {
        Some(port) => http::serve(protocol, port),
        None => stdio::serve(protocol, resume),
    }
}

fn enter(ledger: &Path, resume: Option<Resume>) -> io::Result<(Journal, Option<Resume>)> {
    match resume {
        Some(resume) => Ok((Journal::resume(ledger, resume.start)?, Some(resume))),
        None => Ok((Journal::begin(ledger)?, None)),
    }
}

fn refusal(scenario: &Scenario, start: u32) -> Option<ExitCode> {
    match scenario.startup {
        Some(Startup::Exit { code }) => Some(ExitCode::from(code)),
        Some(Startup::ExitFirst { starts }) if start <= starts => Some(ExitCode::FAILURE),
        _ => None,
    }
}
