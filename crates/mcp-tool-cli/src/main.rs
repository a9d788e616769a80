//! The command `mcp-tool`.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
