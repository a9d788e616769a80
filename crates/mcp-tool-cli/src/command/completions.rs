//! `mcp-tool completions`, and the manual page.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::{exit::Exit, output, problem::Problem, server};

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
The names of servers are completed from the configuration that may be read.

Examples:
  source <(mcp-tool completions bash)
  mcp-tool completions zsh > ~/.zfunc/_mcp-tool
  mcp-tool completions fish > ~/.config/fish/completions/mcp-tool.fish";

pub(crate) fn run(options: &Options, command: &Command) -> Exit {
    // Some scripts offer what is hidden.
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut shown = Command::new("mcp-tool").version(env!("CARGO_PKG_VERSION")).subcommands(shown);
    let mut script = Vec::new();
    generate(options.shell, &mut shown, "mcp-tool", &mut script);
    told(with_server_names(options.shell, &String::from_utf8_lossy(&script)))
}

/// The manual page of the command, or of one of its subcommands.
pub(crate) fn manual(command: Command) -> Exit {
    let mut page = Vec::new();
    match clap_mangen::Man::new(command).render(&mut page) {
        Ok(()) => told(String::from_utf8_lossy(&page).into_owned()),
        Err(error) => Problem::from(error).tell(),
    }
}

/// The names of the servers of the configuration that may be read, one a line. Nothing is started, and what
/// is wrong is not told: a shell asks for this while somebody types.
pub(crate) fn servers() -> Exit {
    told(server::names().iter().map(|name| format!("{name}\n")).collect())
}

fn told(text: String) -> Exit {
    match output::write(&text) {
        Ok(()) => Exit::Completed,
        Err(error) => Problem::from(error).tell(),
    }
}

/// How each shell asks for the names of servers, in place of what the script has for `--server`.
fn with_server_names(shell: Shell, script: &str) -> String {
    const LIST: &str = "mcp-tool server-names 2>/dev/null";
    match shell {
        Shell::Bash => {
            let files = "--server)\n                    COMPREPLY=($(compgen -f \"${cur}\"))";
            let names = format!(
                "--server)\n                    COMPREPLY=($(compgen -W \"$({LIST})\" -- \"${{cur}}\"))"
            );
            // clap_complete 4.6.12 takes the dash in our name for the beginning of a subcommand.
            script.replace("mcp__subcmd__tool", "mcp__tool").replace(files, &names)
        }
        Shell::Zsh => {
            let is_server = |line: &str| line.trim_start().starts_with("'(") && line.contains("--server=[");
            let line = |line: &str| {
                let line = if is_server(line) {
                    line.replace(":_default'", ":_mcp_tool_servers'")
                } else {
                    line.into()
                };
                format!("{line}\n")
            };
            let function = format!(
                "_mcp_tool_servers() {{\n    local -a names\n    names=(${{(f)\"$({LIST})\"}})\n    compadd -a names\n}}\n\n"
            );
            let lines: String = script.lines().map(line).collect();
            // The first line names what is completed, and stays the first.
            lines.replacen("_mcp-tool() {", &format!("{function}_mcp-tool() {{"), 1)
        }
        Shell::Fish => {
            let line = |line: &str| {
                let names = if line.contains(" -l server -d ") {
                    format!(" -f -a \"({LIST})\"")
                } else {
                    String::new()
                };
                format!("{line}{names}\n")
            };
            script.lines().map(line).collect()
        }
        _ => script.to_owned(),
    }
}
