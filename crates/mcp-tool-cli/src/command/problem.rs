use std::fmt;

use super::{exit::Exit, screen::Screen};

/// Usage or configuration: one line on standard error, exit code 2. Nothing was sent.
#[derive(Debug)]
pub(crate) struct Problem(String);

impl Problem {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// What clap says, as one line.
    pub(crate) fn usage(error: &clap::Error) -> Self {
        let text = error.to_string();
        let said = text.split("\n\nUsage:").next().unwrap_or(&text);
        let said = said.split("\n\nFor more information").next().unwrap_or(said);
        let said = said.trim().trim_start_matches("error: ");
        // After -- comes a server here, so this advice would start one.
        let advises_dashes = |line: &&str| line.starts_with("tip: to pass '") && line.contains(" as a value");
        let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        let line: Vec<_> = lines.filter(|line| !advises_dashes(line)).collect();
        Self(format!("{} (see --help)", line.join(" ").replace(" tip: ", "; ")))
    }

    /// Says so on standard error.
    pub(crate) fn tell(&self) -> Exit {
        Screen::stderr().line(&self.to_string());
        Exit::Problem
    }
}

impl fmt::Display for Problem {
    /// One line, whatever a file or a server wrote into it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.replace(['\n', '\r'], " "))
    }
}

impl<E: std::error::Error> From<E> for Problem {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
