//! `mcp-tool drill serve`.

use std::{env, io, net::TcpListener, path::PathBuf, sync::Arc};

use clap::Args;
use mcp_tool_cli::{
    drill::{DrillFault, DrillHints, Subject, Transport},
    fault_server::{Ledger, Scenario},
};

use super::{
    front::Front,
    options::{self, Era},
};
use crate::command::{
    exit::Exit,
    interrupt::{Interruption, until_interrupted},
    output,
    problem::Problem,
    screen::Screen,
};

#[derive(Args)]
#[command(after_help = EXAMPLE, after_long_help = examples())]
pub(crate) struct Options {
    /// What goes wrong, once (--help or --faults lists all)
    #[arg(long, value_name = "NAME", default_value = "none", value_parser = options::fault)]
    fault: DrillFault,
    /// none, read-only, idempotent, destructive, contradictory or JSON
    ///
    /// What the tool declares of itself; the JSON is that of its annotations.
    #[arg(long, value_name = "HINTS", default_value = "none", value_parser = options::hints)]
    hints: DrillHints,
    /// Where the server writes what it read and ran
    ///
    /// It is synced to disk before anything is answered, and made if it is not there. A server that is started again goes
    /// on with it.
    #[arg(long, value_name = "FILE", required_unless_present = "faults")]
    ledger: Option<PathBuf>,
    /// Serve over Streamable HTTP instead of stdio
    ///
    /// On the loopback interface; without a port on a free one. The URL is the one line on standard output. The server
    /// is started again whenever it has died, until Ctrl-C.
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    http: Option<u16>,
    /// Which protocol revisions it speaks
    #[arg(long, value_enum, default_value_t, value_name = "ERA", hide_short_help = true)]
    era: Era,
    /// List the faults
    #[arg(long, exclusive = true)]
    faults: bool,
}

const EXAMPLE: &str = "\
Examples:
  mcp-tool drill serve --fault die-after-commit --ledger drill.jsonl
  mcp-tool drill serve --http --fault 502 --hints idempotent --ledger a.jsonl";

fn examples() -> String {
    format!(
        "\
The one tool is `write`, with `key` and `value`. It does nothing but to be
entered in the ledger. The fault strikes the first call; later ones are served.

Faults, the transports over which they can happen, and what the server does:
{}
{EXAMPLE}",
        options::faults()
    )
}

pub(crate) fn run(options: Options) -> Exit {
    if options.faults {
        return match output::write(&options::faults()) {
            Ok(()) => Exit::Completed,
            Err(error) => Problem::from(error).tell(),
        };
    }
    served(options).unwrap_or_else(|problem| problem.tell())
}

fn served(options: Options) -> Result<Exit, Problem> {
    let Options { fault, hints, ledger, http, era, .. } = options;
    let transport = if http.is_some() { Transport::Http } else { Transport::Stdio };
    if !fault.is_possible_over(transport) {
        return Err(options::impossible(fault, transport));
    }
    if let Some(port) = http {
        free(port)?;
    }
    let path = ledger.unwrap_or_default();
    // A client may start the server again from elsewhere.
    let ledger = Ledger::new(std::path::absolute(&path)?);
    let subject = Subject { transport, fault, hints };
    subject.enter(&ledger).map_err(|error| Problem::new(format!("--ledger {}: {error}", path.display())))?;
    let scenario = fault.scenario(transport, &subject.hints, era.of_server());
    match http {
        None => over_stdio(&scenario, &ledger),
        Some(port) => {
            let screen = Arc::new(Screen::stderr());
            until_interrupted(&screen, |interruption| over_http(scenario, ledger, port, interruption))
        }
    }
}

/// Becomes the fault server: it is started again, for some faults, with the arguments that it has.
#[cfg(unix)]
fn over_stdio(scenario: &Scenario, ledger: &Ledger) -> Result<Exit, Problem> {
    use std::os::unix::process::CommandExt;
    let mut server = std::process::Command::new(env::current_exe()?);
    Err(server.arg("fault-server").args(scenario.to_args(ledger.path())).exec().into())
}

#[cfg(not(unix))]
fn over_stdio(scenario: &Scenario, ledger: &Ledger) -> Result<Exit, Problem> {
    let mut server = std::process::Command::new(env::current_exe()?);
    let status = server.arg("fault-server").args(scenario.to_args(ledger.path())).status()?;
    Ok(if status.success() { Exit::Completed } else { Exit::ErrorAnswer })
}

/// Says at once if a port is taken.
fn free(port: u16) -> Result<(), Problem> {
    let taken = |error: io::Error| Problem::new(format!("--http {port}: {error}"));
    TcpListener::bind(("127.0.0.1", port)).map(drop).map_err(taken)
}

async fn over_http(
    scenario: Scenario,
    ledger: Ledger,
    port: u16,
    interruption: Interruption,
) -> Result<Exit, Problem> {
    let mut front = Front::start(&scenario, &ledger, port).await?;
    output::write(&format!("{}\n", front.url()))?;
    let ended = tokio::select! {
        () = interruption.token.cancelled() => Ok(Exit::Cancelled),
        error = front.keep() => Err(error.into()),
    };
    front.end().await;
    ended
}
