//! `mcp-tool drill run`.

use std::{sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use mcp_tool_cli::drill::{DrillFault, DrillHints, Said, Subject, Transport};
use tokio::task::JoinSet;

use super::{
    options::{self, Era},
    row::{self, Drill, Played},
    template::Template,
    view::{self, Calls},
};
use crate::command::{
    duration,
    exit::Exit,
    interrupt::{Interruption, until_interrupted},
    output::{self, Format},
    problem::Problem,
    screen::Screen,
};

#[derive(Args)]
#[command(after_help = EXAMPLE, after_long_help = EXAMPLES)]
pub(crate) struct Options {
    /// The client, as a command for sh with {server}, {url} or {config}
    ///
    /// It calls the tool {tool} once with {arguments}, exits, and says by its exit code what came of it.
    #[arg(long, value_name = "COMMAND")]
    client: String,
    /// stdio, http or both [default: as its placeholders say]
    ///
    /// {server} is stdio, {url} is http, {config} is both; without any of them it is stdio.
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true)]
    transport: Option<Over>,
    /// Only this fault; repeatable (see drill serve --faults)
    #[arg(long = "fault", value_name = "NAME", value_parser = options::fault)]
    faults: Vec<DrillFault>,
    /// Only these hints; repeatable
    ///
    /// none, read-only, idempotent, destructive, contradictory, or the JSON of annotations. Without it: none, read-only,
    /// idempotent and destructive.
    #[arg(long, value_name = "HINTS", value_parser = options::hints)]
    hints: Vec<DrillHints>,
    /// How long the client may take for a row
    ///
    /// After that it is killed, with all that it started, and the row is `hung`.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration::parse)]
    timeout: Duration,
    /// How many rows are played at once
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: u32,
    /// Which protocol revisions the server speaks
    #[arg(long, value_enum, default_value_t, value_name = "ERA", hide_short_help = true)]
    era: Era,
    /// Show each call that the server read
    #[arg(long)]
    calls: bool,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t, value_name = "text|json", hide_possible_values = true)]
    output: Format,
}

/// How the client reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Over {
    Stdio,
    Http,
    Both,
}

const EXAMPLE: &str = "\
Example:
  mcp-tool drill run --client 'python client.py {config} {tool} {arguments}'";

const EXAMPLES: &str = "\
In COMMAND, and in its environment:
  {server}     MCP_DRILL_SERVER     the command that starts the server, as words
  {url}        MCP_DRILL_URL        the server's URL
  {config}     MCP_DRILL_CONFIG     an mcpServers file that names it `drill`
  {tool}       MCP_DRILL_TOOL       the tool's name, one word
  {arguments}  MCP_DRILL_ARGUMENTS  its arguments as JSON, one word

Exit codes of the client: 0 answered, 1 answered with an error, 3 not executed,
4 unknown, any other: an error. One that knows no more uses 0 and any other.

Exit codes: 1 a row is `duplicate` or `false_not_executed`, 0 none is, 2 usage,
or the client fails when nothing goes wrong, 130 cancelled.

Examples:
  mcp-tool drill run --client 'python client.py {config} {tool} {arguments}'
  mcp-tool drill run --client './client {url}' --fault 502 --hints none";

pub(crate) fn run(options: Options) -> Exit {
    let screen = Arc::new(Screen::stderr());
    let wait = |screen: &Arc<Screen>| {
        let plan = Plan::of(&options)?;
        until_interrupted(screen, |interruption| drive(&options, plan, interruption, screen.clone()))
    };
    wait(&screen).unwrap_or_else(|problem| problem.tell())
}

/// What is played.
struct Plan {
    /// One row per transport in which nothing goes wrong.
    controls: Vec<Subject>,
    rows: Vec<Subject>,
}

impl Plan {
    fn of(options: &Options) -> Result<Self, Problem> {
        let transports = transports(options)?;
        let hints = match options.hints.as_slice() {
            [] => ["none", "read-only", "idempotent", "destructive"]
                .into_iter()
                .map(options::hints)
                .collect::<Result<_, _>>()
                .map_err(Problem::new)?,
            given => distinct(given),
        };
        let of_none = hints[..1].to_vec();
        let chosen = |fault: &DrillFault| options.faults.is_empty() || options.faults.contains(fault);
        let (mut controls, mut rows) = (Vec::new(), Vec::new());
        for &transport in &transports {
            let subject = |fault, hints: &DrillHints| Subject { transport, fault, hints: hints.clone() };
            controls.push(subject(DrillFault::None, &hints[0]));
            let possible = DrillFault::ALL.into_iter().filter(|fault| fault.is_possible_over(transport));
            for fault in possible.filter(chosen) {
                let hints = if fault == DrillFault::None { &of_none } else { &hints };
                rows.extend(hints.iter().map(|hints| subject(fault, hints)));
            }
        }
        match options.faults.iter().find(|fault| !rows.iter().any(|row| row.fault == **fault)) {
            Some(fault) => Err(options::impossible(*fault, transports[0])),
            None => Ok(Self { controls, rows }),
        }
    }
}

