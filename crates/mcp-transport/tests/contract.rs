//! What holds for every transport, whoever wrote it. No feature is needed for it.

mod attempt;
mod callable;
mod errors;
mod traits;

use std::time::Duration;

use mcp_transport::{CallReply, Delivery, ErrorClass, TransportError, rmcp::model::CallToolResult};

const SECOND: Duration = Duration::from_secs(1);

fn done() -> Result<CallReply, TransportError> {
    Ok(CallToolResult::success(vec![]).into())
}

fn told(error: &TransportError) -> (ErrorClass, &'static str, Delivery) {
    (error.class(), error.kind().code(), error.delivery())
}
