//! What the server asks of the host, while a call is in flight.
#![expect(deprecated, reason = "roots are on their way out, and servers of 2025-11-25 ask for them")]

use std::sync::{Arc, Mutex};

use mcp_transport::{
    StdioTransport, Transport,
    rmcp::{
        ClientHandler, ErrorData,
        model::{
            ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, Implementation,
            ListRootsResult, ProgressNotificationParam,
        },
        service::{NotificationContext, RequestContext, RoleClient},
    },
};
use serde_json::json;

use crate::server::{Ends, ROOM, connect_as, ends, legacy, put, text_result};

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

#[tokio::test(start_paused = true)]
async fn a_server_is_told_who_the_host_is() {
    struct Named;
    impl ClientHandler for Named {
        fn get_info(&self) -> ClientConfig {
            let mut config = ClientConfig::default();
            config.client_info = Implementation::new("the host", "7");
            config
        }
    }
    let Ends { mut server, reader, writer } = ends(ROOM);
    let connecting = StdioTransport::over(reader, writer, Named, legacy());
    let (connected, hello) = tokio::join!(connecting, server.shake_hands());
    assert!(connected.is_ok());
    let told = &hello["params"]["clientInfo"];
    assert_eq!((&told["name"], &told["version"]), (&json!("the host"), &json!("7")));
}
