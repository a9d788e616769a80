//! `mcp-tool completions`, and the manual page.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::{exit::Exit, known_tools, output, problem::Problem, server};

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
The names of servers are completed from the configuration that may be read, those of tools from what
its servers listed last.

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
    told(with_names(options.shell, &String::from_utf8_lossy(&script)))
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
    told_names(server::names().iter())
}

/// The names of the tools that are known of the server that these words name, or of all, one a line.
pub(crate) fn tools(words: &[String]) -> Exit {
    told_names(known_tools::names(words).iter())
}

fn told_names<'a>(names: impl Iterator<Item = &'a String>) -> Exit {
    told(names.filter(|name| known_tools::is_plain(name)).map(|name| format!("{name}\n")).collect())
}

fn told(text: String) -> Exit {
    match output::write(&text) {
        Ok(()) => Exit::Completed,
        Err(error) => Problem::from(error).tell(),
    }
}

/// How each shell asks for the names of servers, in place of what the script has for `--server`, and for those
/// of tools where `call` takes one.
fn with_names(shell: Shell, script: &str) -> String {
    const LIST: &str = "mcp-tool server-names 2>/dev/null";
    const TOOLS: &str = "mcp-tool tool-names";
    match shell {
        Shell::Bash => {
            let files = "--server)\n                    COMPREPLY=($(compgen -f \"${cur}\"))";
            let names = format!(
                "--server)\n                    COMPREPLY=($(compgen -W \"$({LIST})\" -- \"${{cur}}\"))"
            );
            // clap_complete 4.6.12 takes the dash in our name for the beginning of a subcommand.
            let script = script.replace("mcp__subcmd__tool", "mcp__tool").replace(files, &names);
            let call = "mcp__tool__subcmd__call)\n            opts=\"";
            script.replacen(call, &format!("{call}$({TOOLS} \"${{COMP_WORDS[@]}}\" 2>/dev/null) "), 1)
        }
        Shell::Zsh => {
            let is_server = |line: &str| line.trim_start().starts_with("'(") && line.contains("--server=[");
            let is_tool = |line: &str| line.starts_with("':tool -- ") || line.contains("]:TOOL:_default'");
            let line = |line: &str| {
                let line = match line {
                    line if is_server(line) => line.replace(":_default'", ":_mcp_tool_servers'"),
                    line if is_tool(line) => line.replace(":_default'", ":_mcp_tool_tools'"),
                    line => line.into(),
                };
                format!("{line}\n")
            };
            let function = format!(
                "_mcp_tool_servers() {{\n    local -a names\n    names=(${{(f)\"$({LIST})\"}})\n    compadd -a names\n}}\n\n\
                 _mcp_tool_tools() {{\n    local -a names\n    names=(${{(f)\"$({TOOLS} $words 2>/dev/null)\"}})\n    compadd -a names\n}}\n\n"
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
            let tools = format!(
                "complete -c mcp-tool -n \"__fish_mcp_tool_using_subcommand call\" -f -a \"({TOOLS} (commandline -opc) 2>/dev/null)\"\n"
            );
            script.lines().map(line).chain([tools]).collect()
        }
        _ => script.to_owned(),
    }
}
