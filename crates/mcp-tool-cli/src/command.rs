//! What the command line says, and who does it.

mod call;
mod demo;
mod duration;
mod exit;
mod explain;
mod interrupt;
mod list;
mod log;
mod nearest;
mod output;
mod policy;
mod problem;
mod progress;
mod schema;
mod screen;
mod server;
mod session;
mod trust;

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand, error::ErrorKind};
use mcp_tool_cli::fault_server;

use self::problem::Problem;

/// Calls tools of MCP servers without ever running a write twice by accident.
#[derive(Parser)]
#[command(name = "mcp-tool", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  mcp-tool demo
  mcp-tool list
  mcp-tool call echo --arg message=hi -- npx -y @modelcontextprotocol/server-everything";

#[derive(Subcommand)]
enum Command {
    /// Loses connections to an embedded server on purpose and shows what each loss did (the default)
    Demo,
    /// Lists tools, their hints, and what a lost connection would lead to for each
    List(Box<list::Options>),
    /// Calls one tool, and says what is known when there is no answer
    Call(Box<call::Options>),
    /// Keeps the list of trusted workspace folders
    Trust(trust::Options),
    /// The embedded server, which fails on demand
    #[command(hide = true, disable_help_flag = true)]
    FaultServer {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(told) if matches!(told.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            // Nobody reads it, then.
            let _ = told.print();
            return ExitCode::SUCCESS;
        }
        Err(wrong) => return Problem::usage(&wrong).tell().into(),
    };
    match arguments.command.unwrap_or(Command::Demo) {
        Command::Demo => demo::run().into(),
        Command::List(options) => list::run(*options).into(),
        Command::Call(options) => call::run(*options).into(),
        Command::Trust(options) => trust::run(options).into(),
        Command::FaultServer { arguments } => fault_server::main_with_args(arguments),
    }
}
