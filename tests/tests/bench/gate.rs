//! The rule of the gate, as it is written, for the oracles of both matrices. Knows nothing of the crates
//! under test.

use crate::axes::{Hints, Trust};

/// What a caller gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A text of this many bytes.
    Result(usize),
    /// A result with `isError`.
    ErrorResult,
    JsonRpcError,
    NotExecuted(&'static str),
    Unknown(&'static str),
}

/// The whole of a good answer's text.
pub(crate) const RAN: End = End::Result("put ran".len());

/// Why a call that may have run may not run again; none when it may.
pub(crate) fn denial(hints: Hints, trust: Trust) -> Option<&'static str> {
    match trust {
        Trust::Nobody | Trust::Workspace => return Some("server_untrusted"),
        Trust::Server => return Some("workspace_untrusted"),
        Trust::Both => {}
    }
    match hints {
        Hints::Idempotent | Hints::ReadOnly => None,
        Hints::None | Hints::Empty => Some("unannotated"),
        Hints::NotIdempotent => Some("not_declared_safe"),
        Hints::ReadOnlyDestructive | Hints::ReadOnlyNotIdempotent => Some("contradictory_hints"),
        Hints::WrongType | Hints::HalfWrongType => Some("malformed_hints"),
    }
}
