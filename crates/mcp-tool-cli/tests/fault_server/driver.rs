//! A client that knows nothing but lines: it drives one fault server over pipes.
use mcp_tool_cli::fault_server::{Ledger, Record, Scenario};
use serde_json::{Value, json};
use std::{
    fs,
    io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with one ledger.
pub(crate) struct Bench {
    folder: PathBuf,
    pub(crate) ledger: Ledger,
}

impl Bench {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("fault-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Self { ledger: Ledger::new(folder.join("ledger.jsonl")), folder }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn wait(&self, wanted: impl Fn(&Record) -> bool) -> Record {
        self.ledger.wait_for(PATIENCE, wanted).unwrap()
    }

    /// Starts a server in a process group of its own.
    pub(crate) fn start(&self, scenario: &Scenario) -> Server {
        let (requests, stdin) = io::pipe().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcp-tool"))
            .arg("fault-server")
            .args(scenario.to_args(self.ledger.path()))
            .stdin(requests.try_clone().unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let (send, lines) = channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).unwrap() > 0
                && send.send(std::mem::take(&mut line)).is_ok()
            {}
        });
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Server { child, requests, stdin, lines, stderr, next_id: 0 }
    }

    /// Starts a server, shakes hands and lists all its tools.
    pub(crate) fn ready(&self, scenario: &Scenario) -> Server {
        let mut server = self.start(scenario);
        server.initialize("2025-11-25");
        server.list_all();
        server
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let pids = self.ledger.pids().unwrap_or_default();
        let _ = fs::remove_dir_all(&self.folder);
        if !thread::panicking() {
            pids.into_iter().for_each(assert_gone);
        }
    }
}

pub(crate) struct Server {
    pub(crate) child: Child,
    /// What the server has not read.
    requests: PipeReader,
    pub(crate) stdin: PipeWriter,
    lines: Receiver<Vec<u8>>,
    pub(crate) stderr: BufReader<std::process::ChildStderr>,
    next_id: u64,
}

impl Server {
    pub(crate) fn send(&mut self, message: &Value) -> io::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes())
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).unwrap();
        id
    }

    /// A call of the tool `put` with this `key`.
    pub(crate) fn call(&mut self, key: &str) -> u64 {
        let params = json!({"name": "put", "arguments": {"key": key}, "_meta": {"progressToken": "t"}});
        self.request("tools/call", params)
    }

    /// The next line on the server's standard output with its newline; none at the end.
    pub(crate) fn line(&self) -> Option<Vec<u8>> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the server says nothing"),
        }
    }

    pub(crate) fn message(&self) -> Value {
        let line = self.line().expect("a line");
        assert_eq!(line.last(), Some(&b'\n'));
        serde_json::from_slice(&line).expect("JSON")
    }

    /// The result of a request, which must be the next message.
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let message = self.message();
        assert_eq!(message["id"], id, "{message}");
        message["result"].clone()
    }

    /// Proves that the server reads and answers, and that nothing else is under way on its output.
    pub(crate) fn ping(&mut self) {
        assert_eq!(self.result("ping", json!({})), json!({}));
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "driver", "version": "0"}});
        let result = self.result("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
        result
    }

    /// The names of the tools on all pages.
    pub(crate) fn list_all(&mut self) -> Vec<String> {
        let (mut names, mut params) = (Vec::new(), json!({}));
        loop {
            let page = self.result("tools/list", params);
            let tools = page["tools"].as_array().unwrap();
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
            match &page["nextCursor"] {
                Value::Null => return names,
                cursor => params = json!({"cursor": cursor}),
            }
        }
    }

    /// The exit code of a server that ends by itself.
    pub(crate) fn exit_code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Ends the input, which ends a healthy server.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<Vec<u8>>) {
        let (_, nowhere) = io::pipe().unwrap();
        self.stdin = nowhere;
        let rest = std::iter::from_fn(|| self.line()).collect();
        (self.child.wait().unwrap().code(), rest)
    }

    /// What the server, which has ended, has left in its standard input.
    pub(crate) fn unread(mut self) -> Vec<u8> {
        self.child.wait().unwrap();
        let (_, nowhere) = io::pipe().unwrap();
        drop(std::mem::replace(&mut self.stdin, nowhere));
        let mut left = Vec::new();
        self.requests.read_to_end(&mut left).unwrap();
        left
    }

    /// Closes the driver's own copy of the end that the server reads from.
    pub(crate) fn leave_reading_to_the_server(&mut self) {
        let (other, _) = io::pipe().unwrap();
        self.requests = other;
    }

    pub(crate) fn signal(&self, signal: &str) {
        kill(signal, &self.child.id().to_string());
    }

    pub(crate) fn signal_group(&self, signal: &str) {
        kill(signal, &format!("-{}", self.child.id()));
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The group may have members although its leader is gone.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

fn kill(signal: &str, whom: &str) {
    let status = Command::new("kill").args([&format!("-{signal}"), "--", whom]).status().unwrap();
    assert!(status.success());
}

/// Waits until no process with this id runs; one that nobody has reaped yet does not run.
pub(crate) fn assert_gone(pid: u32) {
    let until = Instant::now() + PATIENCE;
    while runs(pid) {
        assert!(Instant::now() < until, "process {pid} is left");
        thread::yield_now();
    }
}

pub(crate) fn runs(pid: u32) -> bool {
    let status = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let state = String::from_utf8(status.stdout).unwrap();
    !(state.trim().is_empty() || state.starts_with('Z'))
}
