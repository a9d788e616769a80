use rmcp::service::ClientInitializeError;

use crate::TransportError;

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
