//! What the command line says, and who does it.

mod after_loss;
mod audit;
mod call;
mod columns;
mod completions;
mod demo;
mod drill;
mod duration;
mod exit;
mod explain;
mod interrupt;
mod known_tools;
mod list;
mod log;
mod nearest;
mod output;
mod policy;
mod problem;
mod progress;
mod screen;
mod server;
mod session;
mod trust;
mod unavailable;
mod watch;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};
use mcp_tool_cli::fault_server;

use self::{exit::Exit, problem::Problem};

/// Calls tools of MCP servers without ever running a write twice by accident.
#[derive(Parser)]
#[command(name = "mcp-tool", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  mcp-tool list
  mcp-tool call echo --arg message=hi --server files";

#[derive(Subcommand)]
enum Command {
    /// Loses connections on purpose and shows what followed (default)
    ///
    /// Needs no server: an embedded one is started for each row. Exits with 1 when a row breaks the guarantee.
    #[command(after_help = "Example: mcp-tool demo")]
    Demo,
    /// Lists tools, their hints, and what a lost call would lead to
    List(Box<list::Options>),
    /// Calls one tool, and says what is known when there is no answer
    Call(Box<call::Options>),
    /// Keeps the configured servers running and tells their status
    ///
    /// As it changes, until Ctrl-C.
    Watch(Box<watch::Options>),
    /// Says of each tool whether a lost call would be recovered
    ///
    /// And, where it would not, why, and what its author would have to declare.
    Audit(Box<audit::Options>),
    /// Explains a decision for given facts, or what a code means
    Explain(Box<explain::Options>),
    /// Keeps the list of trusted workspace folders
    Trust(trust::Options),
    /// Loses the connections of any MCP client, and says what it ran twice
    Drill(drill::Options),
    /// Prints a script that completes this command in a shell
    Completions(completions::Options),
    /// Prints the manual page, or that of one command
    #[command(hide = true)]
    Man {
        /// The command
        command: Option<String>,
    },
    /// Lists the configured servers, for shells that complete them
    #[command(hide = true)]
    ServerNames,
    /// Lists the tools that are known of a server, for shells that complete them
    #[command(hide = true, disable_help_flag = true)]
    ToolNames {
        /// The words of the command line so far
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// The embedded server, which fails on demand
    #[command(hide = true, disable_help_flag = true)]
    FaultServer {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(told) if matches!(told.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            // Nobody reads it, then.
            let _ = told.print();
            return ExitCode::SUCCESS;
        }
        Err(wrong) => return Problem::usage(&wrong).tell().into(),
    };
    match arguments.command.unwrap_or(Command::Demo) {
        Command::Demo => demo::run().into(),
        Command::List(options) => list::run(*options).into(),
        Command::Call(options) => call::run(*options).into(),
        Command::Watch(options) => watch::run(*options).into(),
        Command::Audit(options) => audit::run(*options).into(),
        Command::Explain(options) => explain::run(*options).into(),
        Command::Trust(options) => trust::run(options).into(),
        Command::Drill(options) => drill::run(options).into(),
        Command::Completions(options) => completions::run(&options, &Arguments::command()).into(),
        Command::Man { command } => man(command.as_deref()).into(),
        Command::ServerNames => completions::servers().into(),
        Command::ToolNames { words } => completions::tools(&words).into(),
        Command::FaultServer { arguments } => fault_server::main_with_args(arguments),
    }
}

/// The manual page: the whole command's, or that of a subcommand under its full name.
fn man(subcommand: Option<&str>) -> Exit {
    let mut whole = Arguments::command();
    whole.build();
    let Some(name) = subcommand else { return completions::manual(whole) };
    match whole.get_subcommands().find(|command| command.get_name() == name && !command.is_hide_set()) {
        Some(command) => completions::manual(command.clone().display_name(format!("mcp-tool-{name}"))),
        None => {
            let known = whole.get_subcommands().filter(|command| !command.is_hide_set());
            let meant = nearest::suggestion(name, known.map(clap::Command::get_name));
            Problem::new(format!("there is no command `{name}`{meant}")).tell()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command lines of a text, as a shell would split them; lines of other programs aside.
    fn command_lines(text: &str) -> Vec<Vec<String>> {
        let lines = text.lines().map(str::trim_start).map(|line| line.trim_start_matches("$ "));
        lines.filter(|line| line.starts_with("mcp-tool ")).map(words).collect()
    }

    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for char in line.chars() {
            match (quote, char) {
                (None, '\'' | '"') => quote = Some(char),
                (Some(open), close) if open == close => quote = None,
                (None, ' ') => words.push(std::mem::take(&mut word)),
                (_, char) => word.push(char),
            }
        }
        words.push(word);
        words
    }

    fn assert_parses(text: &str, at_least: usize) {
        let lines = command_lines(text);
        assert!(lines.len() >= at_least, "{} command lines", lines.len());
        for line in lines {
            if let Err(error) = Arguments::try_parse_from(&line) {
                panic!("{line:?}: {error}");
            }
        }
    }

    #[test]
    fn every_command_line_in_the_documents_parses() {
        assert_parses(include_str!("../../../docs/cli.md"), 12);
        assert_parses(include_str!("../../../docs/audit.md"), 7);
        assert_parses(include_str!("../../../docs/drill.md"), 10);
        assert_parses(include_str!("../README.md"), 1);
    }

    #[test]
    fn every_command_line_in_the_help_parses() {
        let named = ["call", "list", "watch", "audit", "explain", "trust", "drill"].map(of);
        let of_drill = [of_drill("run"), of_drill("serve")];
        for command in [Arguments::command()].into_iter().chain(named).chain(of_drill) {
            assert_parses(&command.clone().term_width(80).render_long_help().to_string(), 2);
        }
    }

    /// Every command that is shown, with the name that leads to it.
    fn shown(of: &clap::Command, path: &str) -> Vec<(String, clap::Command)> {
        let below =
            of.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
        let below = below.flat_map(|command| shown(command, &format!("{path} {}", command.get_name())));
        [(path.to_owned(), of.clone())].into_iter().chain(below).collect()
    }

    #[test]
    fn the_short_help_of_every_command_fits_one_screen_and_shows_an_example() {
        let mut whole = Arguments::command().term_width(80);
        whole.build();
        let all = shown(&whole, "mcp-tool");
        assert!(all.len() > 10, "{}", all.len());
        for (path, mut command) in all {
            let help = command.render_help().to_string();
            // Calling a tool has the most to say, and says the rest of it in the long help.
            let most = if path == "mcp-tool call" { 30 } else { 24 };
            assert!(help.lines().count() <= most, "{path}: {} lines\n{help}", help.lines().count());
            let widest = help.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "{path}: {widest:?} columns\n{help}");
            let is_of_trust = path.starts_with("mcp-tool trust ");
            assert!(is_of_trust || help.contains("Example"), "{path}\n{help}");
        }
    }

    #[test]
    fn what_follows_the_options_in_the_long_help_is_not_wrapped_either() {
        for (path, command) in shown(&Arguments::command(), "mcp-tool") {
            let Some(text) = command.get_after_long_help() else { continue };
            for line in text.to_string().lines() {
                assert!(line.chars().count() <= 80, "{path}: {line}");
            }
        }
    }

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_option_and_its_default_stands_in_the_document() {
        const CLI: &str = include_str!("../../../docs/cli.md");
        const AUDIT: &str = include_str!("../../../docs/audit.md");
        const DRILL: &str = include_str!("../../../docs/drill.md");
        let rows = |document: &'static str| document.lines().filter(|line| line.starts_with("| `-"));
        let mut checked = 0;
        let of_cli = ["call", "list", "watch", "explain"].map(|name| (of(name), [CLI, ""]));
        let of_drill = ["run", "serve", "report"].map(|name| (of_drill(name), [DRILL, ""]));
        let commands = of_cli.into_iter().chain([(of("audit"), [AUDIT, CLI])]).chain(of_drill);
        for (command, documents) in commands {
            for argument in command.get_arguments() {
                let Some(long) = argument.get_long().filter(|long| *long != "help") else { continue };
                let named = |row: &&str| row.contains(&format!("`--{long}"));
                // Commands that share a document may each have a row of their own.
                let named: Vec<_> =
                    documents.iter().flat_map(|document| rows(document)).filter(named).collect();
                assert!(!named.is_empty(), "--{long} is in no table");
                // Its default stands in the text.
                let is_list_timeout = command.get_name() == "list" && long == "timeout";
                for default in argument.get_default_values().iter().filter(|_| !is_list_timeout) {
                    let default = default.to_str().unwrap();
                    if default != "false" && default != "0" {
                        let cell = format!("| {default} |");
                        assert!(
                            named.iter().any(|row| row.contains(&cell)),
                            "--{long}: {default} is not in {named:?}"
                        );
                    }
                }
                checked += 1;
            }
        }
        assert!(checked > 50, "{checked}");
    }

    fn of(name: &str) -> clap::Command {
        Arguments::command().find_subcommand(name).unwrap().clone()
    }

    fn of_drill(name: &str) -> clap::Command {
        of("drill").find_subcommand(name).unwrap().clone()
    }
}
