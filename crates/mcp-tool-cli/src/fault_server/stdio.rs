//! The front over standard input and output: one line, one message.
use super::{
    Ending, Fault, Startup,
    event::Exit,
    journal::Journal,
    process::{self, Rebirth},
    protocol::Protocol,
    start::Resume,
    step::Step,
};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufReader, Read, Write},
    process::ExitCode,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

/// Serves until the end of the input, or until the scenario ends the process.
pub(super) fn serve(mut protocol: Protocol, resumed: Option<Resume>) -> io::Result<ExitCode> {
    let front = Arc::new(Front { journal: protocol.journal.clone(), waiting: Mutex::default() });
    front.begin(&protocol, resumed)?;
    let mut input = Input::new(&protocol)?;
    loop {
        match protocol.fault_before_reading()? {
            Some(Fault::DieAfterBytes { bytes }) => {
                let text = input.exactly(bytes)?;
                if serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok() {
                    front.perform(protocol.handle(&text)?)?;
                }
                process::die(&front.journal)
            }
            Some(fault) => front.stop_reading(fault)?,
            None => {}
        }
        match input.next(protocol.bytes_of_next_call()?)? {
            Some(Line::Whole(line)) => front.perform(protocol.handle(&line)?)?,
            Some(Line::Beginning) => {
                front.journal.fault("die_mid_read")?;
                process::die(&front.journal)
            }
            None => break,
        }
    }
    match protocol.scenario.ending {
        Ending::AtEof => front.journal.exit(Exit::Eof).map(|()| ExitCode::SUCCESS),
        Ending::AtSignal | Ending::AtKill => {
            front.journal.fault("ignores_eof")?;
            process::linger(&front.journal)
        }
    }
}

/// Performs steps, and keeps those that wait for their moment.
#[derive(Debug)]
struct Front {
    journal: Arc<Journal>,
    /// One slot per series of steps; it begins with a wait, or is empty when it is over.
    waiting: Mutex<Vec<VecDeque<Step>>>,
}

impl Front {
    fn begin(self: &Arc<Self>, protocol: &Protocol, resumed: Option<Resume>) -> io::Result<()> {
        match resumed {
            Some(Resume { how: Rebirth::WithoutStdin, waiting, .. }) => {
                waiting.into_iter().try_for_each(|steps| self.perform(steps))?;
                process::linger(&self.journal)
            }
            Some(Resume { how: Rebirth::WithoutStdout, waiting, .. }) => {
                waiting.into_iter().try_for_each(|steps| self.perform(steps))
            }
            Some(Resume { how: Rebirth::Stubborn, .. }) | None => {
                if let Some(Startup::Banner { line }) = &protocol.scenario.startup {
                    self.perform(vec![Step::Raw(format!("{line}\n").into())])?;
                }
                match &protocol.scenario.dies {
                    Some(when) => self.perform(vec![Step::Wait(when.clone()), Step::Die]),
                    None => Ok(()),
                }
            }
        }
    }

    /// Lets a fault strike before the next call is read.
    fn stop_reading(self: &Arc<Self>, fault: Fault) -> io::Result<()> {
        self.journal.fault(fault.name())?;
        match fault {
            Fault::CloseStdin => self.perform(vec![Step::CloseStdin]),
            Fault::DieUnread { when } => {
                self.perform(vec![Step::Wait(when), Step::Die])?;
                process::linger(&self.journal)
            }
            _ => self.perform(vec![Step::StopReading]),
        }
    }

    /// Takes steps up to the first wait; a thread takes the rest, so that the next message is served.
    fn perform(self: &Arc<Self>, steps: Vec<Step>) -> io::Result<()> {
        let mut steps = VecDeque::from(steps);
        while let Some(step) = next_at_once(&mut steps) {
            self.take(step)?;
        }
        if steps.is_empty() {
            return Ok(());
        }
        let mut waiting = self.waiting();
        waiting.push(steps);
        let (front, slot) = (self.clone(), waiting.len() - 1);
        thread::Builder::new().spawn(move || front.wait_out(slot)).map(drop)
    }

