//! The command `mcp-tool`.

use std::{env, ffi::OsString, io, process::ExitCode};

use clap::{Parser, Subcommand};
use mcp_tool_cli::{demo, fault_server};

/// Calls tools of MCP servers without ever running a write twice by accident.
#[derive(Parser)]
#[command(name = "mcp-tool", version, after_help = "Example:\n  mcp-tool demo")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Loses connections to an embedded server on purpose and shows what each loss did (the default)
    Demo,
    /// The embedded server, which fails on demand
    #[command(hide = true, disable_help_flag = true)]
    FaultServer {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command.unwrap_or(Command::Demo) {
        Command::Demo => run_demo(),
        Command::FaultServer { arguments } => fault_server::main_with_args(arguments),
    }
}

fn run_demo() -> ExitCode {
    let shown = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let server = demo::Server::new(env::current_exe()?).arg("fault-server");
        runtime.block_on(demo::run(&server, &mut io::stdout().lock()))
    };
    match shown() {
        Ok(demo::Verdict::Held) => ExitCode::SUCCESS,
        Ok(demo::Verdict::Broken) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mcp-tool: the demo cannot run: {error}");
            ExitCode::from(2)
        }
    }
}
