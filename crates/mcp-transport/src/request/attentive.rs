use std::{borrow::Cow, sync::Arc};

use rmcp::{
    ClientHandler, ErrorData,
    model::{ClientConfig, ClientResult, ServerNotification, ServerRequest},
    service::{NotificationContext, RequestContext, RoleClient, RxJsonRpcMessage, Service, TxJsonRpcMessage},
    transport::Transport,
};

use super::Asked;

/// A handler of whose requests it is known when they are done.
pub(crate) struct Attentive<H> {
    handler: H,
    asked: Arc<Asked>,
}

impl<H> Attentive<H> {
    pub(crate) fn new(handler: H, asked: Arc<Asked>) -> Self {
        Self { handler, asked }
    }
}

impl<H: ClientHandler> Service<RoleClient> for Attentive<H> {
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        let _attending = self.asked.attend(&context.id);
        self.handler.handle_request(request, context).await
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        self.handler.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ClientConfig {
        Service::get_info(&self.handler)
    }
}

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

    fn name() -> Cow<'static, str> {
        T::name()
    }
}
