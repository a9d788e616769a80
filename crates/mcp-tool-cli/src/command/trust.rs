//! `mcp-tool trust`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mcp_tool_cli::trusted_folders::{Removed, TrustedFolders};
use serde_json::{Value, json};

use super::{
    exit::Exit,
    output::{self, Format},
    problem::Problem,
};

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    /// What standard output carries
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "text|json",
        hide_possible_values = true,
        global = true
    )]
    output: Format,
}

const EXAMPLES: &str = "\
A trusted folder is a trusted workspace, and its .mcp.json is read. It covers the
folders below it.

Examples:
  mcp-tool trust add
  mcp-tool trust status ~/work/project
  mcp-tool trust list --output json";

#[derive(Subcommand)]
enum Command {
    /// Trusts a folder and what is below it
    Add {
        /// The folder
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Trusts a folder no more
    ///
    /// Exits with 1 where a folder above it still covers it.
    Remove {
        /// The folder, which need not exist any more
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Lists the trusted folders
    List,
    /// Says whether a folder is trusted, also by the exit code
    ///
    /// It is 0 if the folder is trusted, and 1 if it is not.
    Status {
        /// The folder
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
}

/// What a subcommand has to say, in both forms.
struct Said {
    text: String,
    json: Value,
    exit: Exit,
}

pub(crate) fn run(options: Options) -> Exit {
    let said = match options.command.run(&TrustedFolders::of_user()) {
        Ok(said) => said,
        Err(problem) => return problem.tell(),
    };
    let text = match options.output {
        Format::Text => said.text,
        Format::Json => format!("{}\n", said.json),
    };
    match output::write(&text) {
        Ok(()) => said.exit,
        Err(error) => Problem::from(error).tell(),
    }
}

impl Command {
    fn run(&self, folders: &TrustedFolders) -> Result<Said, Problem> {
        let said = |text, json| Said { text, json, exit: Exit::Completed };
        Ok(match self {
            Self::Add { dir } => {
                let folder = folders.add(dir)?;
                said(format!("trusted: {}\n", folder.display()), json!({ "trusted": true, "by": folder }))
            }
            Self::Remove { dir } => match folders.remove(dir)? {
                Removed::Removed => {
                    said("no longer trusted\n".into(), json!({ "trusted": false, "by": null }))
                }
                Removed::WasNot => {
                    said("it was not trusted\n".into(), json!({ "trusted": false, "by": null }))
                }
                Removed::StillCovered(above) => Said {
                    exit: Exit::ErrorAnswer,
                    ..said(
                        format!("still trusted, by {}\n", above.display()),
                        json!({ "trusted": true, "by": above }),
                    )
                },
            },
            Self::List => {
                let folders = folders.list()?;
                let text = folders.iter().map(|folder| format!("{}\n", folder.display())).collect();
                said(text, json!({ "folders": folders }))
            }
            Self::Status { dir } => match folders.covering(dir)? {
                Some(by) => {
                    said(format!("trusted, by {}\n", by.display()), json!({ "trusted": true, "by": by }))
                }
                None => Said {
                    exit: Exit::ErrorAnswer,
                    ..said("not trusted\n".into(), json!({ "trusted": false, "by": null }))
                },
            },
        })
    }
}
