//! Clients of the official SDKs, as docs/drill.md shows them, driven through `mcp-tool drill`.
//!
//! They are installed by `tests/real-servers/install target/drill-clients tests/drill-clients`; then
//! `cargo test -p mcp-tool-tests --test drill -- --ignored` runs these.
#![cfg(target_os = "linux")]

#[path = "../bench/program.rs"]
mod program;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

const CLIENTS: [&str; 3] = ["client.py", "client.mjs", "retrying.py"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn document() -> String {
    fs::read_to_string(root().join("docs/drill.md")).unwrap()
}

/// A folder with the clients and what they need, and the command.
struct Stage {
    folder: PathBuf,
    program: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

/// One test at a time drives clients: each plays several rows at once already.
static ALONE: Mutex<()> = Mutex::new(());

impl Stage {
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = root().join("target/drill-clients");
        let command = "tests/real-servers/install target/drill-clients tests/drill-clients";
        assert!(folder.join("installed").exists(), "not installed: run {command}");
        let clients = tempfile::Builder::new().prefix("clients").tempdir_in(&folder).unwrap().keep();
        for client in CLIENTS {
            fs::copy(root().join("tests/drill-clients").join(client), clients.join(client)).unwrap();
        }
        Self { folder: clients.canonicalize().unwrap(), program: program::mcp_tool(), _alone: alone }
    }

    /// Runs `mcp-tool drill run` where the clients are.
    fn drill(&self, client: &str, line: &str) -> Output {
        let first = [self.folder.join("../python/bin"), self.program.parent().unwrap().to_owned()];
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(first.into_iter().chain(env::split_paths(&path))).unwrap();
        let mut command = Command::new(&self.program);
        command.args(["drill", "run", "--client", client]).args(line.split_whitespace());
        // A client of an SDK may take seconds to begin, on a machine that is busy.
        command.args(["--timeout", "180s", "--jobs", "2"]);
        command.env("PATH", path).current_dir(&self.folder).stdin(Stdio::null()).output().unwrap()
    }

    /// The exit code, and each row as its transport, fault, hints, executions, what was said and the verdict.
    fn rows(&self, client: &str, line: &str) -> (Option<i32>, Vec<String>) {
        let told = self.drill(client, &format!("{line} --output json"));
        let report: Value = serde_json::from_slice(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let row = |row: &Value| {
            let words = [&row["transport"], &row["fault"], &row["hints"]["name"]].map(text).join(" ");
            format!("{words}: {} {} {}", row["executions"], text(&row["said"]), text(&row["verdict"]))
        };
        (told.status.code(), report["rows"].as_array().unwrap().iter().map(row).collect())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn the_document_shows_the_clients_as_they_are() {
    let document = document();
    for client in CLIENTS {
        let text = fs::read_to_string(root().join("tests/drill-clients").join(client)).unwrap();
        let language =
            if Path::new(client).extension().is_some_and(|end| end == "py") { "python" } else { "js" };
        let shown = format!("`{client}`:\n\n```{language}\n{text}```\n");
        assert!(document.contains(&shown), "{client}");
    }
}

fn official(client: &str) {
    let stage = Stage::new();
    let over_stdio = "--transport stdio --fault none --fault die-before-commit --fault die-after-commit \
                      --fault partial-response --fault died-idle --hints none --hints idempotent";
    assert_eq!(
        stage.rows(client, over_stdio),
        (
            Some(0),
            [
                "stdio none none: 1 answered correct",
                "stdio die-before-commit none: 0 error correct",
                "stdio die-before-commit idempotent: 0 error lost_recovery",
                "stdio die-after-commit none: 1 error correct",
                "stdio die-after-commit idempotent: 1 error lost_recovery",
                "stdio partial-response none: 1 error correct",
                "stdio partial-response idempotent: 1 error lost_recovery",
                "stdio died-idle none: 0 error lost_recovery",
                "stdio died-idle idempotent: 0 error lost_recovery",
            ]
            .map(str::to_owned)
            .to_vec()
        )
    );
    let over_http = "--transport http --fault none --fault die-after-commit --fault reset --fault 502 \
                     --fault sse-closed-resumable --fault 404-after-commit --hints destructive";
    assert_eq!(
        stage.rows(client, over_http),
        (
            Some(0),
            [
                "http none destructive: 1 answered correct",
                "http die-after-commit destructive: 1 error correct",
                "http reset destructive: 1 error correct",
                "http sse-closed-resumable destructive: 1 answered correct",
                "http 502 destructive: 1 error correct",
                "http 404-after-commit destructive: 1 error correct",
            ]
            .map(str::to_owned)
            .to_vec()
        )
    );
}

#[test]
#[ignore = "needs what tests/drill-clients pins"]
fn the_official_sdk_for_python_runs_nothing_twice_and_recovers_nothing() {
    official("python client.py {config} {tool} {arguments}");
}

#[test]
#[ignore = "needs what tests/drill-clients pins"]
fn the_official_sdk_for_typescript_runs_nothing_twice_and_recovers_nothing() {
    official("node client.mjs {config} {tool} {arguments}");
}

#[test]
#[ignore = "needs what tests/drill-clients pins"]
fn a_wrapper_that_calls_again_after_any_error_is_found_over_both_transports() {
    let stage = Stage::new();
    let client = "python retrying.py {config} {tool} {arguments}";
    assert_eq!(
        stage.rows(client, "--fault die-after-commit --hints none --hints read-only"),
        (
            Some(1),
            [
                "stdio die-after-commit none: 2 answered duplicate",
                "stdio die-after-commit read-only: 2 answered correct",
                "http die-after-commit none: 2 answered duplicate",
                "http die-after-commit read-only: 2 answered correct",
            ]
            .map(str::to_owned)
            .to_vec()
        )
    );
}

#[test]
#[ignore = "needs what tests/drill-clients pins"]
fn what_the_document_shows_of_these_clients_is_what_is_printed() {
    let (stage, document) = (Stage::new(), document());
    let blocks = document.split("```text\n$ mcp-tool drill run --client '").skip(1);
    let mut checked = 0;
    for block in blocks.map(|rest| rest.split("```").next().unwrap()) {
        let (line, printed) = block.split_once('\n').unwrap();
        let (client, options) = line.split_once('\'').unwrap();
        let told = stage.drill(client, options);
        assert_eq!(String::from_utf8(told.stdout).unwrap(), printed, "{line}");
        checked += 1;
    }
    assert_eq!(checked, 3);
}
