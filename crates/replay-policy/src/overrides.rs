use std::sync::Arc;

use crate::FailedAttempt;

/// The tools that an operator has ruled on, by name. There are few: they are searched in turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    never: Vec<Tool>,
    safe: Vec<Tool>,
}

/// One tool, of one server or (`None`) of any.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) server: Option<Arc<str>>,
    pub(crate) name: Arc<str>,
}

impl Overrides {
    pub(crate) fn add_never(&mut self, tool: Tool) {
        self.never.push(tool);
    }

    pub(crate) fn add_safe(&mut self, tool: Tool) {
        self.safe.push(tool);
    }

    /// In doubt yes: an attempt that does not name its server may be the one that is meant.
    pub(crate) fn never(&self, attempt: &FailedAttempt) -> bool {
        self.never.iter().any(|tool| {
            *tool.name == *attempt.tool()
                && tool
                    .server
                    .as_deref()
                    .is_none_or(|ruled_out| attempt.server().is_none_or(|server| server == ruled_out))
        })
    }

    /// In doubt no: an attempt that does not name its server is only safe where every server is.
    pub(crate) fn safe(&self, attempt: &FailedAttempt) -> bool {
        self.safe.iter().any(|tool| {
            *tool.name == *attempt.tool()
                && tool.server.as_deref().is_none_or(|vouched_for| attempt.server() == Some(vouched_for))
        })
    }
}
