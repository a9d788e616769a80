//! What a fault server is told to do.
use super::{
    Fault, Http, ToolSpec, Tools, When,
    paging::{Cursors, PageFault},
};
use serde::{Deserialize, Serialize};
use std::{ffi::OsString, path::Path};

/// A server's whole behaviour, over all its starts.
///
/// Every setter has a default that is harmless: a fresh scenario is a legacy server without tools
/// that answers everything as it should and ends at the end of its input.
///
/// ```
/// use mcp_tool_cli::fault_server::{Fault, Scenario, ToolSpec};
/// use serde_json::json;
///
/// let safe = ToolSpec::new("put").annotations(json!({"idempotentHint": true}));
/// let scenario = Scenario::new()
///     .tool(safe)
///     .on_call(1, Fault::DieAfterCommit)
///     .from_start(2, Scenario::new().tool(ToolSpec::new("put")));
/// let arguments = scenario.to_args("ledger.jsonl".as_ref());
/// assert_eq!(arguments[0], "--ledger");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    pub(super) era: Era,
    pub(super) tools: Tools,
    pub(super) page_size: Option<usize>,
    pub(super) cursors: Cursors,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) pages: Vec<(u32, PageFault)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<(Nth, Fault)>,
    pub(super) startup: Option<Startup>,
    pub(super) dies: Option<When>,
    pub(super) ending: Ending,
    pub(super) grandchild: Option<Holds>,
    pub(super) http: Http,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    later: Vec<(u32, Scenario)>,
}

