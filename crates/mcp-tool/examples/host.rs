//! A host and a real server process: one lost connection on each side of the gate.
//!
//! `cargo run -p mcp-tool --all-features --example host`
//!
//! The server is this program, started again as `host serve LEDGER`. Each of its two tools does its work
//! and then, the first time, dies before it answers.

use std::{
    env,
    error::Error,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use mcp_tool::{Client, Outcome, PagingDiscovery, StdioConnector, ToolCall, Trust};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [command, ledger] if command == "serve" => serve(Path::new(ledger)),
        _ => {
            let ledger = Ledger::create()?;
            tokio::runtime::Runtime::new()?.block_on(host(&ledger))
        }
    }
}

async fn host(ledger: &Ledger) -> Result<(), Box<dyn Error>> {
    let server = StdioConnector::new(env::current_exe()?).arg("serve").arg(&ledger.0);
    let discovery = PagingDiscovery::new(server);
    // A real host reads its settings here; see `TrustSource`.
    let client = Client::with_discovery("notes", discovery.clone()).trust(Trust::BOTH).build();

    // Nothing says that appending twice is harmless, so a lost answer stays a lost answer.
    let call = ToolCall::new("append").with_argument("text", "buy milk");
    let error = client.call(call).await.expect_err("the server dies before it answers");
    println!("append: {error}");
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "unannotated"));
    assert_eq!(ledger.executions("append")?, 1);

    // The server is dead. The next call brings it back, and nobody has to notice.
    let call = ToolCall::new("put").with_argument("text", "buy milk");
    let answer = client.call(call).await?;
    println!("put: answered after {} attempts, {} of them a replay", answer.attempts, answer.replays);
    assert_eq!((answer.attempts, answer.replays, answer.earlier_unknown), (2, 1, true));
    assert_eq!(ledger.executions("put")?, 2);

    // The host has looked: the note is there. It calls again when it wants another one.
    let answer = client.call(ToolCall::new("append").with_argument("text", "buy bread")).await?;
    println!("append: answered after {} attempt", answer.attempts);
    assert_eq!((answer.attempts, answer.earlier_unknown), (1, false));
    assert_eq!(ledger.executions("append")?, 2);

    // Dropping the client ends the server, too; this waits until it has.
    println!("closed: {:?}", discovery.close().await);
    Ok(())
}

/// What the server has really done, one line per execution.
struct Ledger(PathBuf);

impl Ledger {
    fn create() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("mcp-tool-example-host-{}", std::process::id()));
        File::create(&path)?;
        Ok(Self(path))
    }

    fn executions(&self, tool: &str) -> io::Result<usize> {
        Ok(fs::read_to_string(&self.0)?.lines().filter(|line| *line == tool).count())
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // A file left in the temporary directory is no reason to fail.
        let _ = fs::remove_file(&self.0);
    }
}

/// An MCP server over stdio: a request per line in, an answer per line out.
fn serve(ledger: &Path) -> Result<(), Box<dyn Error>> {
    for line in io::stdin().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let Some(id) = request.get("id") else { continue };
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "notes", "version": "1.0.0" },
            }),
            Some("tools/list") => {
                let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
                json!({ "tools": [
                    { "name": "append", "inputSchema": schema },
                    { "name": "put", "inputSchema": schema, "annotations": { "idempotentHint": true } },
                ] })
            }
            Some("tools/call") => {
                let tool = request["params"]["name"].as_str().unwrap_or_default();
                writeln!(File::options().append(true).open(ledger)?, "{tool}")?;
                if fs::read_to_string(ledger)?.lines().filter(|line| *line == tool).count() == 1 {
                    std::process::exit(1);
                }
                json!({ "content": [] })
            }
            _ => {
                let error = json!({ "code": -32601, "message": "no such method" });
                println!("{}", json!({ "jsonrpc": "2.0", "id": id, "error": error }));
                continue;
            }
        };
        println!("{}", json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }
    Ok(())
}
