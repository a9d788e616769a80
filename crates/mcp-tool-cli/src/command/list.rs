//! `mcp-tool list`.

mod table;
mod view;

use std::{sync::Arc, time::Duration};

use clap::Args;
use mcp_tool::{CancellationToken, mcp_discovery::ToolName};
use tokio::{task::JoinSet, time::Instant};

use self::view::{Failure, ServerView};
use super::{
    duration,
    exit::Exit,
    interrupt::until_interrupted,
    log::{Log, Verbosity},
    output::{self, Format},
    policy::PolicyOptions,
    screen::Screen,
    server::{Listed, Server, ServerOptions},
    session::Session,
};

#[derive(Args)]
#[command(after_help = EXAMPLE, after_long_help = EXAMPLES)]
pub(crate) struct Options {
    /// The time for each server
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "60s")]
    timeout: Duration,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t, value_name = "text|json", hide_possible_values = true)]
    output: Format,
    /// Show descriptions and input schemas, too
    #[arg(long)]
    schema: bool,
    /// Tell the connections; twice for more
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(flatten, next_help_heading = "Safety")]
    policy: PolicyOptions,
    #[command(flatten)]
    server: ServerOptions,
}

const EXAMPLE: &str = "Example: mcp-tool list --server files";

const EXAMPLES: &str = "\
Without a server, every server of the configuration is listed.

Exit codes: 0 all were listed, 2 usage or configuration, 3 a server could not be
listed, 130 cancelled.

Examples:
  mcp-tool list
  mcp-tool list --server files --trust-server --trust-workspace
  mcp-tool list --schema --server files
  mcp-tool list --output json -- npx -y some-server";

pub(crate) fn run(options: Options) -> Exit {
    let screen = Arc::new(Screen::stderr());
    let Options { timeout, output, schema, verbose, policy, server } = options;
    let detail = if schema { Detail::Schemas } else { Detail::Hints };
    let log = Log::new(screen.clone(), Verbosity::of(verbose));
    let none_configured = server.none_configured();
    server
        .one_or_all(&screen)
        .and_then(|servers| {
            if servers.is_empty() {
                screen.line(&none_configured);
            }
            until_interrupted(&screen, |interruption| async move {
                let views = look(servers, timeout, &policy, &log, &interruption.token).await;
                let text = match output {
                    Format::Text => table::of(&views, detail),
                    Format::Json => format!("{}\n", view::json(&views, detail)),
                };
                output::write(&text)?;
                if output == Format::Text {
                    tell_failures(&views, log.screen());
                }
                Ok(exit(&views))
            })
        })
        .unwrap_or_else(|problem| problem.tell())
}

/// Looks at all servers at once, and tells them in their order.
async fn look(
    servers: Vec<Listed>,
    timeout: Duration,
    policy: &PolicyOptions,
    log: &Log,
    token: &CancellationToken,
) -> Vec<ServerView> {
    let until = Instant::now() + timeout;
    let several = servers.len() > 1;
    let mut looking = JoinSet::new();
    let mut views: Vec<Option<ServerView>> = Vec::new();
    let names: Vec<_> = servers.iter().map(|listed| listed.name.clone()).collect();
    for (place, Listed { name, server }) in servers.into_iter().enumerate() {
        views.push(None);
        let log = if several { log.about(&name) } else { log.clone() };
        let (policy, token) = (policy.clone(), token.clone());
        looking.spawn(async move {
            let view = match server {
                Ok(server) => look_at(name, server, until, &policy, log, &token).await,
                Err(problem) => ServerView::failed(name, Failure::Problem(problem)),
            };
            (place, view)
        });
    }
    loop {
        let waited_for = names.iter().zip(&views).filter(|(_, view)| view.is_none()).map(|(name, _)| &**name);
        log.screen().status(&waiting(waited_for, names.len()));
        match looking.join_next().await {
            Some(Ok((place, view))) => views[place] = Some(view),
            Some(Err(_)) => {}
            None => break,
        }
    }
    log.screen().clear();
    views.into_iter().flatten().collect()
}

async fn look_at(
    name: String,
    server: Server,
    until: Instant,
    policy: &PolicyOptions,
    log: Log,
    token: &CancellationToken,
) -> ServerView {
    let trust = policy.trust(server.trust);
    let (now, allowed) = (trust.now(), server.tools.clone());
    let session = Session::open(server, policy, trust, log);
    let view = match session.list(until, token).await {
        Ok(listing) => ServerView::listed(name, &listing, now, &allowed, &policy.policy()),
        Err(unlisted) => ServerView::failed(name, unlisted.into()),
    };
    session.close().await;
    view
}

/// Which servers are still being started and listed, in one line of a terminal.
fn waiting<'a>(names: impl Iterator<Item = &'a str>, all: usize) -> String {
    const WIDTH: usize = 79;
    let names: Vec<_> = names.map(|name| name.replace(['\n', '\r'], " ")).collect();
    let line = format!("{} of {all} servers; waiting for {}", all - names.len(), names.join(", "));
    match line.char_indices().nth(WIDTH) {
        None => line,
        Some(_) => line.chars().take(WIDTH - 1).chain(['…']).collect(),
    }
}

/// How much is told of each tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// Its hints, and what they lead to.
    Hints,
    /// Its description and its input schema, too.
    Schemas,
}

fn tell_failures(views: &[ServerView], screen: &Screen) {
    for view in views {
        if let Some(failure) = view.failure() {
            screen.line(&format!("{}: {}", ToolName::from(view.name.as_str()), failure.line()));
        }
    }
}

/// A server that failed does not hide the others, but shows here.
fn exit(views: &[ServerView]) -> Exit {
    let exits = views.iter().filter_map(ServerView::failure).map(|failure| match failure {
        Failure::Problem(_) => Exit::Problem,
        Failure::Unlisted { .. } => Exit::NotExecuted,
        Failure::Cancelled => Exit::Cancelled,
    });
    // The one with the highest number says the most.
    exits.max_by_key(|exit| *exit as u8).unwrap_or(Exit::Completed)
}
