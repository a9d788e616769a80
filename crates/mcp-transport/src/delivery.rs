/// What is known of one failed attempt: can the server have received it?
///
/// In doubt is the default; the other two are claims that somebody makes by name
/// ([`TransportError::proven_unsent`](crate::TransportError::proven_unsent),
/// [`TransportError::refused`](crate::TransportError::refused)).
/// The order is that of the danger: `Unsent < Refused < Unknown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delivery {
    /// Proof on this machine that no complete request can have been received.
    Unsent,
    /// The peer, or something before it, states that it did not process the request.
    Refused,
    /// Anything else: the server may have received the request and may have run the tool.
    #[default]
    Unknown,
}

/// What to do with a failed attempt.
///
/// Decided where the error is born, from types and facts, never from the text of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The connection failed: reconnecting makes sense, and a policy may allow a replay.
    Connection,
    /// The caller gave up: nothing further is sent for this call.
    Abort,
    /// Neither: timeouts, replies that cannot be used. Handed on; never a second attempt.
    Other,
}
