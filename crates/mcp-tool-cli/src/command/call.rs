//! `mcp-tool call`.

mod attachments;
mod dry_run;
mod ending;
mod input;
mod report;
mod text;
mod unique;

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use mcp_tool::{
    CancellationToken, Reason, ToolCall, ToolHandle, Trust,
    mcp_discovery::{Quarantined, ToolName},
    mcp_transport::{DEFAULT_DEADLINE, DEFAULT_IDLE_TIMEOUT},
    rmcp::model::JsonObject,
};
use mcp_tool_cli::{
    config::ToolFilter,
    json_schema::{self, Fit},
};

use self::{
    input::InputOptions,
    report::{Ended, Report},
};
use super::{
    after_loss, duration,
    exit::Exit,
    interrupt::{Interruption, until_interrupted},
    log::{Log, Verbosity},
    nearest,
    output::Format,
    policy::PolicyOptions,
    problem::Problem,
    progress::Progress,
    screen::Screen,
    server::{Server, ServerOptions},
    session::{Listing, Session, Unlisted},
};

#[derive(Args)]
#[command(after_help = EXAMPLE, after_long_help = EXAMPLES)]
pub(crate) struct Options {
    /// The tool's exact name
    tool: String,
    #[command(flatten)]
    input: InputOptions,
    /// The time for all of it [default: 600s]
    ///
    /// For connecting, every attempt and reconnecting. A configured server may have a default of its own.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// The time without an answer and without progress [default: 300s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, hide_short_help = true)]
    idle_timeout: Option<Duration>,
    /// What standard output carries
    ///
    /// The content of the result, or one JSON object for every outcome.
    #[arg(long, value_enum, default_value_t, value_name = "text|json", hide_possible_values = true)]
    output: Format,
    /// Save what is no text in this folder
    ///
    /// Images, sounds and binary data of the result, with text output. No file is written over.
    #[arg(long, value_name = "DIR")]
    save_dir: Option<PathBuf>,
    /// Show the request and the verdict; call nothing
    ///
    /// The verdict is what the policy would say if the tool may have run and its answer were lost.
    #[arg(long)]
    dry_run: bool,
    /// Tell the decisions; twice for more
    ///
    /// On standard error, and nothing of arguments or results.
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(flatten, next_help_heading = "Safety")]
    policy: PolicyOptions,
    #[command(flatten)]
    server: ServerOptions,
}

const EXAMPLE: &str = "Example: mcp-tool call echo --arg message=hi -- npx -y some-server";

const EXAMPLES: &str = "\
Exit codes: 0 completed, 1 completed with an error, 2 usage or configuration,
3 not executed (safe to run again), 4 outcome unknown (verify before running
again), 130 cancelled.

Examples:
  mcp-tool call echo --arg message=hi -- npx -y some-server
  mcp-tool call write_file --args '{\"path\": \"a.txt\"}' --server files
  mcp-tool call write_file --arg path=a.txt --dry-run --server files
  mcp-tool call search --args-file - --url https://example.com/mcp";

pub(crate) fn run(options: Options) -> Exit {
    let screen = Arc::new(Screen::stderr());
    Invocation::prepare(options, screen.clone())
        .and_then(|invocation| until_interrupted(&screen, |interruption| invocation.make(interruption)))
        .unwrap_or_else(|problem| problem.tell())
}

/// What is done with a call that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Call,
    DryRun,
}

/// One call, ready to be made.
struct Invocation {
    tool: String,
    arguments: JsonObject,
    timeout: Duration,
    idle_timeout: Duration,
    output: Format,
    save_dir: Option<PathBuf>,
    mode: Mode,
    policy: PolicyOptions,
    server: Server,
    screen: Arc<Screen>,
    log: Log,
}

impl Invocation {
    fn prepare(options: Options, screen: Arc<Screen>) -> Result<Self, Problem> {
        let arguments = options.input.read()?;
        if let Some(folder) = options.save_dir.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(Problem::new(format!("--save-dir: {} is no folder", folder.display())));
        }
        let server = options.server.one()?;
        Ok(Self {
            tool: options.tool,
            arguments,
            timeout: options.timeout.or(server.timeout).unwrap_or(DEFAULT_DEADLINE),
            idle_timeout: options.idle_timeout.unwrap_or(DEFAULT_IDLE_TIMEOUT),
            output: options.output,
            save_dir: options.save_dir,
            mode: if options.dry_run { Mode::DryRun } else { Mode::Call },
            policy: options.policy,
            server,
            log: Log::new(screen.clone(), Verbosity::of(options.verbose)),
            screen,
        })
    }

    async fn make(self, interruption: Interruption) -> Result<Exit, Problem> {
        let token = &interruption.token;
        let progress = Progress::new();
        let call = ToolCall::new(self.tool)
            .with_arguments(self.arguments)
            .with_deadline(self.timeout)
            .with_idle_timeout(self.idle_timeout)
            .with_cancellation(token.clone())
            .with_progress(progress.listener())
            .started();
        let trust = self.policy.trust(self.server.trust);
        let (now, allowed) = (trust.now(), self.server.tools.clone());
        let session = Session::open(self.server, &self.policy, trust, self.log.clone());
        let look = Look { session: &session, token, allowed: &allowed, log: &self.log };
        let exit = match self.mode {
            Mode::DryRun => {
                let found = progress.shown_on(&self.screen, look.tool(&call)).await;
                found.and_then(|found| match found {
                    Ok(tool) => {
                        let after_loss =
                            after_loss::decide(&tool, session.client.server(), now, &self.policy.policy());
                        dry_run::tell(&tool, &call, now, after_loss, self.output)
                    }
                    Err(ended) => Ok(Report::new(&ended).tell(self.output, None, &self.screen)),
                })
            }
            Mode::Call => {
                let invocation = look.invoke(call, now, &self.policy, &progress);
                let ended = progress.shown_on(&self.screen, invocation).await;
                ended.map(|ended| {
                    Report::new(&ended).tell(self.output, self.save_dir.as_deref(), &self.screen)
                })
            }
        };
        if let Ok(exit) = exit {
            interruption.told(exit);
        }
        session.close().await;
        exit
    }
}

