//! The servers, how each is started, and a tool of each that only reads.

use std::{ffi::OsString, fs, path::PathBuf, process::Command};

use mcp_tool::{StdioConnector, ToolCall};
use serde_json::json;

use crate::family::Family;

/// A server, with a folder of its own to work in.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    pub(crate) reads: ToolCall,
    folder: tempfile::TempDir,
}

pub(crate) fn all() -> Vec<Server> {
    vec![everything(), filesystem(), memory(), time(), git()]
}

/// The same, and some whose tools are not called here: one wants a browser.
pub(crate) fn audited() -> Vec<Server> {
    let mut servers = all();
    servers.extend([sequential_thinking(), chrome_devtools()]);
    servers
}

fn sequential_thinking() -> Server {
    node("sequential-thinking", |_| Vec::new(), |_| ToolCall::new("sequentialthinking"))
}

fn chrome_devtools() -> Server {
    let program = installed("node_modules/.bin/chrome-devtools-mcp");
    let quiet = |_: &str| vec!["--no-usage-statistics".to_owned()];
    server("chrome-devtools", program, quiet, |_| ToolCall::new("list_pages"))
}

pub(crate) fn everything() -> Server {
    node("everything", |_| vec!["stdio".to_owned()], |_| ToolCall::new("echo").with_argument("message", "hi"))
}

fn filesystem() -> Server {
    let path = |folder: &str| vec![folder.to_owned()];
    node("filesystem", path, |folder| ToolCall::new("list_directory").with_argument("path", folder))
}

fn memory() -> Server {
    node("memory", |_| Vec::new(), |_| ToolCall::new("read_graph"))
}

fn time() -> Server {
    let call = ToolCall::new("get_current_time").with_argument("timezone", "Etc/UTC");
    server("time", installed("python/bin/mcp-server-time"), |_| Vec::new(), |_| call)
}

fn git() -> Server {
    let repository = |folder: &str| {
        assert!(Command::new("git").args(["init", "-q", folder]).status().unwrap().success());
        vec!["--repository".to_owned(), folder.to_owned()]
    };
    let call = |folder: &str| ToolCall::new("git_status").with_argument("repo_path", folder);
    server("git", installed("python/bin/mcp-server-git"), repository, call)
}

/// Where the servers are, as `tests/real-servers/install` leaves them.
pub(crate) fn installed(path: &str) -> PathBuf {
    let there = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/real-servers").join(path);
    assert!(there.exists(), "not installed: run tests/real-servers/install target/real-servers");
    there
}

fn node(
    name: &'static str,
    arguments: impl Fn(&str) -> Vec<String>,
    reads: impl FnOnce(&str) -> ToolCall,
) -> Server {
    server(name, installed(&format!("node_modules/.bin/mcp-server-{name}")), arguments, reads)
}

fn server(
    name: &'static str,
    program: PathBuf,
    arguments: impl Fn(&str) -> Vec<String>,
    reads: impl FnOnce(&str) -> ToolCall,
) -> Server {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "hello").unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    Server { name, program, arguments: arguments(&path), reads: reads(&path), folder }
}

impl Server {
    /// Starts the server itself.
    pub(crate) fn direct(&self, family: &Family) -> StdioConnector {
        self.with_environment(StdioConnector::new(&self.program).args(&self.arguments), family)
    }

    /// Starts it as npx and uvx do: below a process that only waits for it.
    pub(crate) fn below_a_launcher(&self, family: &Family) -> StdioConnector {
        let launcher =
            StdioConnector::new("/bin/sh").args(["-c", "\"$0\" \"$@\"; exit $?"]).arg(&self.program);
        self.with_environment(launcher.args(&self.arguments), family)
    }

    /// The words that start the server itself.
    pub(crate) fn command_line(&self) -> impl Iterator<Item = OsString> {
        [self.program.clone().into()].into_iter().chain(self.arguments.iter().map(OsString::from))
    }

    /// What it needs in its environment, and the mark of its family.
    pub(crate) fn environment(&self, family: &Family) -> [(&'static str, OsString); 2] {
        let (name, value) = family.mark();
        [(name, value.into()), ("MEMORY_FILE_PATH", self.folder.path().join("memory.jsonl").into())]
    }

    fn with_environment(&self, connector: StdioConnector, family: &Family) -> StdioConnector {
        self.environment(family)
            .into_iter()
            .fold(connector, |connector, (name, value)| connector.env(name, value))
    }

    /// A call that is slow enough to be killed in its middle, and tells of its progress.
    pub(crate) fn slow(&self) -> Option<ToolCall> {
        let arguments = json!({"duration": 2, "steps": 20}).as_object().unwrap().clone();
        (self.name == "everything")
            .then(|| ToolCall::new("trigger-long-running-operation").with_arguments(arguments))
    }
}
