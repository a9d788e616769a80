//! The lines of a ledger.
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of a ledger. `start` is the number of the process's start, counted from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// What a drill is about. Written before the first start, by whoever starts the server.
    Drill {
        /// How the client reaches the server.
        transport: String,
        /// The name of what goes wrong.
        fault: String,
        /// The name of the tool's hints, or their JSON.
        hints: String,
    },
    /// A process began; the `n`th such line is the `n`th start.
    Start {
        /// Its process id.
        pid: u32,
    },
    /// A process listens for connections over HTTP.
    Listening {
        /// The start it belongs to.
        start: u32,
        /// The port, on the loopback interface.
        port: u16,
    },
    /// A process started a child of its own.
    Grandchild {
        /// The start it belongs to.
        start: u32,
        /// The child's process id.
        pid: u32,
    },
    /// The handshake was answered.
    Handshake {
        /// The start it belongs to.
        start: u32,
        /// The protocol revision that was answered.
        version: String,
    },
    /// A `tools/list` was read.
    List(Listing),
    /// A `tools/call` was read.
    Received(Receipt),
    /// A tool ran. The line is on disk before the answer leaves.
    Executed(Execution),
    /// A fault struck.
    Fault {
        /// The start it belongs to.
        start: u32,
        /// Its name, such as `die_after_commit`.
        fault: String,
    },
    /// A `notifications/cancelled` was read.
    Cancelled(Cancellation),
    /// The client replied to what a call asked it.
    Replied {
        /// The start it belongs to.
        start: u32,
        /// Whether the reply was a result, not an error.
        result: bool,
    },
    /// A call became a task. The line is on disk before the answer leaves.
    Tasked {
        /// The start it belongs to.
        start: u32,
        /// The task's id.
        task: String,
        /// The tool whose result it has.
        tool: String,
    },
    /// A request about a task was read.
    AboutTask {
        /// The start it belongs to.
        start: u32,
        /// `tasks/get`, `tasks/update` or `tasks/cancel`.
        method: String,
        /// The task's id.
        task: String,
    },
    /// A message was read over HTTP that carries no session of this process, and refused. A `tools/call`
    /// is received, too.
    TurnedAway {
        /// The start it belongs to.
        start: u32,
        /// Its method, none for a reply.
        method: Option<String>,
    },
    /// An HTTP GET was read.
    Get {
        /// The start it belongs to.
        start: u32,
        /// The `Last-Event-ID` after which a stream is to be resumed, none for a new stream.
        last_event_id: Option<String>,
    },
    /// An HTTP DELETE was read.
    Delete {
        /// The start it belongs to.
        start: u32,
        /// Whether it ended a session of this process.
        known: bool,
    },
    /// A process ended by itself. One that was killed leaves no such line.
    Exit {
        /// The start it belongs to.
        start: u32,
        /// What ended it.
        why: Exit,
    },
}

/// A request for a page of tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The start it belongs to.
    pub start: u32,
    /// The cursor, none for the first page.
    pub cursor: Option<String>,
}

/// A `tools/call` that a server has read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The start it belongs to.
    pub start: u32,
    /// Its number within that start, counted from 1.
    pub call: u32,
    /// Its JSON-RPC id.
    pub id: Value,
    /// The tool it names.
    pub tool: String,
    /// A digest of its arguments: equal for equal JSON.
    pub arguments: String,
    /// Whether it brings back the state of a request for input.
    #[serde(default)]
    pub continues: bool,
}

/// A side effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// The start it belongs to.
    pub start: u32,
    /// The JSON-RPC id of its call.
    pub id: Value,
    /// The tool that ran.
    pub tool: String,
    /// The argument `key` of its call, `null` without one: tells invocations apart.
    pub key: Value,
}

/// A cancellation that a server has read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cancellation {
    /// The start it belongs to.
    pub start: u32,
    /// The JSON-RPC id of the request that is no longer wanted.
    pub id: Value,
}

/// What ended a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exit {
    /// The end of its standard input.
    Eof,
    /// Its scenario.
    Fault,
    /// Nothing had ended it for ten minutes.
    Forgotten,
}
