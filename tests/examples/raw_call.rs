//! What `mcp-tool call` is compared with: calls one tool of a server through rmcp alone and prints the result.
//!
//! `raw_call TOOL ARGUMENTS COMMAND [ARGUMENT]…`

use std::{env, error::Error};

use mcp_tool::rmcp::{model::CallToolRequestParams, serve_client, transport::TokioChildProcess};
use tokio::process::Command;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut given = env::args().skip(1);
    let mut next = || given.next().ok_or("usage: raw_call TOOL ARGUMENTS COMMAND [ARGUMENT]…");
    let (tool, arguments, program) = (next()?, next()?, next()?);
    let mut command = Command::new(program);
    command.args(given);
    let service = serve_client((), TokioChildProcess::new(command)?).await?;
    let params = CallToolRequestParams::new(tool).with_arguments(serde_json::from_str(&arguments)?);
    let result = service.peer().call_tool(params).await?;
    println!("{}", serde_json::to_string(&result)?);
    service.cancel().await?;
    Ok(())
}
