//! `mcp-tool drill`.

mod client;
mod front;
mod options;
mod report;
mod row;
mod run;
mod serve;
mod template;
mod view;

use clap::{Args, Subcommand};

use super::exit::Exit;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  mcp-tool drill run --client 'python client.py {config} {tool} {arguments}'
  mcp-tool drill serve --fault die-after-commit --ledger drill.jsonl
  mcp-tool drill report drill.jsonl";

#[derive(Subcommand)]
enum Command {
    /// Drives a client through every fault, and judges it
    Run(Box<run::Options>),
    /// Is an MCP server that fails once, and keeps a ledger of what ran
    Serve(Box<serve::Options>),
    /// Judges the ledger of a server that `drill serve` was
    Report(report::Options),
}

pub(crate) fn run(options: Options) -> Exit {
    match options.command {
        Command::Run(options) => run::run(*options),
        Command::Serve(options) => serve::run(*options),
        Command::Report(options) => report::run(&options),
    }
}
