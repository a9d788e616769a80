//! What the command line says, and who does it.

mod call;
mod demo;
mod duration;
mod exit;
mod explain;
mod interrupt;
mod log;
mod policy;
mod problem;
mod progress;
mod screen;
mod server;

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
  mcp-tool call echo --arg message=hi -- npx -y @modelcontextprotocol/server-everything";

#[derive(Subcommand)]
enum Command {
    /// Loses connections to an embedded server on purpose and shows what each loss did (the default)
    Demo,
    /// Calls one tool, and says what is known when there is no answer
    Call(Box<call::Options>),
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
        Command::Call(options) => call::run(*options).into(),
        Command::FaultServer { arguments } => fault_server::main_with_args(arguments),
    }
}
