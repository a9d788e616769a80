use std::sync::Arc;

use mcp_tool::{
    ReplayPolicy, ToolHandle, Trust,
    mcp_discovery::{DeclaredHints, Hint, ToolName},
    replay_policy::Decision,
    rmcp::model::JsonObject,
};
use mcp_tool_cli::config::ToolFilter;
use serde::Serialize;
use serde_json::{Value, json};

use super::Detail;
use crate::command::{
    after_loss,
    problem::Problem,
    session::{Listing, Unlisted},
};

/// What is known of one server.
pub(super) struct ServerView {
    pub(super) name: String,
    pub(super) known: Result<Known, Failure>,
}

/// A server that was listed.
pub(super) struct Known {
    pub(super) trust: Trust,
    pub(super) tools: Vec<ToolView>,
    /// The tools that the configuration leaves out.
    pub(super) left_out: usize,
    pub(super) set_aside: Vec<SetAside>,
    pub(super) warnings: Vec<&'static str>,
}

/// A server that was not.
pub(super) enum Failure {
    Problem(Problem),
    Unlisted { code: &'static str, line: String },
    Cancelled,
}

/// One tool, as the server declares it.
pub(super) struct ToolView {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) input_schema: Arc<JsonObject>,
    pub(super) hints: DeclaredHints,
    pub(super) ambiguous: bool,
    /// What the policy says of a call whose connection was lost, and which may have run.
    pub(super) after_loss: Decision,
}

#[derive(Serialize)]
pub(super) struct SetAside {
    pub(super) index: usize,
    pub(super) name: Option<String>,
    pub(super) reason: &'static str,
}

impl ServerView {
    pub(super) fn failed(name: String, failure: Failure) -> Self {
        Self { name, known: Err(failure) }
    }

    pub(super) fn listed(
        name: String,
        listing: &Listing,
        trust: Trust,
        allowed: &ToolFilter,
        policy: &dyn ReplayPolicy,
    ) -> Self {
        let allowed = |tool: &&ToolHandle| allowed.allows(tool.name());
        let tools: Vec<_> = listing
            .tools
            .iter()
            .filter(allowed)
            .map(|tool| ToolView::of(tool, &name, trust, policy))
            .collect();
        let set_aside = listing.catalog.quarantined().iter().map(|tool| SetAside {
            index: tool.index(),
            name: tool.name().map(ToolName::to_string),
            reason: tool.reason().code(),
        });
        let known = Known {
            trust,
            left_out: listing.tools.len() - tools.len(),
            tools,
            set_aside: set_aside.collect(),
            warnings: listing.catalog.warnings().iter().map(|warning| warning.code()).collect(),
        };
        Self { name, known: Ok(known) }
    }

    pub(super) fn failure(&self) -> Option<&Failure> {
        self.known.as_ref().err()
    }
}

impl ToolView {
    /// Asks the policy what it would be asked after a loss, before reconnecting.
    fn of(tool: &ToolHandle, server: &str, trust: Trust, policy: &dyn ReplayPolicy) -> Self {
        let definition = tool.definition();
        let typed = definition.definition();
        Self {
            name: tool.name().to_owned(),
            description: typed.description.as_deref().map(str::to_owned),
            input_schema: typed.input_schema.clone(),
            hints: definition.hints().unwrap_or_default(),
            ambiguous: definition.is_ambiguous(),
            after_loss: after_loss::decide(tool, server, trust, policy),
        }
    }
}

impl From<Unlisted> for Failure {
    fn from(unlisted: Unlisted) -> Self {
        match unlisted {
            Unlisted::Problem(problem) => Self::Problem(problem),
            Unlisted::Unreached(error, line) => Self::Unlisted { code: error.kind().code(), line },
            Unlisted::Cancelled => Self::Cancelled,
            Unlisted::DeadlinePassed => Self::Unlisted {
                code: "deadline",
                line: "within --timeout the server has not completed its handshake and listed its tools"
                    .into(),
            },
        }
    }
}

impl Failure {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Problem(_) => "configuration",
            Self::Unlisted { code, .. } => code,
            Self::Cancelled => "cancelled",
        }
    }

    pub(super) fn line(&self) -> String {
        match self {
            Self::Problem(problem) => problem.to_string(),
            Self::Unlisted { line, .. } => line.clone(),
            Self::Cancelled => "cancelled".into(),
        }
    }
}

/// The views for a program: one object.
pub(super) fn json(views: &[ServerView], detail: Detail) -> Value {
    json!({ "servers": views.iter().map(|view| view.json(detail)).collect::<Vec<_>>() })
}

impl ServerView {
    fn json(&self, detail: Detail) -> Value {
        match &self.known {
            Ok(known) => json!({
                "server": self.name,
                "trust": {
                    "server": known.trust.server_trusted(),
                    "workspace": known.trust.workspace_trusted(),
                },
                "tools": known.tools.iter().map(|tool| tool.json(detail)).collect::<Vec<_>>(),
                "left_out": known.left_out,
                "quarantined": known.set_aside,
                "warnings": known.warnings,
                "error": null,
            }),
            Err(failure) => json!({
                "server": self.name,
                "trust": null,
                "tools": [],
                "left_out": 0,
                "quarantined": [],
                "warnings": [],
                "error": { "reason": failure.code(), "message": failure.line() },
            }),
        }
    }
}

impl ToolView {
    fn json(&self, detail: Detail) -> Value {
        let reason = match self.after_loss {
            Decision::Replay => None,
            Decision::Deny(reason) => Some(reason.code()),
        };
        let mut tool = json!({
            "name": self.name,
            "description": self.description,
            "hints": {
                "readOnlyHint": hint(self.hints.read_only),
                "destructiveHint": hint(self.hints.destructive),
                "idempotentHint": hint(self.hints.idempotent),
            },
            "ambiguous": self.ambiguous,
            "after_loss": { "replay": reason.is_none(), "reason": reason },
        });
        if detail == Detail::Schemas {
            tool["input_schema"] = Value::Object((*self.input_schema).clone());
        }
        tool
    }
}

/// A hint as the server declares it: null where it does not.
fn hint(hint: Hint) -> Value {
    match hint {
        Hint::Absent => Value::Null,
        Hint::Declared(value) => value.into(),
        Hint::Malformed => "malformed".into(),
    }
}
