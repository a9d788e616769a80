//! What the matrices have in common: the facts of a row besides its fault.

use std::fmt;

use mcp_tool::replay_policy;
use mcp_tool_cli::fault_server::{self, ToolSpec};
use serde_json::{Value, json};

/// One row of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<F> {
    /// What goes wrong.
    pub(crate) fault: F,
    pub(crate) hints: Hints,
    pub(crate) trust: Trust,
    pub(crate) path: Path,
    pub(crate) era: Era,
}

impl<F: fmt::Debug> fmt::Display for Row<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, hints, trust, path, era } = self;
        write!(f, "{fault:?}-{hints:?}-{trust:?}-{path:?}-{era:?}")
    }
}

/// Every row over these axes and both paths.
pub(crate) fn product<F: Copy>(faults: &[F], hints: &[Hints], trust: &[Trust], era: Era) -> Vec<Row<F>> {
    let mut rows = Vec::new();
    for &fault in faults {
        for &hints in hints {
            for &trust in trust {
                rows.extend(Path::ALL.map(|path| Row { fault, hints, trust, path, era }));
            }
        }
    }
    rows
}

/// What the server declares of its tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hints {
    /// No annotations.
    None,
    /// `{}`.
    Empty,
    Idempotent,
    ReadOnly,
    NotIdempotent,
    ReadOnlyDestructive,
    ReadOnlyNotIdempotent,
    /// A string for a boolean.
    WrongType,
    /// A number for a boolean, beside a good one.
    HalfWrongType,
}

impl Hints {
    pub(crate) const ALL: [Self; 9] = [
        Self::None,
        Self::Empty,
        Self::Idempotent,
        Self::ReadOnly,
        Self::NotIdempotent,
        Self::ReadOnlyDestructive,
        Self::ReadOnlyNotIdempotent,
        Self::WrongType,
        Self::HalfWrongType,
    ];

    /// The tool `put` with these hints.
    pub(crate) fn tool(self) -> ToolSpec {
        match self.annotations() {
            Some(annotations) => ToolSpec::new("put").annotations(annotations),
            None => ToolSpec::new("put"),
        }
    }

    fn annotations(self) -> Option<Value> {
        Some(match self {
            Self::None => return None,
            Self::Empty => json!({}),
            Self::Idempotent => json!({"idempotentHint": true}),
            Self::ReadOnly => json!({"readOnlyHint": true}),
            Self::NotIdempotent => json!({"idempotentHint": false}),
            Self::ReadOnlyDestructive => json!({"readOnlyHint": true, "destructiveHint": true}),
            Self::ReadOnlyNotIdempotent => json!({"readOnlyHint": true, "idempotentHint": false}),
            Self::WrongType => json!({"idempotentHint": "true"}),
            Self::HalfWrongType => json!({"readOnlyHint": true, "idempotentHint": 1}),
        })
    }
}

/// Who is trusted when the call begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    Nobody,
    Server,
    Workspace,
    Both,
}

impl Trust {
    pub(crate) const ALL: [Self; 4] = [Self::Nobody, Self::Server, Self::Workspace, Self::Both];

    /// What a policy is told once this has been withdrawn, if anything was.
    pub(crate) fn without(self, withdrawn: Option<Withdrawn>) -> replay_policy::Trust {
        let server = matches!(self, Self::Server | Self::Both) && withdrawn != Some(Withdrawn::Server);
        let workspace =
            matches!(self, Self::Workspace | Self::Both) && withdrawn != Some(Withdrawn::Workspace);
        match (server, workspace) {
            (false, false) => replay_policy::Trust::NONE,
            (true, false) => replay_policy::Trust::NONE.with_trusted_server(),
            (false, true) => replay_policy::Trust::NONE.with_trusted_workspace(),
            (true, true) => replay_policy::Trust::BOTH,
        }
    }
}

/// Who is no longer trusted in the middle of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Withdrawn {
    Server,
    Workspace,
}

/// Which way a call takes to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// Through this project's own connector.
    Direct,
    /// Through closures of a host.
    Callable,
}

impl Path {
    pub(crate) const ALL: [Self; 2] = [Self::Direct, Self::Callable];
}

/// Which handshake the server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Era {
    pub(crate) fn of_server(self) -> fault_server::Era {
        match self {
            Self::Legacy => fault_server::Era::Legacy,
            Self::Modern => fault_server::Era::Modern,
        }
    }
}
