//! The process around a server: its descriptors, its child, its end.
use super::{
    Holds, When,
    event::{Event, Execution, Exit},
    journal::Journal,
};
use serde::{Deserialize, Serialize};
use std::{
    env,
    ffi::OsString,
    fs::File,
    io::{self, Write},
    path::Path,
    process::{self, Command, Stdio},
    thread,
    time::Duration,
};

/// How long a process waits that nothing but a signal would end, so that none is left for ever.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// The exit code of a death that the scenario asked for.
pub const DEATH: i32 = 70;

/// Dies as the scenario wants it: at once, with whatever is in flight.
pub(super) fn die(journal: &Journal) -> ! {
    // A ledger that cannot be written must not keep the process alive.
    let _ = journal.exit(Exit::Fault);
    process::exit(DEATH)
}

/// Lives on and does nothing.
pub(super) fn linger(journal: &Journal) -> ! {
    thread::sleep(FORGOTTEN_AFTER);
    let _ = journal.exit(Exit::Forgotten);
    process::exit(DEATH)
}

/// Writes this many bytes of diagnostics.
pub(super) fn flood_stderr(bytes: usize) {
    let line = [[b'.'; 99].as_slice(), b"\n"].concat();
    let (mut stream, mut left) = (io::stderr().lock(), bytes);
    while left > 0 {
        let part = left.min(line.len());
        if stream.write_all(&line[..part]).is_err() {
            return;
        }
        left -= part;
    }
}

/// The life of a server's child.
pub(super) fn live_as_grandchild() -> ! {
    thread::sleep(FORGOTTEN_AFTER);
    process::exit(DEATH)
}

/// What a server leaves to a child of its own.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LateWork {
    pub(super) when: When,
    pub(super) execution: Execution,
}

/// Starts this program once more as a child that does this work, whatever becomes of its parent.
pub(super) fn start_worker(work: &LateWork, journal: &Journal) -> io::Result<()> {
    let work = serde_json::to_string(work)?;
    start_child(again(["--late-work".into(), work.into()])?, Holds::Nothing, journal)
}

/// The life of such a child.
pub(super) fn work_late(work: LateWork, ledger: &Path) -> io::Result<()> {
    let LateWork { when, execution } = work;
    when.wait();
    Journal::resume(ledger, execution.start)?.commit(&Event::Executed(execution))
}

/// Starts this program once more as a child that only holds what it inherits.
pub(super) fn start_grandchild(holds: Holds, journal: &Journal) -> io::Result<()> {
    start_child(again(["--grandchild".into()])?, holds, journal)
}

fn start_child(mut command: Command, holds: Holds, journal: &Journal) -> io::Result<()> {
    let keep =
        |stream: Holds| if holds == Holds::All || holds == stream { Stdio::inherit() } else { Stdio::null() };
    let child =
        command.stdin(keep(Holds::Stdin)).stdout(keep(Holds::Stdout)).stderr(keep(Holds::Stderr)).spawn()?;
    journal.record(&Event::Grandchild { start: journal.start(), pid: child.id() })
}

/// This program with its own arguments and some more; the last of an option's values counts.
fn again(more: impl IntoIterator<Item = OsString>) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(env::args_os().skip(1)).args(more);
    Ok(command)
}

/// How a process goes on with another image of the same program. Safe Rust can neither close a
/// standard stream nor ignore a signal, but a new image can begin like that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Rebirth {
    /// `SIGTERM`, `SIGINT` and `SIGHUP` are ignored.
    Stubborn,
    /// No request comes in any more.
    WithoutStdin,
    /// No answer goes out any more.
    WithoutStdout,
}

/// Goes on as the same process, under the same process id, with `state` as its `--resume`. Returns only
/// when that fails.
#[cfg(unix)]
pub(super) fn be_reborn(how: Rebirth, state: String) -> io::Error {
    use std::os::unix::process::CommandExt;
    let resume = ["--resume".into(), state.into()];
    let command = match how {
        Rebirth::Stubborn => again(resume).map(|program| {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", r#"trap "" TERM INT HUP; exec "$0" "$@""#]);
            shell.arg(program.get_program()).args(program.get_args());
            shell
        }),
        Rebirth::WithoutStdin | Rebirth::WithoutStdout => again(resume),
    };
    match command {
        Ok(mut command) => match how {
            Rebirth::Stubborn => command.exec(),
            Rebirth::WithoutStdin => command.stdin(Stdio::null()).exec(),
            Rebirth::WithoutStdout => command.stdout(Stdio::null()).exec(),
        },
        Err(error) => error,
    }
}

#[cfg(not(unix))]
pub(super) fn be_reborn(_: Rebirth, _: String) -> io::Error {
    io::ErrorKind::Unsupported.into()
}

/// Standard input without a buffer of its own, so that what is not read stays in the pipe.
#[cfg(unix)]
pub(super) fn unbuffered_stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
pub(super) fn unbuffered_stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}
