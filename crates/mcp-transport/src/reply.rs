use std::fmt;

use rmcp::model::{CallToolResult, CreateTaskResult, ErrorData, InputRequiredResult, TaskPayload};

use crate::{TransportError, answer};

/// What the server answered to one `tools/call`. An answer is final: it is handed on unchanged.
///
/// `Debug` prints the shape only, never the content.
#[non_exhaustive]
#[derive(Clone)]
pub enum CallReply {
    /// A result; `isError: true` is a result like any other.
    Result(Box<CallToolResult>),
    /// A JSON-RPC error that carries the request's id.
    Error(ErrorData),
    /// 2026-07-28: the server asks for input before it goes on. The continuation is a call of its own
    /// and is never replayed.
    InputRequired(Box<InputRequiredResult>),
    /// The tasks extension: the server made a task of the call; its id is in here.
    Task(Box<CreateTaskResult>),
}

impl CallReply {
    /// What a task that has ended answers to the call that it was made of.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidReply`](crate::ErrorKind::InvalidReply) when it is no answer to a call, or the
    /// task has not ended with one.
    pub fn of_task(payload: TaskPayload) -> Result<Self, TransportError> {
        match payload {
            TaskPayload::Completed { result } => answer::call_result(&answer::raw(&result)?),
            TaskPayload::Failed { error } => {
                let error = serde_json::from_value(error.into()).map_err(TransportError::invalid_reply)?;
                Ok(Self::Error(error))
            }
            _ => Err(TransportError::invalid_reply("a task that has not ended with an answer")),
        }
    }

    /// The result, when the server gave one.
    pub fn result(&self) -> Option<&CallToolResult> {
        match self {
            Self::Result(result) => Some(result),
            _ => None,
        }
    }

    /// Whether the answer says that the tool failed: a JSON-RPC error, or a result with `isError: true`.
    pub fn is_error(&self) -> bool {
        match self {
            Self::Result(result) => result.is_error == Some(true),
            Self::Error(_) => true,
            Self::InputRequired(_) | Self::Task(_) => false,
        }
    }
}

impl From<CallToolResult> for CallReply {
    fn from(result: CallToolResult) -> Self {
        Self::Result(Box::new(result))
    }
}

impl From<ErrorData> for CallReply {
    fn from(error: ErrorData) -> Self {
        Self::Error(error)
    }
}

impl fmt::Debug for CallReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(result) => {
                f.debug_struct("Result").field("is_error", &result.is_error).finish_non_exhaustive()
            }
            Self::Error(error) => {
                f.debug_struct("Error").field("code", &error.code.0).finish_non_exhaustive()
            }
            Self::InputRequired(_) => f.write_str("InputRequired"),
            Self::Task(_) => f.write_str("Task"),
        }
    }
}
