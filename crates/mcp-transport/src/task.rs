use std::{fmt, sync::Arc};

use rmcp::model::{
    CancelTaskParams, CancelTaskRequest, ClientRequest, DetailedTask, Extensions, GetTaskParams,
    GetTaskRequest, GetTaskResult, InputResponses, UpdateTaskParams, UpdateTaskRequest,
};
use serde_json::value::RawValue;

use crate::TransportError;

/// One request about a task that a server made of a call (the extension `io.modelcontextprotocol/tasks`).
///
/// None of them runs a tool, so each may be made again as often as need be. Who knows a task's id may ask
/// for its result: `Debug` prints no id.
#[non_exhaustive]
#[derive(Clone)]
pub enum TaskRequest {
    /// How far it is, and its result once there is one (`tasks/get`).
    Get(Arc<str>),
    /// What was answered to its questions (`tasks/update`).
    Update(Arc<str>, InputResponses),
    /// It is not wanted any more (`tasks/cancel`). The server may finish it all the same.
    Cancel(Arc<str>),
}

impl TaskRequest {
    /// The task's id, as the server gave it.
    pub fn id(&self) -> &str {
        match self {
            Self::Get(id) | Self::Update(id, _) | Self::Cancel(id) => id,
        }
    }

    /// The method on the wire.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Get(_) => "tasks/get",
            Self::Update(..) => "tasks/update",
            Self::Cancel(_) => "tasks/cancel",
        }
    }

    /// rmcp's form of the request, with these extensions.
    pub(crate) fn into_request(self, extensions: Extensions) -> ClientRequest {
        match self {
            Self::Get(id) => {
                let mut request = GetTaskRequest::new(GetTaskParams::new(&*id));
                request.extensions = extensions;
                ClientRequest::GetTaskRequest(request)
            }
            Self::Update(id, responses) => {
                let mut request = UpdateTaskRequest::new(UpdateTaskParams::new(&*id, responses));
                request.extensions = extensions;
                ClientRequest::UpdateTaskRequest(request)
            }
            Self::Cancel(id) => {
                let mut request = CancelTaskRequest::new(CancelTaskParams::new(&*id));
                request.extensions = extensions;
                ClientRequest::CancelTaskRequest(request)
            }
        }
    }

    /// What the server answered to it.
    pub(crate) fn reply(asks_for_state: bool, json: &RawValue) -> Result<TaskReply, TransportError> {
        if !asks_for_state {
            return Ok(TaskReply::Acknowledged);
        }
        let state: GetTaskResult = serde_json::from_str(json.get()).map_err(TransportError::invalid_reply)?;
        Ok(TaskReply::State(Box::new(state.task)))
    }

    pub(crate) fn asks_for_state(&self) -> bool {
        matches!(self, Self::Get(_))
    }
}

impl fmt::Debug for TaskRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskRequest({})", self.method())
    }
}

/// What a server answered to a [`TaskRequest`]. `Debug` prints no content.
#[non_exhaustive]
#[derive(Clone)]
pub enum TaskReply {
    /// How far the task is.
    State(Box<DetailedTask>),
    /// The server has taken it in; what comes of it shows in the task's state.
    Acknowledged,
}

impl fmt::Debug for TaskReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(task) => write!(f, "State({:?})", task.status()),
            Self::Acknowledged => f.write_str("Acknowledged"),
        }
    }
}
