use std::sync::Arc;

use rmcp::{
    ErrorData,
    model::{ClientConfig, ClientResult, ServerNotification, ServerRequest},
    service::{NotificationContext, RequestContext, RoleClient, Service},
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

impl<H: Service<RoleClient>> Service<RoleClient> for Attentive<H> {
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
        self.handler.get_info()
    }
}
