//! Calls that become tasks. The ledger is what they are kept in.
use super::{
    Fault, Kept,
    event::Event,
    protocol::{Protocol, Request},
    step::Step,
};
use serde_json::{Value, json};
use std::io;

/// How far a task is.
enum Progress {
    Working,
    Completed(String),
    Cancelled,
    Unknown,
}

impl Protocol {
    /// Whether there can be tasks at all: otherwise nothing about them is understood.
    pub(super) fn keeps_tasks(&self) -> bool {
        self.keeping().is_some()
    }

    fn keeping(&self) -> Option<(u32, Kept)> {
        self.scenario.all_faults().find_map(|fault| match fault {
            Fault::KeptTask { looks, kept } => Some((*looks, *kept)),
            _ => None,
        })
    }

    /// The id of the task that the call which was read last becomes.
    pub(super) fn task_id(&self) -> String {
        format!("task-{}-{}", self.journal.start(), self.calls)
    }

    pub(super) fn keep_task(&self, tool: &str) -> io::Result<()> {
        let (start, task) = (self.journal.start(), self.task_id());
        self.journal.commit(&Event::Tasked { start, task, tool: tool.to_owned() })
    }

    pub(super) fn about_task(&mut self, method: &str, request: &Request) -> io::Result<Vec<Step>> {
        let task = request.params["taskId"].as_str().unwrap_or_default();
        let progress = self.progress(task)?;
        let (start, method) = (self.journal.start(), method.to_owned());
        self.journal.record(&Event::AboutTask { start, method: method.clone(), task: task.to_owned() })?;
        Ok(vec![match progress {
            // SEP-2663, protocol errors.
            Progress::Unknown => request.error(-32602, "unknown task"),
            _ if method != "tasks/get" => request.result(json!({"resultType": "complete"})),
            Progress::Working => request.result(state(task, "working")),
            Progress::Cancelled => request.result(state(task, "cancelled")),
            Progress::Completed(tool) => {
                let mut completed = state(task, "completed");
                let content = json!([{"type": "text", "text": format!("{tool} ran")}]);
                completed["result"] = json!({"content": content, "isError": false});
                request.result(completed)
            }
        }])
    }

    fn progress(&self, asked: &str) -> io::Result<Progress> {
        let Some((looks, kept)) = self.keeping() else { return Ok(Progress::Unknown) };
        let (mut tool, mut seen, mut cancelled) = (None, 0, false);
        for event in self.ledger.read()?.events() {
            match event {
                Event::Tasked { start, task, tool: made_by }
                    if task == asked && (kept == Kept::ByLedger || *start == self.journal.start()) =>
                {
                    tool = Some(made_by.clone());
                }
                Event::AboutTask { method, task, .. } if task == asked => {
                    seen += u32::from(method == "tasks/get");
                    cancelled |= method == "tasks/cancel";
                }
                _ => {}
            }
        }
        Ok(match tool {
            None => Progress::Unknown,
            Some(_) if cancelled => Progress::Cancelled,
            Some(_) if seen < looks => Progress::Working,
            Some(tool) => Progress::Completed(tool),
        })
    }
}

/// The answer that makes a task of a call.
pub(super) fn made(task: &str) -> Value {
    let mut made = state(task, "working");
    made["resultType"] = json!("task");
    made
}

fn state(task: &str, status: &str) -> Value {
    json!({
        "resultType": "complete",
        "taskId": task,
        "status": status,
        "createdAt": "2026-07-28T00:00:00Z",
        "lastUpdatedAt": "2026-07-28T00:00:00Z",
        "ttlMs": null,
        "pollIntervalMs": 100,
    })
}
