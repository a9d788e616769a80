//! Runs a session: the tool calls of a model, and what the person in front of the host says to them, one
//! JSON object a line.
//!
//! `notes-host URL COMMAND [ARG…] < SESSION`
//!
//! The server at the URL is called `desk`, the one that is started `notes`.
//!
//! | line | |
//! |---|---|
//! | `{"trust": ["notes"], "workspace": true}` | what the user trusts from now on |
//! | `{"server": "notes", "tool": "put", "arguments": {…}}` | a call of the model |
//! | … `"confirm": true, "look": "ran"` | with what the person says, if asked: by default no, and that nothing can be told |
//! | … `"cancel": "at_progress"` | and gives it up as soon as it reports progress |
//!
//! Standard output has a line for each call: what the person was asked, and what the model was told.
//! Standard error is the operator's.

use std::{
    env,
    error::Error,
    io::{Write, stdin, stdout},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mcp_tool::{CancellationToken, HttpConnector, StdioConnector};
use notes_host::{Finding, Host, ModelCall, Operator, Person, Settings, Why};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let (Some(url), Some(command)) = (args.next(), args.next()) else {
        return Err("usage: notes-host URL COMMAND [ARG…] < SESSION".into());
    };
    let (operator, mut lines) = Operator::new();
    let operator = Arc::new(operator);
    let printing = tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            eprintln!("{line}");
        }
    });

    let settings = Arc::new(Settings::default());
    let person = Arc::new(Scripted::default());
    let mut host = Host::new(settings.clone(), operator.clone(), person.clone());
    host.add("notes", StdioConnector::new(command).args(args));
    host.add("desk", HttpConnector::new(&url)?);
    for (server, tools) in host.tools().await {
        let names = tools.map(|tools| tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>());
        say(&json!({"server": server, "tools": names.unwrap_or_default()}))?;
    }

    for line in stdin().lines() {
        let line: Value = serde_json::from_str(&line?)?;
        match line.get("tool") {
            Some(_) => say(&turn(&host, &person, &line).await?)?,
            None => trust(&host, &settings, &line),
        }
    }

    let fences = host.close().await;
    let closed: Vec<String> = fences.iter().map(|(name, fence)| format!("{name}: {fence:?}")).collect();
    say(&json!({"closed": closed, "in_doubt": operator.in_doubt()}))?;
    drop(operator);
    printing.await?;
    Ok(())
}

/// One call of the model.
async fn turn(host: &Host<Scripted>, person: &Scripted, line: &Value) -> Result<Value, Box<dyn Error>> {
    let text = |field: &str| line[field].as_str().unwrap_or_default();
    let cancellation = CancellationToken::new();
    *person.now() = Now { line: line.clone(), cancellation: cancellation.clone(), ..Now::default() };
    let arguments = line.get("arguments").map(Value::to_string).unwrap_or_default();
    let told = match ModelCall::new(text("server"), text("tool"), &arguments) {
        Ok(call) => host.call(&call, &cancellation).await,
        Err(told) => told,
    };
    let now = person.now();
    Ok(json!({"asked": now.asked, "progress": now.progress, "told": serde_json::to_value(told)?}))
}

fn trust(host: &Host<Scripted>, settings: &Settings, line: &Value) {
    settings.set_workspace(line["workspace"] == true);
    for server in ["notes", "desk"] {
        let trusted = line["trust"].as_array().is_some_and(|names| names.contains(&json!(server)));
        if let Some(identity) = host.identity(server) {
            settings.set_server(identity, trusted);
        }
    }
}

fn say(value: &Value) -> std::io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{value}")?;
    out.flush()
}

/// A person who says what the session's line says.
#[derive(Default)]
struct Scripted(Mutex<Now>);

#[derive(Default)]
struct Now {
    line: Value,
    cancellation: CancellationToken,
    asked: Vec<String>,
    progress: u32,
}

impl Scripted {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Person for Scripted {
    async fn confirm(&self, call: &ModelCall, why: &Why) -> bool {
        let mut now = self.now();
        now.asked.push(match why {
            Why::Untrusted => format!("May {} of {} run?", call.tool, call.server),
            Why::InDoubt => format!("{} may have run already. Run it again?", call.tool),
            Why::TrustWithdrawn => format!("{} has not run, and is not trusted any more. Run it?", call.tool),
            Why::ToolChanged(_) => format!("{} has not run, and is now another tool. Run it?", call.tool),
        });
        now.line["confirm"] == true
    }

    async fn look(&self, call: &ModelCall, code: &str) -> Finding {
        let mut now = self.now();
        now.asked
            .push(format!("{} of {} may have run ({code}). Please look: did it?", call.tool, call.server));
        match now.line["look"].as_str() {
            Some("ran") => Finding::Ran,
            Some("did_not_run") => Finding::DidNotRun,
            _ => Finding::CannotTell,
        }
    }

    fn progress(&self, _: f64, _: Option<f64>) {
        let mut now = self.now();
        now.progress += 1;
        if now.line["cancel"] == "at_progress" {
            now.cancellation.cancel();
        }
    }
}
