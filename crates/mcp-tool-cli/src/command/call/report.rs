use std::path::Path;

use mcp_tool::{Answer, CallReply, Outcome, Reason, ToolError, rmcp::model::ErrorData};
use serde::Serialize;

use super::{attachments::Attachments, text};
use crate::command::{
    exit::Exit,
    output::{self, Format},
    screen::Screen,
};

/// How a call ended, its problems aside.
pub(super) enum Ended {
    Answered(Answer),
    /// There is no answer, for this reason, as a person reads it.
    Failed(ToolError, String),
    /// The call was not made, for this reason, as a person reads it.
    NotMade(Reason, String),
}

/// What is told of a call that ended.
pub(super) struct Report<'a> {
    json: Json<'a>,
    /// For a person, on standard error.
    lines: Vec<String>,
    exit: Exit,
}

/// The contract with scripts.
#[derive(Serialize)]
struct Json<'a> {
    outcome: &'static str,
    reason: Option<&'static str>,
    attempts: u32,
    replays: u32,
    result: Option<Reply<'a>>,
    error: Option<&'a ErrorData>,
}

/// A reply that is no JSON-RPC error.
#[derive(Serialize)]
#[serde(transparent)]
struct Reply<'a>(#[serde(serialize_with = "reply")] &'a CallReply);

fn reply<S: serde::Serializer>(reply: &CallReply, serializer: S) -> Result<S::Ok, S::Error> {
    match reply {
        // What is left out is false (MCP, server/tools), and scripts should not have to know that.
        CallReply::Result(result) if result.is_error.is_none() => {
            let mut result = result.clone();
            result.is_error = Some(false);
            result.serialize(serializer)
        }
        CallReply::Result(result) => result.serialize(serializer),
        CallReply::InputRequired(request) => request.serialize(serializer),
        CallReply::Task(task) => task.serialize(serializer),
        _ => serializer.serialize_none(),
    }
}

impl<'a> Report<'a> {
    pub(super) fn new(ended: &'a Ended) -> Self {
        match ended {
            Ended::Answered(answer) => Self::answered(answer),
            Ended::Failed(error, line) => Self::failed(error, line),
            Ended::NotMade(reason, line) => Self::not_made(*reason, line),
        }
    }

    fn answered(answer: &'a Answer) -> Self {
        let (result, error) = match &answer.reply {
            CallReply::Error(error) => (None, Some(error)),
            reply => (Some(Reply(reply)), None),
        };
        let mut lines = Vec::new();
        match &answer.reply {
            CallReply::Error(error) => {
                lines.push(format!("the server answered with error {}: {}", error.code.0, error.message));
            }
            reply if reply.is_error() => lines.push("the tool answered that it failed".into()),
            CallReply::InputRequired(_) => {
                lines.push(
                    "the server asks for input before it goes on, which this command cannot give".into(),
                );
            }
            CallReply::Task(_) => lines.push("the server made a task of the call and works on it".into()),
            _ => {}
        }
        if answer.earlier_unknown {
            lines.push(
                "an earlier attempt may have run, too: the answer may speak of what that one did".into(),
            );
        }
        Self {
            json: Json {
                outcome: "completed",
                reason: None,
                attempts: answer.attempts,
                replays: answer.replays,
                result,
                error,
            },
            lines,
            exit: if answer.reply.is_error() { Exit::ErrorAnswer } else { Exit::Completed },
        }
    }

    fn failed(error: &ToolError, line: &str) -> Self {
        Self {
            json: Json {
                outcome: error.outcome().code(),
                reason: Some(error.reason().code()),
                attempts: error.attempts(),
                replays: error.replays(),
                result: None,
                error: None,
            },
            lines: vec![line.to_owned()],
            exit: match (error.reason(), error.outcome()) {
                (Reason::Cancelled, _) => Exit::Cancelled,
                (_, Outcome::NotExecuted) => Exit::NotExecuted,
                (_, Outcome::Unknown) => Exit::Unknown,
            },
        }
    }

    fn not_made(reason: Reason, line: &str) -> Self {
        Self {
            json: Json {
                outcome: Outcome::NotExecuted.code(),
                reason: Some(reason.code()),
                attempts: 0,
                replays: 0,
                result: None,
                error: None,
            },
            lines: vec![format!("the tool was not executed ({reason}): {line}")],
            exit: if reason == Reason::Cancelled { Exit::Cancelled } else { Exit::NotExecuted },
        }
    }

    /// Writes the result to standard output, and to standard error what a person should know. What is no
    /// text is saved in the folder, if there is one.
    pub(super) fn tell(&self, output: Format, folder: Option<&Path>, screen: &Screen) -> Exit {
        let mut attachments = Attachments::new(folder);
        let text = match (output, &self.json.result) {
            (Format::Json, _) => serde_json::to_string(&self.json).unwrap_or_default() + "\n",
            (Format::Text, Some(Reply(reply))) => text::of(reply, &mut attachments),
            (Format::Text, None) => String::new(),
        };
        let written = output::write(&text);
        for line in &self.lines {
            screen.line(line);
        }
        let problems = [
            written.err().map(|error| format!("the result could not be written: {error}")),
            attachments.into_problem().map(|error| format!("not all of the result could be saved: {error}")),
        ];
        let mut exit = self.exit;
        for problem in problems.into_iter().flatten() {
            screen.line(&problem);
            if exit == Exit::Completed {
                exit = Exit::ErrorAnswer;
            }
        }
        exit
    }
}
