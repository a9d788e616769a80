//! What the server asks of the host, while a call is in flight.
#![expect(deprecated, reason = "roots are on their way out, and servers of 2025-11-25 ask for them")]

use std::sync::{Arc, Mutex};

use mcp_transport::{
    Transport,
    rmcp::{
        ClientHandler, ErrorData,
        model::{
            ElicitRequestParams, ElicitResult, ElicitationAction, ListRootsResult, ProgressNotificationParam,
        },
        service::{NotificationContext, RequestContext, RoleClient},
    },
};
use serde_json::json;

use crate::server::{connect_as, legacy, put, text_result};

#[derive(Clone, Default)]
struct Host(Arc<Mutex<Vec<&'static str>>>);

impl Host {
    fn heard(&self, what: &'static str) {
        self.0.lock().unwrap().push(what);
    }
}

impl ClientHandler for Host {
    async fn ping(&self, _: RequestContext<RoleClient>) -> Result<(), ErrorData> {
        self.heard("ping");
        Ok(())
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.heard("roots");
        Ok(ListRootsResult::default())
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.heard("elicitation");
        Ok(ElicitResult::new(ElicitationAction::Cancel))
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard("progress");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_of_the_server_reach_the_hosts_handler_during_a_call() {
    let host = Host::default();
    let (transport, mut server) = connect_as(host.clone(), legacy()).await;
    let serve = async {
        let call = server.expect("tools/call").await;
        // The ids are the server's own: that the call has the same one matters to nobody.
        let id = &call["id"];
        server.send(json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).await;
        assert_eq!(server.next().await["result"], json!({}));
        server.send(json!({"jsonrpc": "2.0", "id": "r", "method": "roots/list"})).await;
        assert_eq!(server.next().await["result"]["roots"], json!([]));
        let form = json!({"message": "sure?", "requestedSchema": {"type": "object", "properties": {}}});
        let ask = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form});
        server.send(ask).await;
        assert_eq!(server.next().await["result"]["action"], "cancel");
        server.progress(&call, 1).await;
        // One that cannot be understood is refused by its id.
        server.send(json!({"jsonrpc": "2.0", "id": "w", "method": "ping", "params": 7})).await;
        let refused = server.next().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("w"), &json!(-32600)));
        server.answer(&call, text_result("done")).await;
    };
    let (reply, ()) = tokio::join!(transport.call_tool(put()), serve);
    assert!(reply.is_ok());
    assert_eq!(*host.0.lock().unwrap(), ["ping", "roots", "elicitation", "progress"]);
}
