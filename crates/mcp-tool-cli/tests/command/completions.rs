//! Scripts for shells, the manual, and output into pipes.

use std::{path::Path, process::Command};

use mcp_tool_cli::fault_server::{Scenario, ToolSpec};
use serde_json::json;

use crate::bench::{Bench, EXE, put, run};

fn script(shell: &str) -> String {
    let told = Bench::new().run(["completions", shell]);
    assert_eq!((told.code, &*told.stderr), (Some(0), ""), "{shell}");
    told.stdout
}

/// What bash offers for the last of these words.
fn offered(bench: &Bench, words: &str) -> Vec<String> {
    let file = bench.file("completions.bash", &script("bash"));
    let words: Vec<&str> = words.split(' ').collect();
    let complete = format!(
        "source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _mcp__tool mcp-tool '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        file.display(),
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let path = format!("{}:{}", Path::new(EXE).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let as_user = bench.command(["--version"]);
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &complete]).current_dir(bench.work());
    bash.envs(as_user.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", path);
    let told = run(&mut bash);
    assert_eq!(&*told.stderr, "", "{told:?}");
    told.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_the_names_of_configured_servers() {
    let bench = Bench::new();
    bench.configure(
        json!({ "files": bench.entry(&put()), "fetch": { "command": 5 }, "notes": { "command": "x" } }),
    );
    assert_eq!(offered(&bench, "mcp-tool au"), ["audit"]);
    assert_eq!(offered(&bench, "mcp-tool call --trust"), ["--trust-server", "--trust-workspace"]);
    assert_eq!(offered(&bench, "mcp-tool call --server f"), ["fetch", "files"]);
    assert_eq!(offered(&bench, "mcp-tool audit --fail-on "), ["error", "warning", "never"]);
    assert_eq!(offered(&bench, "mcp-tool trust s"), ["status"]);
    assert_eq!(bench.starts_and_executions(), (0, 0), "nothing is started");
}

#[test]
fn the_names_of_tools_are_completed_from_what_their_server_listed_last() {
    let bench = Bench::new();
    let tools = |names: [&str; 2]| {
        names.into_iter().fold(Scenario::new(), |server, name| server.tool(ToolSpec::new(name)))
    };
    bench.configure(json!({
        "files": bench.entry(&tools(["read_file", "write_file"])),
        "notes": bench.entry(&tools(["read.note", "$(touch owned)"])),
    }));
    assert!(offered(&bench, "mcp-tool call re").is_empty(), "nothing is known yet");
    assert_eq!(bench.run(["list"]).code, Some(0));
    let starts = bench.starts_and_executions().0;
    assert_eq!(offered(&bench, "mcp-tool call re"), ["read.note", "read_file"]);
    for words in ["--server files re", "--server=files re", "--server = files re"] {
        assert_eq!(offered(&bench, &format!("mcp-tool call {words}")), ["read_file"], "{words}");
    }
    assert_eq!(offered(&bench, "mcp-tool call w --server=files"), Vec::<String>::new());
    // bash runs what stands in the words that it is offered.
    assert_eq!(bench.run(["tool-names", "call", "--server=notes"]).stdout, "read.note\n");
    assert!(!offered(&bench, "mcp-tool call ").is_empty());
    assert!(!bench.work().join("owned").exists());
    assert_eq!(bench.starts_and_executions().0, starts, "nothing is started");

    // What a server lists takes the place of what it had listed.
    bench.configure(json!({ "files": bench.entry(&tools(["read", "write"])) }));
    assert_eq!(bench.run(["list", "--server", "files"]).code, Some(0));
    assert_eq!(offered(&bench, "mcp-tool call --server files r"), ["read"]);
}

#[test]
fn a_server_whose_name_a_shell_would_run_is_not_offered() {
    let bench = Bench::new();
    bench.configure(json!({ "$(touch owned)": { "command": "x" }, "files": { "command": "x" } }));
    assert_eq!(offered(&bench, "mcp-tool call --server "), ["files"]);
    assert!(!bench.work().join("owned").exists());
}

#[test]
fn the_servers_of_a_folder_are_completed_only_where_it_is_trusted() {
    let bench = Bench::new();
    bench.file("work/.mcp.json", &json!({ "mcpServers": { "theirs": { "command": "x" } } }).to_string());
    let names = || bench.run(["server-names"]);
    assert_eq!((names().code, &*names().stdout, &*names().stderr), (Some(0), "", ""));
    assert_eq!(bench.run(["trust", "add"]).code, Some(0));
    assert_eq!(names().stdout, "theirs\n");
    // Who types is not told of a file that is wrong.
    bench.file("work/.mcp.json", "{");
    assert_eq!((names().code, &*names().stdout, &*names().stderr), (Some(0), "", ""));
}

#[test]
fn each_shell_has_a_script_and_three_ask_for_the_names_of_servers() {
    for (shell, asks) in [("bash", 4), ("zsh", 1), ("fish", 4), ("powershell", 0), ("elvish", 0)] {
        let script = script(shell);
        assert!(script.contains("trust-workspace") && !script.contains("fault-server"), "{shell}");
        assert_eq!(script.matches("(mcp-tool server-names 2>").count(), asks, "{shell}");
        assert_eq!(script.matches("(mcp-tool tool-names ").count(), usize::from(asks > 0), "{shell}");
    }
    let zsh = script("zsh");
    assert!(zsh.starts_with("#compdef mcp-tool\n"), "{zsh}");
    assert_eq!(zsh.matches(":NAME:_mcp_tool_servers").count(), 4);
    assert!(zsh.contains("':tool -- The tool'\\''s exact name:_mcp_tool_tools'"), "{zsh}");
}

#[test]
fn the_manual_has_a_page_for_the_command_and_for_each_of_its_commands() {
    let bench = Bench::new();
    let page = bench.run(["man"]).stdout;
    assert!(page.contains(".TH mcp-tool 1") && page.contains("mcp\\-tool\\-audit(1)"), "{page}");
    for command in ["list", "call", "watch", "audit", "explain", "trust", "completions"] {
        let page = bench.run(["man", command]).stdout;
        assert!(page.contains(&format!(".TH mcp-tool-{command} 1")), "{page}");
    }
    bench.run(["man", "adit"]).assert_problem("there is no command `adit` (did you mean `audit`?)");
}

#[test]
fn nothing_that_goes_into_a_pipe_has_escapes_whatever_the_environment_asks_for() {
    let bench = Bench::new();
    let server = bench.line_on("audit", &put());
    let lines: [Vec<_>; 5] = [
        vec!["--help".into()],
        vec!["call".into(), "-h".into()],
        vec!["explain".into(), "--hints".into(), "idempotent".into()],
        vec!["nonsense".into()],
        server,
    ];
    for line in lines {
        for (name, value) in [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")] {
            let told = run(bench.command(line.clone()).env(name, value));
            assert!(!told.stdout.contains('\u{1b}') && !told.stderr.contains('\u{1b}'), "{told:?}");
        }
    }
}
