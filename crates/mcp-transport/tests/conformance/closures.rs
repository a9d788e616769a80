//! A transport of closures.

use std::sync::Arc;

use mcp_transport::{
    ToolCall, ToolPage, Transport, TransportError, callable,
    contract::{self, Behaviour, Bench, FarEnd, Unsupported},
};

use crate::is_kept;

struct Closures;

#[async_trait::async_trait]
impl Bench for Closures {
    async fn connect(&self, far_end: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
        if far_end.behaviour() == Behaviour::AnswersNobodyFirst {
            return Err(Unsupported);
        }
        let call = move |call: ToolCall| {
            let far_end = far_end.clone();
            async move {
                if !far_end.may_take().await {
                    return Err(TransportError::closed());
                }
                // It waited, so it asks once more.
                call.may_send()?;
                let taken = far_end.received(call.name(), call.arguments().map(AsRef::as_ref));
                tokio::select! {
                    reply = taken.reply() => reply.ok_or_else(TransportError::lost),
                    () = far_end.ended() => Err(TransportError::lost()),
                }
            }
        };
        Ok(Arc::new(callable(call, |_cursor| async { Ok(ToolPage::default()) })))
    }
}

#[tokio::test(start_paused = true)]
async fn closures_keep_the_contract() {
    is_kept(&contract::examine(Closures).await, &[Behaviour::AnswersNobodyFirst]);
}
