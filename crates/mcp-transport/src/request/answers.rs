use std::sync::Arc;

use rmcp::{
    service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};

use super::Asked;

/// A transport of whose answers it is known when they have left.
pub(crate) struct Answers<T> {
    transport: T,
    asked: Arc<Asked>,
}

impl<T> Answers<T> {
    pub(crate) fn of(transport: T, asked: Arc<Asked>) -> Self {
        Self { transport, asked }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Answers<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let answering = self.asked.answering(&message);
        let sending = self.transport.send(message);
        async move {
            let _answering = answering;
            sending.await
        }
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.transport.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.transport.close()
    }
}
