use std::{
    ffi::OsString,
    fs, io,
    io::{Read, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use mcp_tool_cli::fault_server::{Ledger, Record, Scenario, ToolSpec};
use serde_json::{Value, json};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_mcp-tool");

/// A home with nothing in it, a folder to work in, and one ledger. When it goes, no process that the
/// ledger knows may be left.
pub(crate) struct Bench {
    root: tempfile::TempDir,
    pub(crate) ledger: Ledger,
}

/// What a run of the command has left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A fault server over HTTP, which ends with the pipe to it.
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) url: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for folder in ["home", "config", "work"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { ledger: Ledger::new(root.path().join("ledger.jsonl")), root }
    }

    /// The folder that the command runs in, as the system knows it.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work").canonicalize().unwrap()
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.root.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    /// The user's own configuration.
    pub(crate) fn configure(&self, servers: Value) {
        self.file("config/mcp-tool/mcp.json", &json!({ "mcpServers": servers }).to_string());
    }

    /// The command, not yet run.
    pub(crate) fn command<A: Into<OsString>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(EXE);
        command
            .args(arguments.into_iter().map(Into::into))
            .env("HOME", self.root.path().join("home"))
            .env("XDG_CONFIG_HOME", self.root.path().join("config"))
            .env("XDG_CACHE_HOME", self.root.path().join("cache"))
            .current_dir(self.work())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run<A: Into<OsString>>(&self, arguments: impl IntoIterator<Item = A>) -> Ran {
        run(&mut self.command(arguments))
    }

    /// Runs words of a line, and then `-- COMMAND` for a server that plays the scenario.
    pub(crate) fn run_on(&self, line: &str, scenario: &Scenario) -> Ran {
        self.run(self.line_on(line, scenario))
    }

    pub(crate) fn line_on(&self, line: &str, scenario: &Scenario) -> Vec<OsString> {
        let words = line.split_whitespace().map(OsString::from);
        words.chain([OsString::from("--")]).chain(self.server(scenario)).collect()
    }

    /// The command line of a server that plays the scenario.
    pub(crate) fn server(&self, scenario: &Scenario) -> Vec<OsString> {
        let program = [OsString::from(EXE), "fault-server".into()];
        program.into_iter().chain(scenario.to_args(self.ledger.path())).collect()
    }

    /// The same as an entry of `mcpServers`.
    pub(crate) fn entry(&self, scenario: &Scenario) -> Value {
        let words = self.server(scenario).into_iter().map(|word| word.into_string().unwrap());
        // The scenario's own dollar signs would expand.
        let words: Vec<_> = words.map(|word| word.replace('$', "$$")).collect();
        json!({ "command": words[0], "args": words[1..] })
    }

    pub(crate) fn http_server(&self, scenario: &Scenario) -> HttpServer {
        let child = Command::new(EXE)
            .arg("fault-server")
            .args(scenario.to_args(self.ledger.path()))
            .args(["--http", "0"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let port = self.wait(|record| !record.ports().is_empty()).ports()[0];
        HttpServer { child, url: format!("http://127.0.0.1:{port}/mcp") }
    }

    pub(crate) fn wait(&self, wanted: impl Fn(&Record) -> bool) -> Record {
        self.ledger.wait_for(PATIENCE, wanted).unwrap()
    }

    /// How often a server was started and its tools ran.
    pub(crate) fn starts_and_executions(&self) -> (usize, usize) {
        let record = self.ledger.read().unwrap();
        (record.starts().len(), record.executions().len())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.ledger.pids().unwrap().into_iter().for_each(assert_gone);
        }
    }
}

impl HttpServer {
    pub(crate) fn end(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Asserts a problem: exit code 2, this one line on standard error, and nothing else.
    pub(crate) fn assert_problem(&self, line: &str) {
        assert_eq!((self.code, &*self.stdout), (Some(2), ""), "{self:?}");
        assert_eq!(self.stderr, format!("mcp-tool: {line}\n"));
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Ran {
    finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// Waits for a command to end, reading what it says meanwhile. One that does not end is killed, and a
/// failure.
pub(crate) fn finish(mut child: Child) -> Ran {
    let stdout = child.stdout.take().map(|stream| thread::spawn(|| io::read_to_string(stream)));
    let stderr = child.stderr.take().map(|stream| thread::spawn(|| io::read_to_string(stream)));
    let status = ended(&mut child);
    let text = |reader: Option<thread::JoinHandle<io::Result<String>>>| {
        reader.map(|reader| reader.join().unwrap().unwrap()).unwrap_or_default()
    };
    let ran =
        Ran { code: status.and_then(|status| status.code()), stdout: text(stdout), stderr: text(stderr) };
    assert!(status.is_some(), "it did not end: {ran:?}");
    ran
}

/// The status of a command that has ended; none for one that had to be killed.
pub(crate) fn ended(child: &mut Child) -> Option<ExitStatus> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

/// The usual tool.
pub(crate) fn put() -> Scenario {
    Scenario::new().tool(ToolSpec::new("put"))
}

/// The same, and it says that repeating it is safe.
pub(crate) fn safe_put() -> Scenario {
    Scenario::new().tool(ToolSpec::new("put").annotations(json!({ "idempotentHint": true })))
}

/// An HTTP server that gives every request the same response, and tells what it was asked.
pub(crate) struct Page {
    pub(crate) url: String,
    pub(crate) requests: Receiver<String>,
}

impl Page {
    pub(crate) fn new(status: &str, content_type: &str, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let (tell, requests) = channel();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                let mut request = vec![0; 64 * 1024];
                let read = connection.read(&mut request).unwrap_or(0);
                request.truncate(read);
                let _ = tell.send(String::from_utf8(request).unwrap());
                let _ = connection.write_all(format!("{head}{body}").as_bytes());
            }
        });
        Self { url, requests }
    }
}

/// Waits until no process with this id runs; one that nobody has reaped yet does not run.
pub(crate) fn assert_gone(pid: u32) {
    let until = Instant::now() + PATIENCE;
    while runs(pid) {
        assert!(Instant::now() < until, "process {pid} is left");
        thread::yield_now();
    }
}

fn runs(pid: u32) -> bool {
    let status = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let state = String::from_utf8(status.stdout).unwrap();
    !(state.trim().is_empty() || state.starts_with('Z'))
}

pub(crate) fn display(path: &Path) -> String {
    path.display().to_string()
}
