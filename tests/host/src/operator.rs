use std::sync::atomic::{AtomicU64, Ordering};

use mcp_tool::{Happening, InvocationInfo, Observer, Outcome};
use tokio::sync::mpsc;

/// Tells an operator what happens, one line each, and counts what needs somebody's attention.
///
/// Lines go into a channel, since an observer must not block.
pub struct Operator {
    lines: mpsc::UnboundedSender<String>,
    in_doubt: AtomicU64,
}

impl Operator {
    pub fn new() -> (Self, mpsc::UnboundedReceiver<String>) {
        let (lines, read) = mpsc::unbounded_channel();
        (Self { lines, in_doubt: AtomicU64::new(0) }, read)
    }

    /// How many calls ended without anybody knowing whether they ran.
    pub fn in_doubt(&self) -> u64 {
        self.in_doubt.load(Ordering::Relaxed)
    }
}

impl Observer for Operator {
    fn observe(&self, invocation: &InvocationInfo<'_>, happening: &Happening) {
        let what = match happening {
            Happening::Failed { kind, delivery, .. } => format!("failed: {}, {delivery:?}", kind.code()),
            Happening::Decided { checkpoint, decision, .. } => format!("{checkpoint:?}: {decision:?}"),
            Happening::Ended { outcome, reason, attempts, replays, .. } => {
                if *outcome == Some(Outcome::Unknown) {
                    self.in_doubt.fetch_add(1, Ordering::Relaxed);
                }
                let outcome = outcome.map_or("answered", |outcome| outcome.code());
                let reason = reason.map_or("-", |reason| reason.code());
                format!("{outcome} ({reason}), attempts: {attempts}, replays: {replays}")
            }
            _ => return,
        };
        // A tool's name may be any text; `{:?}` escapes it and keeps it short.
        _ = self.lines.send(format!("{invocation:?}: {what}"));
    }
}
