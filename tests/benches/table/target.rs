//! What a row is to be held to.

use std::fmt;

/// The most that a value may be.
#[derive(Clone, Copy)]
pub(crate) struct Target(pub(crate) f64);

impl Target {
    /// The target, and whether this value meets it.
    pub(crate) fn verdict(self, value: f64) -> Verdict {
        Verdict { target: self.0, met: value <= self.0 }
    }
}

pub(crate) struct Verdict {
    target: f64,
    met: bool,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.met { "met" } else { "MISSED" };
        f.pad(&format!("≤ {} {word}", self.target))
    }
}