/// Each of them once, in their order.
fn distinct(given: &[DrillHints]) -> Vec<DrillHints> {
    let mut distinct: Vec<DrillHints> = Vec::new();
    for hints in given {
        if !distinct.contains(hints) {
            distinct.push(hints.clone());
        }
    }
    distinct
}

fn transports(options: &Options) -> Result<Vec<Transport>, Problem> {
    let template = Template::new(&options.client);
    let meant = template.transports();
    let chosen = match options.transport {
        None => return Ok(meant),
        Some(Over::Stdio) => vec![Transport::Stdio],
        Some(Over::Http) => vec![Transport::Http],
        Some(Over::Both) => vec![Transport::Stdio, Transport::Http],
    };
    match chosen.iter().find(|transport| template.leads_to_a_server() && !meant.contains(transport)) {
        Some(Transport::Stdio) => Err(Problem::new("over stdio --client needs {server} or {config}")),
        Some(Transport::Http) => Err(Problem::new("over http --client needs {url} or {config}")),
        None => Ok(chosen),
    }
}

async fn drive(
    options: &Options,
    plan: Plan,
    interruption: Interruption,
    screen: Arc<Screen>,
) -> Result<Exit, Problem> {
    let folder = tempfile::tempdir()?;
    let drill = Arc::new(Drill {
        template: Template::new(&options.client),
        timeout: options.timeout,
        era: options.era,
        folder: folder.path().to_owned(),
    });
    let mut playing = JoinSet::new();
    let played = tokio::select! {
        biased;
        () = interruption.token.cancelled() => None,
        played = play(&drill, plan, options.jobs as usize, &mut playing, &screen) => Some(played),
    };
    // With each row its client and its servers go.
    playing.shutdown().await;
    screen.clear();
    let Some(played) = played.transpose()? else { return Ok(Exit::Cancelled) };
    let calls = if options.calls { Calls::Shown } else { Calls::Hidden };
    output::write(&match options.output {
        Format::Text => view::text(&played, calls),
        Format::Json => format!("{}\n", view::json(&played)),
    })?;
    Ok(row::exit(&played))
}

type Playing = JoinSet<(usize, std::io::Result<Played>)>;

/// Plays the controls one after the other, then the rows, some at once; they come back in their order.
async fn play(
    drill: &Arc<Drill>,
    plan: Plan,
    jobs: usize,
    playing: &mut Playing,
    screen: &Screen,
) -> Result<Vec<Played>, Problem> {
    let mut number = 0;
    let mut begin = |playing: &mut Playing, place: usize, subject: Subject| {
        let (drill, row) = (drill.clone(), number);
        number += 1;
        playing.spawn(async move { (place, drill.play(subject, row).await) });
    };
    let mut controls = Vec::new();
    for control in plan.controls {
        screen.status(&format!("nothing goes wrong over {}", control.transport.name()));
        begin(playing, 0, control);
        while let Some(done) = playing.join_next().await {
            let control = done?.1?;
            judge_control(&control, drill)?;
            controls.push(control);
        }
    }
    let total = plan.rows.len();
    let mut played: Vec<Option<Played>> = std::iter::repeat_with(|| None).take(total).collect();
    let mut waiting = Vec::new();
    for (place, row) in plan.rows.into_iter().enumerate() {
        match controls.iter().position(|control| control.subject == row) {
            Some(control) => played[place] = Some(controls.swap_remove(control)),
            None => waiting.push((place, row)),
        }
    }
    let mut waiting = waiting.into_iter();
    loop {
        while playing.len() < jobs
            && let Some((place, row)) = waiting.next()
        {
            begin(playing, place, row);
        }
        let done = played.iter().flatten().count();
        screen.status(&format!("{done} of {total} rows"));
        let Some(row) = playing.join_next().await else { break };
        let (place, row) = row?;
        played[place] = Some(row?);
    }
    Ok(played.into_iter().flatten().collect())
}

/// A client that fails when nothing goes wrong tells nothing when something does.
fn judge_control(control: &Played, drill: &Drill) -> Result<(), Problem> {
    let ran = match (control.said, control.judgement.executions) {
        (Some(Said::Answered), 1) => return Ok(()),
        (_, 1) => "once".to_owned(),
        (_, times) => format!("{times} times"),
    };
    let ended = match (control.said, control.exit_code) {
        (Some(Said::Hung), _) => format!("it did not end within {:?}", drill.timeout),
        (_, Some(code)) => format!("it exited with {code}"),
        (_, None) => "a signal ended it".to_owned(),
    };
    let over = control.subject.transport.name();
    if control.record.received().is_empty() && !drill.template.leads_to_a_server() {
        let meant = drill.template.suggestion();
        return Err(Problem::new(format!(
            "--client has no {{server}}, {{url}} or {{config}}{meant}, and made no call: {ended}{}",
            said(control)
        )));
    }
    Err(Problem::new(format!(
        "the client must call the tool once and exit with 0 when nothing goes wrong; over {over} the tool ran {ran}, \
         and {ended}{}",
        said(control)
    )))
}

fn said(control: &Played) -> String {
    control.last_line.as_ref().map(|line| format!("; it said: {line}")).unwrap_or_default()
}
