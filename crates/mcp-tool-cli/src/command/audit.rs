//! `mcp-tool audit`.

mod markdown;
#[cfg_attr(not(unix), path = "audit/no_probe.rs")]
mod probe;
mod text;
mod visit;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::{Args, ValueEnum};
use mcp_tool_cli::audit::{Baseline, Evidence, Report, Saved, Severity, Source, audit};

use self::visit::Visitor;
use super::{
    duration,
    exit::Exit,
    interrupt::until_interrupted,
    log::{Log, Verbosity},
    output,
    problem::Problem,
    progress::Progress,
    screen::Screen,
    server::ServerOptions,
    session::Unlisted,
};

#[derive(Args)]
#[command(after_help = EXAMPLE, after_long_help = EXAMPLES)]
pub(crate) struct Options {
    /// A saved tools/list result; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "config", "url", "header", "command"])]
    from: Option<PathBuf>,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
    /// The least severity to exit with 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t)]
    fail_on: FailOn,
    /// Known findings, which do not count
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write what is found now, to be known
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// The time for the server to be reached and listed, twice
    #[arg(long, hide_short_help = true, value_name = "DURATION", value_parser = duration::parse, default_value = "60s")]
    timeout: Duration,
    /// Tell the connections; twice for more
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(flatten)]
    server: ServerOptions,
}

const EXAMPLE: &str = "Example: mcp-tool audit --from tools.json --output markdown";

const EXAMPLES: &str = "\
No tool is called.

Exit codes: 0 no finding counts, 1 one does, 2 usage or configuration, 3 the
server could not be listed, 130 cancelled.

Examples:
  mcp-tool audit -- npx -y some-server
  mcp-tool audit --from tools.json --output sarif --baseline known.json
  mcp-tool audit --fail-on warning --server files";

/// What standard output carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for a person.
    #[default]
    Text,
    /// JSON for a program.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Markdown, for a comment on a pull request.
    Markdown,
}

/// The least severity that makes the exit code 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Errors.
    #[default]
    Error,
    /// Warnings and errors.
    Warning,
    /// Nothing.
    Never,
}

impl FailOn {
    fn fails(self, gravest: Option<Severity>) -> bool {
        match self {
            Self::Error => gravest >= Some(Severity::Error),
            Self::Warning => gravest >= Some(Severity::Warning),
            Self::Never => false,
        }
    }
}

/// What is audited, as it is called in what is printed.
enum Subject {
    /// A server, by its name: nothing of its URL or its command line is shown.
    Server(String),
    /// A file, and the line of each tool in it.
    File { name: String, lines: Vec<usize> },
}

impl Subject {
    fn name(&self) -> &str {
        match self {
            Self::Server(name) | Self::File { name, .. } => name,
        }
    }

    fn source(&self) -> Source<'_> {
        match self {
            Self::Server(name) => Source::Server(name),
            Self::File { name, lines } => {
                Source::File { path: Some(&**name).filter(|name| *name != STDIN), lines }
            }
        }
    }
}

/// What standard input is called.
const STDIN: &str = "standard input";

pub(crate) fn run(options: Options) -> Exit {
    told(options).unwrap_or_else(|problem| problem.tell())
}

fn told(options: Options) -> Result<Exit, Problem> {
    let known = options.baseline.as_deref().map(read_baseline).transpose()?;
    let Options { from, output, fail_on, write_baseline, timeout, verbose, server, .. } = options;
    let tell = |subject: &Subject, evidence: &Evidence| -> Result<Exit, Problem> {
        let mut report = audit(evidence);
        let known = match write_baseline {
            Some(file) => {
                let found = Baseline::of(&report);
                write(&file, &found.to_text())?;
                Some(found)
            }
            None => known,
        };
        let stale = known.map(|known| known.apply(&mut report)).unwrap_or_default();
        output::write(&match output {
            Format::Text => text::of(subject.name(), &report),
            Format::Json => format!("{}\n", report.json()),
            Format::Sarif => format!("{}\n", report.sarif(&subject.source())),
            Format::Markdown => markdown::of(subject.name(), &report),
        })?;
        tell_stale(&stale);
        Ok(exit(fail_on, &report))
    };
    if let Some(file) = from {
        let (name, text) = read(&file)?;
        let saved = Saved::parse(&text).map_err(|wrong| Problem::new(format!("{name}: {wrong}")))?;
        return tell(&Subject::File { name, lines: saved.lines }, &Evidence::new(saved.listing));
    }
    let screen = Arc::new(Screen::stderr());
    let log = Log::new(screen.clone(), Verbosity::of(verbose));
    let server = server.one()?;
    let subject = Subject::Server(server.name.clone().unwrap_or_else(|| "server".into()));
    until_interrupted(&screen, |interruption| async move {
        let progress = Progress::new();
        let visitor = Visitor { reach: &server.reach, log: &log, progress: &progress };
        let looking = visitor.look(timeout, &interruption.token);
        match progress.shown_on(log.screen(), looking).await {
            Ok(evidence) => tell(&subject, &evidence),
            Err(unlisted) => not_audited(unlisted, log.screen()),
        }
    })
}

fn not_audited(unlisted: Unlisted, screen: &Screen) -> Result<Exit, Problem> {
    let (line, exit) = match unlisted {
        Unlisted::Problem(problem) => return Err(problem),
        Unlisted::Unreached(_, line) => (line, Exit::NotExecuted),
        Unlisted::Cancelled => ("cancelled".into(), Exit::Cancelled),
        Unlisted::DeadlinePassed => (
            "within --timeout the server has not completed its handshake and listed its tools twice".into(),
            Exit::NotExecuted,
        ),
    };
    screen.line(&line);
    Ok(exit)
}

fn exit(fail_on: FailOn, report: &Report) -> Exit {
    if fail_on.fails(report.gravest()) { Exit::ErrorAnswer } else { Exit::Completed }
}

fn tell_stale(stale: &[(String, Option<String>)]) {
    let screen = Screen::stderr();
    for (rule, tool) in stale {
        let tool =
            tool.as_deref().map(|tool| format!(" of `{}`", mcp_tool::mcp_discovery::ToolName::from(tool)));
        screen.line(&format!(
            "stale in the baseline, since it is not found any more: {rule}{}",
            tool.unwrap_or_default()
        ));
    }
}

/// The text of a file, and what that is called.
fn read(file: &Path) -> Result<(String, String), Problem> {
    let (name, text) = if file == Path::new("-") {
        (STDIN.to_owned(), io::read_to_string(io::stdin()))
    } else {
        (file.display().to_string(), fs::read_to_string(file))
    };
    match text {
        Ok(text) => Ok((name, text)),
        Err(error) => Err(Problem::new(format!("{name}: {error}"))),
    }
}

fn read_baseline(file: &Path) -> Result<Baseline, Problem> {
    let (name, text) = read(file)?;
    Baseline::parse(&text).map_err(|wrong| Problem::new(format!("{name}: {wrong}")))
}

fn write(file: &Path, text: &str) -> Result<(), Problem> {
    fs::write(file, text).map_err(|error| Problem::new(format!("{}: {error}", file.display())))
}
