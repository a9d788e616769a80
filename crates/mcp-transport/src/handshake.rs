use rmcp::{
    model::{ClientConfig, Implementation, ProtocolVersion, SubscriptionFilter},
    service::{ClientInitializeError, ClientLifecycleMode, Peer, RoleClient},
};
use tokio::task::JoinHandle;

use crate::TransportError;

/// What a host is called that says nothing of itself.
pub(crate) fn default_client() -> ClientConfig {
    let mut config = ClientConfig::default();
    config.client_info = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    config
}

/// `server/discover` (2026-07-28) first, then `initialize` (2025-11-25 and older).
pub(crate) fn default_lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// 2026-07-28 servers send `notifications/tools/list_changed` only to those who listen for it.
pub(crate) fn listen_for_changes(peer: &Peer<RoleClient>) -> Option<JoinHandle<()>> {
    let server = peer.peer_info()?;
    let tells = server.capabilities.tools.as_ref()?.list_changed == Some(true);
    if server.protocol_version.has_initialize() || !tells {
        return None;
    }
    let peer = peer.clone();
    Some(tokio::spawn(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        if let Ok(mut subscription) = peer.listen(filter).await {
            // The transport tells the event; this only keeps the subscription open and empty.
            while let Ok(Some(_)) = subscription.next().await {}
        }
    }))
}

/// What a failed handshake says. No call had been handed over, so nothing was sent.
pub(crate) fn handshake_error(error: ClientInitializeError) -> TransportError {
    match error {
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
            TransportError::connect(error)
        }
        ClientInitializeError::JsonRpcError(answer) => {
            TransportError::rejected(answer.code.0).proven_unsent()
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => handshake_error(*fallback),
        error => TransportError::handshake(error),
    }
}
