//! All processes that come of one connector, known by a mark in their environment.

use std::{
    fs,
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::process::Signal;

use crate::process;

const MARK: &str = "MCP_TOOL_TEST_FAMILY";

pub(crate) struct Family(String);

impl Family {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The variable that marks a process and its descendants.
    pub(crate) fn mark(&self) -> (&'static str, &str) {
        (MARK, &self.0)
    }

    /// Those that run now.
    pub(crate) fn members(&self) -> Vec<u32> {
        let mark = format!("{MARK}={}", self.0);
        let processes =
            fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
        let pids = processes.filter_map(|name| name.parse().ok()).filter(|pid| process::runs(*pid));
        pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        })
        .collect()
    }

    /// The process that was started for the connection: it leads their group.
    pub(crate) fn leader(&self) -> u32 {
        let leaders: Vec<_> = self.members().into_iter().filter(|pid| group_of(*pid) == Some(*pid)).collect();
        let [leader] = leaders[..] else { panic!("one leader, not {leaders:?}") };
        leader
    }

    pub(crate) fn signal(&self, signal: Signal) {
        for pid in self.members() {
            process::signal(pid, signal);
        }
    }

    pub(crate) async fn all_gone(&self) {
        process::until("the whole family to end", || self.members().is_empty()).await;
    }
}

fn group_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse().ok()
}