/// What is needed to find a tool and to call it.
struct Look<'a> {
    session: &'a Session,
    token: &'a CancellationToken,
    allowed: &'a ToolFilter,
    log: &'a Log,
}

impl Look<'_> {
    /// Finds the tool and compares the arguments with it; or says how the call ended without it.
    async fn tool(&self, call: &ToolCall) -> Result<Result<ToolHandle, Ended>, Problem> {
        let listing = match self.session.list(call.deadline(), self.token).await {
            Ok(listing) => listing,
            Err(unlisted) => return not_made(unlisted).map(Err),
        };
        let tool = find(&listing, call.name(), self.allowed)?;
        let arguments = call.arguments().cloned().unwrap_or_default();
        match json_schema::compare(&tool.definition().definition().input_schema, &arguments) {
            Fit::Fits => {}
            Fit::NoSchema => {
                self.log.decision("the arguments are not checked: the tool's input schema is no JSON Schema");
            }
            Fit::Misfit(why) => {
                return Err(Problem::new(format!(
                    "the arguments do not fit the input schema of `{}`: {why}",
                    ToolName::from(tool.name())
                )));
            }
        }
        Ok(Ok(tool.clone()))
    }

    /// Calls the tool as it was found.
    async fn invoke(
        &self,
        call: ToolCall,
        trust: Trust,
        policy: &PolicyOptions,
        progress: &Progress,
    ) -> Result<Ended, Problem> {
        let tool = match self.tool(&call).await? {
            Ok(tool) => tool,
            Err(ended) => return Ok(ended),
        };
        progress.is("waiting for the answer");
        Ok(match tool.call(call).await {
            Ok(answer) => Ended::Answered(answer),
            Err(error) => {
                let server = self.session.client.server();
                let decided = |trust| after_loss::decide(&tool, server, trust, &policy.policy());
                let line = match (error.reason(), error.transport_error()) {
                    (Reason::Unavailable, Some(cause)) => {
                        format!("{error}; {}", self.session.explained(&cause.clone().into()))
                    }
                    _ => ending::line(&error, trust, decided),
                };
                Ended::Failed(error, line)
            }
        })
    }
}

fn not_made(unlisted: Unlisted) -> Result<Ended, Problem> {
    Ok(match unlisted {
        Unlisted::Problem(problem) => return Err(problem),
        Unlisted::Unreached(_, line) => Ended::NotMade(Reason::Unavailable, line),
        Unlisted::Cancelled => Ended::NotMade(Reason::Cancelled, "nothing was sent".into()),
        Unlisted::DeadlinePassed => Ended::NotMade(
            Reason::Deadline,
            "within its time the server has not completed its handshake and listed its tools".into(),
        ),
    })
}

fn find<'a>(listing: &'a Listing, name: &str, allowed: &ToolFilter) -> Result<&'a ToolHandle, Problem> {
    let shown = ToolName::from(name);
    if !allowed.allows(name) {
        return Err(Problem::new(format!(
            "`{shown}` is left out by `includeTools` or `excludeTools` of the server's configuration"
        )));
    }
    if let Some(tool) = listing.tools.iter().find(|tool| tool.name() == name) {
        return Ok(tool);
    }
    let named = |quarantined: &&Quarantined| quarantined.name().is_some_and(|found| found.as_str() == name);
    if let Some(quarantined) = listing.catalog.quarantined().iter().find(named) {
        return Err(Problem::new(format!(
            "the server lists `{shown}` in a way that it cannot be called: {}",
            quarantined.reason().code()
        )));
    }
    let known = listing.tools.iter().map(ToolHandle::name).filter(|name| allowed.allows(name));
    let meant = nearest::suggestion(name, known);
    Err(Problem::new(format!(
        "the server has no tool `{shown}`{meant}: `mcp-tool list` shows those that it has"
    )))
}