impl Scenario {
    /// A healthy server without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which protocol revisions it speaks. Default: [`Era::Legacy`].
    pub fn era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }

    /// Adds one tool at the end of the list.
    pub fn tool(mut self, tool: ToolSpec) -> Self {
        self.tools = self.tools.with(tool);
        self
    }

    /// Replaces all its tools. Default: none.
    pub fn tools(mut self, tools: Tools) -> Self {
        self.tools = tools;
        self
    }

    /// How many tools a page of `tools/list` holds, at least 1. Default: all of them.
    pub fn page_size(mut self, tools: usize) -> Self {
        self.page_size = Some(tools.max(1));
        self
    }

    /// How `tools/list` hands out cursors. Default: [`Cursors::Numbered`].
    pub fn cursors(mut self, cursors: Cursors) -> Self {
        self.cursors = cursors;
        self
    }

    /// What goes wrong with the `page`th page of `tools/list`, counted from 1. Default: nothing.
    pub fn on_page(mut self, page: u32, fault: PageFault) -> Self {
        self.pages.push((page, fault));
        self
    }

    /// What goes wrong with the `k`th `tools/call`, counted from 1 over the whole ledger, so over all
    /// starts. Default: nothing. Of several faults for one call the one that was added first strikes.
    ///
    /// A fault that strikes before the call is read waits until all calls before it were read and,
    /// if this process has read none, until it has answered a last page of `tools/list`.
    pub fn on_call(self, k: u32, fault: impl Into<Fault>) -> Self {
        self.on(Nth::OfLedger(k), fault.into())
    }

    /// Like [`on_call`](Self::on_call), counted within one process.
    pub fn on_call_of_start(self, k: u32, fault: impl Into<Fault>) -> Self {
        self.on(Nth::OfStart(k), fault.into())
    }

    /// What goes wrong with every call that has no fault of its own yet.
    pub fn on_every_call(self, fault: impl Into<Fault>) -> Self {
        self.on(Nth::Every, fault.into())
    }

    fn on(mut self, nth: Nth, fault: Fault) -> Self {
        self.calls.push((nth, fault));
        self
    }

    /// What goes wrong before the first answer. Default: nothing.
    pub fn startup(mut self, startup: Startup) -> Self {
        self.startup = Some(startup);
        self
    }

    /// Dies at this moment, counted from the start of the process, whatever it is doing. Default: never.
    pub fn dies(mut self, when: When) -> Self {
        self.dies = Some(when);
        self
    }

    /// What ends the process. Default: [`Ending::AtEof`].
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// Starts a child of its own, in the same process group, that does nothing but hold what it
    /// inherited. Default: none.
    pub fn grandchild(mut self, holds: Holds) -> Self {
        self.grandchild = Some(holds);
        self
    }

    /// How it behaves over Streamable HTTP. Default: [`Http::new`].
    pub fn http(mut self, http: Http) -> Self {
        self.http = http;
        self
    }

    /// From the `n`th start on, counted from 1 over the ledger, `scenario` holds instead of this one,
    /// as a whole, until a later start has another.
    pub fn from_start(mut self, n: u32, mut scenario: Scenario) -> Self {
        let nested = std::mem::take(&mut scenario.later);
        self.later.push((n, scenario));
        self.later.extend(nested);
        self
    }

    /// The arguments that make a fault server play this scenario and write to `ledger`, over standard
    /// input and output. `--http` and a port after them make it an HTTP server.
    ///
    /// # Panics
    ///
    /// Panics when a path in the scenario is not valid UTF-8.
    pub fn to_args(&self, ledger: &Path) -> Vec<OsString> {
        let json = serde_json::to_string(self).expect("the paths of a scenario are valid UTF-8");
        vec!["--ledger".into(), ledger.into(), "--scenario".into(), json.into()]
    }

    /// The scenario of the `n`th start.
    pub(super) fn of_start(self, n: u32) -> Self {
        let last = self.later.iter().filter(|(from, _)| *from <= n).max_by_key(|(from, _)| *from);
        last.map(|(_, scenario)| scenario.clone()).unwrap_or(self)
    }

    pub(super) fn fault(&self, of_ledger: u32, of_start: u32) -> Option<&Fault> {
        let strikes = |nth: &Nth| match *nth {
            Nth::OfLedger(k) => k == of_ledger,
            Nth::OfStart(k) => k == of_start,
            Nth::Every => true,
        };
        self.calls.iter().find(|(nth, _)| strikes(nth)).map(|(_, fault)| fault)
    }

    pub(super) fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.calls.iter().map(|(_, fault)| fault)
    }

    /// The faults of all starts.
    pub(super) fn all_faults(&self) -> impl Iterator<Item = &Fault> {
        self.faults().chain(self.later.iter().flat_map(|(_, scenario)| scenario.faults()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Nth {
    OfLedger(u32),
    OfStart(u32),
    Every,
}

/// Which protocol revisions a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Era {
    /// `initialize`, up to 2025-11-25; `server/discover` is an unknown method.
    #[default]
    Legacy,
    /// 2026-07-28 only; `initialize` is an unknown method.
    Modern,
    /// Both.
    Dual,
}

/// What goes wrong before the first answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Startup {
    /// Exits at once with this code.
    Exit {
        /// The exit code.
        code: u8,
    },
    /// Exits at once with code 1 on the first `starts` starts of the ledger, and is healthy afterwards.
    ExitFirst {
        /// How many starts fail.
        starts: u32,
    },
    /// Prints this line on standard output, then serves as usual.
    Banner {
        /// The line, without its newline.
        line: String,
    },
    /// Reads everything, and answers neither `initialize` nor `server/discover`.
    NeverAnswers,
}

/// What ends a server's process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// The end of its standard input, or a signal.
    #[default]
    AtEof,
    /// A signal; the end of its input alone does not end it.
    AtSignal,
    /// Nothing but `SIGKILL`: it also ignores `SIGTERM`, `SIGINT` and `SIGHUP`. Unix only.
    AtKill,
}

/// What a server's child keeps open of the pipes to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Holds {
    /// Nothing.
    Nothing,
    /// The read end of the client's requests.
    Stdin,
    /// The write end of the answers.
    Stdout,
    /// The write end of the diagnostics.
    Stderr,
    /// All three.
    All,
}