    fn wait_out(&self, slot: usize) -> io::Result<()> {
        loop {
            let Some(Step::Wait(when)) = self.waiting()[slot].front().cloned() else { return Ok(()) };
            when.wait();
            // Under the lock, so that a rebirth finds these steps either all due or all done.
            let mut waiting = self.waiting();
            waiting[slot].pop_front();
            while let Some(step) = next_at_once(&mut waiting[slot]) {
                self.take(step)?;
            }
        }
    }

    fn take(&self, step: Step) -> io::Result<()> {
        match step {
            Step::Send(message) | Step::Announce(message) => self.write(&Step::line(&message)),
            Step::SendPart(message, portion) => self.write(portion.of(&Step::line(&message))),
            Step::Listen => {}
            Step::Http(..) => return Err(io::ErrorKind::Unsupported.into()),
            Step::Raw(bytes) => self.write(&bytes),
            Step::Diagnose(bytes) => process::flood_stderr(bytes),
            Step::Wait(when) => when.wait(),
            Step::Die => process::die(&self.journal),
            Step::StopReading => process::linger(&self.journal),
            Step::CloseStdin => return self.rebirth(Rebirth::WithoutStdin),
            Step::CloseStdout => return self.rebirth(Rebirth::WithoutStdout),
        }
        Ok(())
    }

    /// A client that reads no more is no reason to stop: the end of the input is.
    fn write(&self, bytes: &[u8]) {
        let mut output = io::stdout().lock();
        let _ = output.write_all(bytes).and_then(|()| output.flush());
    }

    fn rebirth(&self, how: Rebirth) -> io::Result<()> {
        let waiting = self.waiting();
        let due =
            waiting.iter().filter(|steps| !steps.is_empty()).map(|steps| steps.iter().cloned().collect());
        let resume = Resume { start: self.journal.start(), how, waiting: due.collect() };
        Err(process::be_reborn(how, serde_json::to_string(&resume)?))
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<VecDeque<Step>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn next_at_once(steps: &mut VecDeque<Step>) -> Option<Step> {
    match steps.front() {
        Some(Step::Wait(_)) | None => None,
        Some(_) => steps.pop_front(),
    }
}

/// The lines of standard input.
#[derive(Debug)]
struct Input {
    bytes: BufReader<File>,
}

/// What is read for one message.
enum Line {
    Whole(Vec<u8>),
    /// The beginning of a call that is not to be read to its end.
    Beginning,
}

impl Input {
    fn new(protocol: &Protocol) -> io::Result<Self> {
        // A byte that is taken from the pipe counts as read, so nothing may be taken ahead where a
        // fault leaves bytes behind.
        let exact = protocol.scenario.faults().any(Fault::needs_pipes);
        let capacity = if exact { 1 } else { 64 * 1024 };
        Ok(Self { bytes: BufReader::with_capacity(capacity, process::unbuffered_stdin()?) })
    }

    /// So many bytes, or fewer at the end of the input.
    fn exactly(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        self.bytes.by_ref().take(bytes as u64).read_to_end(&mut text)?;
        Ok(text)
    }

    /// The next line without its newline, none at the end of the input. Of a `tools/call` at most
    /// `limit` bytes are read, as soon as its method is known.
    fn next(&mut self, limit: Option<usize>) -> io::Result<Option<Line>> {
        let (mut line, mut is_call) = (Vec::new(), false);
        for byte in self.bytes.by_ref().bytes() {
            let byte = byte?;
            is_call |= byte == b'"' && line.ends_with(br#""tools/call"#);
            let at_end = byte == b'\n';
            if !at_end {
                line.push(byte);
            }
            if is_call && limit.is_some_and(|limit| at_end || line.len() >= limit) {
                return Ok(Some(Line::Beginning));
            }
            if at_end && !line.is_empty() {
                return Ok(Some(Line::Whole(line)));
            }
        }
        // A last line without a newline is a message too: a server may well take it for one.
        Ok((!line.is_empty()).then_some(Line::Whole(line)))
    }
}
