//! What the command line says, and who does it.

mod after_loss;
mod audit;
mod call;
mod columns;
mod demo;
mod duration;
mod exit;
mod explain;
mod interrupt;
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

use clap::{Parser, Subcommand, error::ErrorKind};
use mcp_tool_cli::fault_server;

use self::problem::Problem;

/// Calls tools of MCP servers without ever running a write twice by accident.
#[derive(Parser)]
#[command(name = "mcp-tool", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  mcp-tool demo
  mcp-tool list
  mcp-tool call echo --arg message=hi -- npx -y @modelcontextprotocol/server-everything";

#[derive(Subcommand)]
enum Command {
    /// Loses connections to an embedded server on purpose and shows what each loss did (the default)
    Demo,
    /// Lists tools, their hints, and what a lost connection would lead to for each
    List(Box<list::Options>),
    /// Calls one tool, and says what is known when there is no answer
    Call(Box<call::Options>),
    /// Keeps all servers of the configuration running and tells their status as it changes, until Ctrl-C
    Watch(Box<watch::Options>),
    /// Says of each tool whether a lost call would be recovered, and what its author should declare
    Audit(Box<audit::Options>),
    /// Says what the policy decides for facts given by hand and why, or what a code means
    Explain(Box<explain::Options>),
    /// Keeps the list of trusted workspace folders
    Trust(trust::Options),
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
        Command::FaultServer { arguments } => fault_server::main_with_args(arguments),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

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
        assert_parses(include_str!("../README.md"), 1);
    }

    #[test]
    fn every_command_line_in_the_help_parses() {
        for mut command in [Arguments::command(), call(), list(), of("watch"), audit(), explain(), trust()] {
            assert_parses(&command.render_long_help().to_string(), 2);
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
        let rows = |document: &'static str| document.lines().filter(|line| line.starts_with("| `-"));
        let mut checked = 0;
        let of_cli = ["call", "list", "watch", "explain"].map(|name| (of(name), [CLI, ""]));
        let commands = of_cli.into_iter().chain([(audit(), [AUDIT, CLI])]);
        for (command, documents) in commands {
            for argument in command.get_arguments() {
                let Some(long) = argument.get_long().filter(|long| *long != "help") else { continue };
                let named = |row: &&str| row.contains(&format!("`--{long}"));
                let row = documents.iter().flat_map(|document| rows(document)).find(named);
                let row = row.unwrap_or_else(|| panic!("--{long} is in no table"));
                // Its default stands in the text.
                let is_list_timeout = command.get_name() == "list" && long == "timeout";
                for default in argument.get_default_values().iter().filter(|_| !is_list_timeout) {
                    let default = default.to_str().unwrap();
                    if default != "false" && default != "0" {
                        assert!(
                            row.contains(&format!("| {default} |")),
                            "--{long}: {default} is not in {row}"
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

    fn call() -> clap::Command {
        of("call")
    }

    fn list() -> clap::Command {
        of("list")
    }

    fn audit() -> clap::Command {
        of("audit")
    }

    fn explain() -> clap::Command {
        of("explain")
    }

    fn trust() -> clap::Command {
        of("trust")
    }
}
