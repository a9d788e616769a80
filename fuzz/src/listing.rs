use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use mcp_tool::{Discovery, PagingDiscovery, Transport, connector_fn};

use super::server::{run, server};

/// The results of `tools/list`, one a line; what follows them is an empty last page.
///
/// Whatever they are, the listing ends; and what it brings has each name once, and can be read to the end.
pub fn listing(data: &[u8]) {
    run(async {
        let (mut server, connecting) = server();
        let (transport, ()) = tokio::join!(connecting, server.shake_hands());
        let transport: Arc<dyn Transport> = Arc::new(transport.expect("the handshake is in order"));
        let pages: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
        let serve = async {
            for number in 0.. {
                let request = server.request("tools/list").await;
                let page = pages.get(number).copied().unwrap_or(br#"{"tools":[]}"#);
                server
                    .write(format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, request["id"]).as_bytes())
                    .await;
                server.write(page).await;
                server.write(b"}\n").await;
            }
        };
        let once = Mutex::new(Some(transport));
        let connector = connector_fn(move || {
            let transport = once.lock().expect("nobody panics with it").take();
            async move { transport.ok_or_else(mcp_tool::TransportError::closed) }
        });
        let discovery = PagingDiscovery::new(connector);
        let catalog = tokio::select! {
            catalog = discovery.catalog() => catalog,
            () = serve => unreachable!("it serves without end"),
        };
        let Ok(catalog) = catalog else { return };
        let names: HashSet<_> = catalog.tools().iter().map(|tool| tool.name().to_owned()).collect();
        assert_eq!(names.len(), catalog.len());
        for tool in catalog.tools() {
            assert_eq!(tool.definition().name, tool.name());
            assert_eq!(tool.digest(), tool.clone().digest());
            let _ = (tool.schema_digest(), tool.hints());
            assert!(catalog.tool(tool.name()).is_some());
        }
        // What is printed of the server's names moves no cursor and rings no bell.
        let printed = format!("{catalog:?} {:?} {:?}", catalog.quarantined(), catalog.warnings());
        assert!(!printed.contains(char::is_control), "{printed:?}");
    });
}
