//! `mcp-tool call`.

mod input;
mod report;
mod text;

use std::{sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use mcp_tool::{
    CancellationToken, DiscoveryError, ToolCall, ToolHandle,
    mcp_transport::{DEFAULT_DEADLINE, DEFAULT_IDLE_TIMEOUT, ErrorKind},
    rmcp::model::JsonObject,
};

use self::{
    input::InputOptions,
    report::{Ended, Report},
};
use super::{
    duration,
    exit::Exit,
    explain,
    interrupt::until_interrupted,
    log::{Log, Verbosity},
    policy::PolicyOptions,
    problem::Problem,
    progress::Progress,
    screen::Screen,
    server::{Reach, Server, ServerOptions, Session},
};

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The tool's exact name
    tool: String,
    #[command(flatten)]
    input: InputOptions,
    /// The time for the whole call: connecting, all attempts and reconnecting
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// How long an attempt may go without an answer and without progress
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    idle_timeout: Option<Duration>,
    /// What standard output carries: the content of the result, or one JSON object for every outcome
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Tell the decisions on standard error, twice for more; no content in either
    #[arg(short, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(flatten, next_help_heading = "Safety")]
    policy: PolicyOptions,
    #[command(flatten)]
    server: ServerOptions,
}

const EXAMPLES: &str = "\
Exit codes: 0 completed, 1 completed with an error, 2 usage or configuration, 3 not executed (safe to run
again), 4 outcome unknown (verify before running again), 130 cancelled.

Examples:
  mcp-tool call echo --arg message=hi -- npx -y @modelcontextprotocol/server-everything
  mcp-tool call write_file --args '{\"path\": \"a.txt\", \"content\": \"hello\"}' --output json --server files
  mcp-tool call search --args-file - --url https://example.com/mcp --header 'Authorization: Bearer …'";

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    #[default]
    Text,
    Json,
}

pub(crate) fn run(options: Options) -> Exit {
    let screen = Arc::new(Screen::stderr());
    Invocation::prepare(options, screen.clone())
        .and_then(|invocation| until_interrupted(&screen, |token| invocation.make(token)))
        .unwrap_or_else(|problem| problem.tell())
}

/// One call, ready to be made.
struct Invocation {
    tool: String,
    arguments: JsonObject,
    timeout: Duration,
    idle_timeout: Duration,
    output: Output,
    policy: PolicyOptions,
    server: Server,
    screen: Arc<Screen>,
    log: Log,
}

impl Invocation {
    fn prepare(options: Options, screen: Arc<Screen>) -> Result<Self, Problem> {
        let arguments = options.input.read()?;
        let server = options.server.one()?;
        Ok(Self {
            tool: options.tool,
            arguments,
            timeout: options.timeout.unwrap_or(DEFAULT_DEADLINE),
            idle_timeout: options.idle_timeout.unwrap_or(DEFAULT_IDLE_TIMEOUT),
            output: options.output,
            policy: options.policy,
            server,
            log: Log::new(screen.clone(), Verbosity::of(options.verbose)),
            screen,
        })
    }

    async fn make(self, token: CancellationToken) -> Result<Exit, Problem> {
        let progress = Progress::new();
        let call = ToolCall::new(self.tool)
            .with_arguments(self.arguments)
            .with_deadline(self.timeout)
            .with_idle_timeout(self.idle_timeout)
            .with_cancellation(token)
            .with_progress(progress.listener())
            .started();
        let session = self.server.open(&self.policy, self.policy.trust(), self.log.clone());
        let ended = progress.shown_on(&self.screen, invoke(&session, call, &self.log)).await;
        let exit =
            ended.map(|ended| Report::new(&ended, session.reach.kind()).tell(self.output, &self.screen));
        session.close().await;
        exit
    }
}

/// Finds the tool, then calls it as it was found.
async fn invoke(session: &Session, call: ToolCall, log: &Log) -> Result<Ended, Problem> {
    let cancelled = call.cancellation().cloned().unwrap_or_default();
    let tools = tokio::select! {
        biased;
        tools = session.client.tools() => tools,
        () = cancelled.cancelled() => return Ok(Ended::Cancelled),
        () = tokio::time::sleep_until(call.deadline()) => return Ok(Ended::DeadlinePassed),
    };
    let tools = match tools {
        Ok(tools) => tools,
        Err(error) => return unreached(session, error, log),
    };
    let tool = find(&tools, call.name())?;
    Ok(match tool.call(call).await {
        Ok(answer) => Ended::Answered(answer),
        Err(error) => Ended::Failed(error),
    })
}

fn find<'a>(tools: &'a [ToolHandle], name: &str) -> Result<&'a ToolHandle, Problem> {
    tools
        .iter()
        .find(|tool| tool.name() == name)
        .ok_or_else(|| Problem::new(format!("the server has no tool `{name}`")))
}

fn unreached(session: &Session, error: DiscoveryError, log: &Log) -> Result<Ended, Problem> {
    let kind = error.transport_error().map(mcp_tool::TransportError::kind);
    if let (Reach::Stdio { command, .. }, Some(ErrorKind::CommandNotFound)) = (&session.reach, kind) {
        return Err(Problem::new(format!(
            "the server's command `{command}` does not exist or may not be run: install it, or check the path"
        )));
    }
    for line in explain::last_lines(&session.reach.last_words()) {
        log.decision(&format!("the server wrote: {line}"));
    }
    Ok(Ended::Unreached(error))
}
