//! The command `mcp-tool`.
use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    match args.next() {
        Some(command) if command == "fault-server" => mcp_tool_cli::fault_server::main_with_args(args),
        _ => ExitCode::SUCCESS,
    }
}
