use std::{env, io};

use mcp_tool_cli::demo::{self, Server, Verdict};

use super::{exit::Exit, problem::Problem};

pub(super) fn run() -> Exit {
    let shown = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let server = Server::new(env::current_exe()?).arg("fault-server");
        runtime.block_on(demo::run(&server, &mut io::stdout().lock()))
    };
    match shown() {
        Ok(Verdict::Held) => Exit::Completed,
        Ok(Verdict::Broken) => Exit::ErrorAnswer,
        Err(error) => Problem::new(format!("the demo cannot run: {error}")).tell(),
    }
}
