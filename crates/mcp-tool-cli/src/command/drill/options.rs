//! What the subcommands take alike.

use clap::ValueEnum;
use mcp_tool_cli::{
    drill::{DrillFault, DrillHints, Transport},
    fault_server,
};

use crate::command::{nearest, problem::Problem};

/// Which protocol revisions the server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Era {
    /// `initialize`, up to 2025-11-25
    #[default]
    Legacy,
    /// 2026-07-28 only
    Modern,
    /// Both
    Dual,
}

impl Era {
    pub(super) fn of_server(self) -> fault_server::Era {
        match self {
            Self::Legacy => fault_server::Era::Legacy,
            Self::Modern => fault_server::Era::Modern,
            Self::Dual => fault_server::Era::Dual,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
            Self::Dual => "dual",
        }
    }
}

/// Reads the name of a fault.
pub(super) fn fault(name: &str) -> Result<DrillFault, String> {
    name.parse().map_err(|_| {
        let names: Vec<_> = DrillFault::ALL.into_iter().map(DrillFault::name).collect();
        match nearest::suggestion(name, names.iter().copied()) {
            meant if meant.is_empty() => format!("there is no such fault; there are {}", names.join(", ")),
            meant => format!("there is no such fault{meant}"),
        }
    })
}

/// Reads the name or the JSON of hints.
pub(super) fn hints(text: &str) -> Result<DrillHints, String> {
    text.parse().map_err(|error: mcp_tool_cli::drill::HintsError| {
        format!("{error}{}", nearest::suggestion(text, DrillHints::NAMES))
    })
}

/// A fault that cannot happen over a transport.
pub(super) fn impossible(fault: DrillFault, transport: Transport) -> Problem {
    let other = match transport {
        Transport::Stdio => "it needs HTTP",
        Transport::Http => "it needs stdio",
    };
    Problem::new(format!("{fault} cannot happen over {}: {other}", transport.name()))
}

/// The faults, a line each.
pub(super) fn faults() -> String {
    let line = |fault: DrillFault| {
        let over = match [Transport::Stdio, Transport::Http].map(|over| fault.is_possible_over(over)) {
            [true, true] => "both",
            [true, false] => "stdio",
            [false, _] => "http",
        };
        format!("  {:<20}  {over:<5}  {}\n", fault.name(), fault.about())
    };
    DrillFault::ALL.into_iter().map(line).collect()
}
