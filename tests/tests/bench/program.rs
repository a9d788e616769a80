use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

/// The command, built as it is now: it belongs to another package, so no variable names it.
pub(crate) fn mcp_tool() -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--locked", "--package", "mcp-tool-cli", "--message-format", "json"]);
    let built = build.stderr(Stdio::inherit()).output().unwrap();
    assert!(built.status.success(), "{built:?}");
    let messages = String::from_utf8(built.stdout).unwrap();
    let artifacts = messages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut programs = artifacts.filter_map(|artifact| artifact["executable"].as_str().map(PathBuf::from));
    programs.next_back().expect("the package has a program")
}
