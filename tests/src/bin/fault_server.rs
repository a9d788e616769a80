//! The fault server as a program of its own, for the tests.
use std::{env, process::ExitCode};

fn main() -> ExitCode {
    mcp_tool_cli::fault_server::main_with_args(env::args_os().skip(1))
}
