//! `mcp-tool watch`.

use std::{sync::Arc, time::Duration};

use clap::Args;
use mcp_tool::{
    ServerEntry, Servers,
    mcp_discovery::{DownReason, State, Status},
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{
    exit::Exit,
    interrupt::{Interruption, until_interrupted},
    log::{Log, Logged, Verbosity},
    output::{self, Format},
    problem::Problem,
    screen::Screen,
    server::{Listed, ServerOptions},
};

#[derive(Args)]
#[command(after_help = EXAMPLE, after_long_help = EXAMPLES)]
pub(crate) struct Options {
    /// What standard output carries
    ///
    /// A line for each change of a server's status.
    #[arg(long, value_enum, default_value_t, value_name = "text|json", hide_possible_values = true)]
    output: Format,
    /// Tell the connections; twice for more
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(flatten)]
    server: ServerOptions,
}

const EXAMPLE: &str = "Example: mcp-tool watch --server files";

const EXAMPLES: &str = "\
Without a server, every server of the configuration is started and watched. No
tool is called.

Exit codes: 0 nobody reads the output any more, 2 usage or configuration, 130
ended by Ctrl-C.

Examples:
  mcp-tool watch
  mcp-tool watch --output json --server files";

/// How long the servers get to end.
const ENDING: Duration = Duration::from_secs(20);

pub(crate) fn run(options: Options) -> Exit {
    let screen = Arc::new(Screen::stderr());
    let Options { output, verbose, server } = options;
    let log = Log::new(screen.clone(), Verbosity::of(verbose));
    let none_configured = server.none_configured();
    server
        .one_or_all(&screen)
        .and_then(|listed| {
            if listed.is_empty() {
                return Err(Problem::new(none_configured));
            }
            let entries = entries(listed, &screen, &log)?;
            until_interrupted(&screen, |interruption| watch(entries, output, interruption, &screen))
        })
        .unwrap_or_else(|problem| problem.tell())
}

/// The servers that can be started; what is wrong with the others is told.
fn entries(listed: Vec<Listed>, screen: &Screen, log: &Log) -> Result<Vec<ServerEntry>, Problem> {
    let mut entries = Vec::new();
    for Listed { name, server } in listed {
        match server {
            Ok(server) => {
                let connector = Logged { connector: server.reach.connector(), log: log.about(&name) };
                entries.push(ServerEntry::new(name, connector).with_filter(server.tools));
            }
            Err(problem) => screen.line(&format!("{problem}; it is left out")),
        }
    }
    match entries.is_empty() {
        true => Err(Problem::new("there is no server left to watch")),
        false => Ok(entries),
    }
}

async fn watch(
    entries: Vec<ServerEntry>,
    output: Format,
    interruption: Interruption,
    screen: &Screen,
) -> Result<Exit, Problem> {
    let began = Instant::now();
    let servers = Servers::builder().build();
    servers.apply(entries).await;
    let width = servers.all().iter().map(|server| server.name().chars().count()).max().unwrap_or_default();
    let (tell, mut changes) = mpsc::channel(64);
    let mut watching = JoinSet::new();
    for server in servers.all() {
        let (mut status, tell) = (server.supervision().watch(), tell.clone());
        watching.spawn(async move {
            while status.changed().await.is_ok() {
                let now = status.borrow_and_update().clone();
                if tell.send((server.name().to_owned(), now)).await.is_err() {
                    break;
                }
            }
        });
    }
    let told = async {
        let mut starting = std::pin::pin!(servers.connect_all());
        let mut started = false;
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                // What came of it, the statuses tell.
                _ = &mut starting, if !started => {
                    started = true;
                    continue;
                }
            };
            let Some((name, status)) = change else { return Ok(Exit::Completed) };
            let after = began.elapsed();
            let line = match output {
                Format::Text => text(&name, &status, after, width),
                Format::Json => json(&name, &status, after).to_string(),
            };
            if !output::write_on(&format!("{line}\n"))? {
                return Ok(Exit::Completed);
            }
        }
    };
    let exit = tokio::select! {
        biased;
        () = interruption.token.cancelled() => Ok(Exit::Cancelled),
        exit = told => exit,
    };
    for late in servers.shut_down(ENDING).await {
        screen.line(&format!("server `{late}` has not ended yet"));
    }
    exit
}

fn text(name: &str, status: &Status, after: Duration, width: usize) -> String {
    let name = name.replace(['\n', '\r'], " ");
    let (seconds, state) = (after.as_secs_f64(), status.state.code());
    let more = match status.state {
        State::Ready => {
            let tools = match status.tools {
                1 => "1 tool".to_owned(),
                tools => format!("{tools} tools"),
            };
            let aside = match status.quarantined {
                0 => String::new(),
                quarantined => format!(", {quarantined} set aside as malformed"),
            };
            let restarts = match status.restarts {
                0 => String::new(),
                restarts => format!(", restarts: {restarts}"),
            };
            format!("{tools}{aside}{restarts}")
        }
        State::Degraded => "it does not answer".into(),
        State::Down { reason, next_try } => format!("{}, {}", why(reason), when(next_try)),
        State::Connecting if status.restarts > 0 => format!("start {}", status.restarts + 1),
        State::Connecting | State::Stopped => String::new(),
    };
    format!("{seconds:>9.3} s  {name:<width$}  {state:<10}  {more}").trim_end().to_owned()
}

fn why(reason: DownReason) -> &'static str {
    match reason {
        DownReason::NotStarted => "not started yet",
        DownReason::ConnectionLost => "its connection has ended",
        DownReason::Unresponsive => "it did not answer any more",
        DownReason::NotReached => "it could not be started or reached (-v says more)",
        DownReason::Misconfigured => "its command does not exist or may not be run, or TLS fails",
        DownReason::NotListed => "its tools could not be listed",
        DownReason::Parked => "it was started too often",
        other => other.code(),
    }
}

fn when(next_try: Option<Instant>) -> String {
    match next_try.map(|at| at.saturating_duration_since(Instant::now())) {
        None => "not tried again by itself".into(),
        Some(Duration::ZERO) => "tried again now".into(),
        Some(pause) => format!("tried again in {:.1} s", pause.as_secs_f64()),
    }
}

fn json(name: &str, status: &Status, after: Duration) -> Value {
    let (reason, next_try) = match status.state {
        State::Down { reason, next_try } => (Some(reason.code()), next_try),
        _ => (None, None),
    };
    let next_try = next_try.map(|at| at.saturating_duration_since(Instant::now()).as_secs_f64());
    json!({
        "seconds": after.as_secs_f64(),
        "server": name,
        "state": status.state.code(),
        "reason": reason,
        "next_try_seconds": next_try,
        "tools": status.tools,
        "quarantined": status.quarantined,
        "generation": status.generation.map(|generation| generation.get()),
        "restarts": status.restarts,
    })
}
