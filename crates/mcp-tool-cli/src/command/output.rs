use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;

use super::screen::visible;

/// What standard output carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for a person.
    #[default]
    Text,
    /// JSON for a program.
    Json,
}

/// Writes to standard output: into a pipe or a file as it is, on a terminal so that nothing of it can act.
/// A reader that has left wanted no more, which is no error.
pub(crate) fn write(text: &str) -> io::Result<()> {
    write_on(text).map(drop)
}

/// The same; false when nobody reads any more.
pub(crate) fn write_on(text: &str) -> io::Result<bool> {
    let mut stdout = io::stdout().lock();
    let written = if stdout.is_terminal() {
        stdout.write_all(visible(text).as_bytes())
    } else {
        stdout.write_all(text.as_bytes())
    };
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}
