//! `mcp-tool drill report`.

use std::path::PathBuf;

use clap::Args;
use mcp_tool_cli::{
    drill::{Asked, Judgement, LedgerError, Said, Subject},
    fault_server::Ledger,
};

use super::{
    row::{self, Played},
    view::{self, Calls},
};
use crate::command::{
    exit::Exit,
    output::{self, Format},
    problem::Problem,
};

#[derive(Args)]
#[command(after_help = EXAMPLE, after_long_help = EXAMPLES)]
pub(crate) struct Options {
    /// The ledger that `drill serve` wrote
    ledger: PathBuf,
    /// The client's exit code: what it said of the call
    #[arg(long, value_name = "CODE")]
    said: Option<i32>,
    /// Show each call that the server read
    #[arg(long)]
    calls: bool,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t, value_name = "text|json", hide_possible_values = true)]
    output: Format,
}

const EXAMPLE: &str = "Example: mcp-tool drill report drill.jsonl --said 4";

const EXAMPLES: &str = "\
The ledger knows its fault and its hints. Without --said only what ran is
judged.

Exit codes: 1 `duplicate` or `false_not_executed`, 0 neither, 2 usage, or no
ledger of a drill.

Example: mcp-tool drill report drill.jsonl --said 4";

pub(crate) fn run(options: &Options) -> Exit {
    judged(options).unwrap_or_else(|problem| problem.tell())
}

fn judged(options: &Options) -> Result<Exit, Problem> {
    let about = |error: LedgerError| Problem::new(format!("{}: {error}", options.ledger.display()));
    // To the server, a ledger that is not there is an empty one.
    std::fs::metadata(&options.ledger).map_err(|error| about(error.into()))?;
    let record = Ledger::new(&options.ledger).read().map_err(|error| about(error.into()))?;
    let subject = Subject::of(&record).map_err(about)?;
    let said = options.said.map(|code| Said::of_exit_code(Some(code)));
    let judgement = Judgement::of(&subject, &record, Asked::OncePerKey, said);
    let row = Played { subject, record, said, exit_code: options.said, judgement, last_line: None };
    let calls = if options.calls { Calls::Shown } else { Calls::Hidden };
    output::write(&match options.output {
        Format::Text => view::text(std::slice::from_ref(&row), calls),
        Format::Json => format!("{}\n", view::row_json(&row)),
    })?;
    Ok(row::exit(std::slice::from_ref(&row)))
}
