use std::{error::Error, fmt, num::NonZeroU32, sync::Arc, time::Duration};

use crate::{Delivery, ErrorClass};

type Source = Arc<dyn Error + Send + Sync>;

/// Why an attempt (or a connect, or a listing) failed, and what that proves about delivery.
///
/// Opaque on purpose: a [`kind`](Self::kind) for people and dashboards, a [`class`](Self::class)
/// for the caller's next step, a [`delivery`](Self::delivery) for the question whether the tool can
/// have run. A custom transport uses the same constructors and claims proof by name.
///
/// # Nothing leaks
///
/// `Display` and `Debug` print fixed words only. The cause is kept for diagnosis, but it is no link
/// of the [`Error::source`] chain, because reporters print whole chains and a cause may quote a URL,
/// a header or an argument. Ask for it by [`cause`](Self::cause).
#[derive(Clone)]
pub struct TransportError {
    kind: ErrorKind,
    class: ErrorClass,
    delivery: Delivery,
    /// In milliseconds: errors stay small.
    retry_after: Option<NonZeroU32>,
    cause: Option<Source>,
}

/// Nobody may ask to be left alone for longer.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(600);

/// What went wrong, as a stable word without content.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The server's command does not exist or may not be run.
    CommandNotFound,
    /// The server could not be started or reached.
    Connect,
    /// No TLS connection came about: the server's certificate is not accepted, or it does not speak TLS.
    Tls,
    /// The server did not complete its handshake in time.
    ConnectTimeout,
    /// What answered does not speak MCP, or no version of it that this side knows.
    Handshake,
    /// The connection was known to be closed before anything was sent.
    Closed,
    /// The connection was lost with the request in flight.
    Lost,
    /// The caller cancelled, or dropped the call.
    Cancelled,
    /// The call's deadline passed.
    Deadline,
    /// Neither an answer nor progress came for the idle timeout.
    IdleTimeout,
    /// The reply was larger than the limit of this transport.
    ReplyTooLarge,
    /// The reply could not be understood.
    InvalidReply,
    /// The server answered a listing or the handshake with a JSON-RPC error of this code.
    Rejected(i32),
    /// The call's guard withdrew the permission to send it.
    Withdrawn,
    /// This transport cannot do what was asked.
    Unsupported,
    /// The server no longer knows the session (HTTP 404 on a request that carried one).
    SessionLost,
    /// The server, or something before it, wants another authorisation (HTTP 401, 403).
    AuthorisationRequired,
    /// An HTTP status that brings no answer.
    HttpStatus(u16),
    /// Something else, told by a custom transport.
    Other,
}

impl ErrorKind {
    /// The stable snake_case code of this kind, for logs and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::CommandNotFound => "command_not_found",
            Self::Connect => "connect_failed",
            Self::Tls => "tls_failed",
            Self::ConnectTimeout => "connect_timeout",
            Self::Handshake => "handshake_failed",
            Self::Closed => "connection_closed",
            Self::Lost => "connection_lost",
            Self::Cancelled => "cancelled",
            Self::Deadline => "deadline",
            Self::IdleTimeout => "idle_timeout",
            Self::ReplyTooLarge => "reply_too_large",
            Self::InvalidReply => "invalid_reply",
            Self::Rejected(_) => "rejected",
            Self::Withdrawn => "withdrawn",
            Self::Unsupported => "unsupported",
            Self::SessionLost => "session_lost",
            Self::AuthorisationRequired => "authorisation_required",
            Self::HttpStatus(_) => "http_status",
            Self::Other => "transport_error",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::CommandNotFound => "the server's command does not exist or may not be run",
            Self::Connect => "the server could not be started or reached",
            Self::Tls => "the server's certificate is not accepted, or it does not speak TLS",
            Self::ConnectTimeout => "the server did not complete its handshake in time",
            Self::Handshake => "the server does not speak a known version of MCP",
            Self::Closed => "the connection was already closed",
            Self::Lost => "the connection was lost",
            Self::Cancelled => "the call was cancelled",
            Self::Deadline => "the deadline passed",
            Self::IdleTimeout => "neither an answer nor progress came in time",
            Self::ReplyTooLarge => "the reply was larger than the limit",
            Self::InvalidReply => "the reply could not be understood",
            Self::Rejected(_) => "the server answered with an error",
            Self::Withdrawn => "the permission to send was withdrawn",
            Self::Unsupported => "the transport does not support this",
            Self::SessionLost => "the server no longer knows the session",
            Self::AuthorisationRequired => "the server asks for another authorisation",
            Self::HttpStatus(_) => "the server answered with an HTTP error",
            Self::Other => "the transport failed",
        }
    }
}

impl TransportError {
    fn new(kind: ErrorKind, class: ErrorClass, delivery: Delivery) -> Self {
        Self { kind, class, delivery, retry_after: None, cause: None }
    }

    /// The connection was lost in flight: class `Connection`, delivery `Unknown`.
    pub fn connection(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::lost().caused_by(cause)
    }

    /// The connection was lost in flight, without a known cause: class `Connection`, delivery `Unknown`.
    pub fn lost() -> Self {
        Self::new(ErrorKind::Lost, ErrorClass::Connection, Delivery::Unknown)
    }

    /// The connection was known closed before the send: class `Connection`, delivery `Unsent`.
    pub fn closed() -> Self {
        Self::new(ErrorKind::Closed, ErrorClass::Connection, Delivery::Unsent)
    }

    /// The server could not be started or reached: class `Connection`, delivery `Unsent`.
    pub fn connect(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Connect, ErrorClass::Connection, Delivery::Unsent).caused_by(cause)
    }

    /// The server's command does not exist or may not be run: class `Connection`, delivery `Unsent`.
    /// Trying again does not help, and a discovery does not.
    pub fn command_not_found(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::CommandNotFound, ErrorClass::Connection, Delivery::Unsent).caused_by(cause)
    }

    /// No TLS connection came about: class `Connection`, delivery `Unsent`. Trying again does not help
    /// before somebody has seen to a certificate or a URL, and a discovery does not.
    pub fn tls() -> Self {
        Self::new(ErrorKind::Tls, ErrorClass::Connection, Delivery::Unsent)
    }

    /// The handshake took too long: class `Connection`, delivery `Unsent` (no call was handed over yet).
    pub fn connect_timeout() -> Self {
        Self::new(ErrorKind::ConnectTimeout, ErrorClass::Connection, Delivery::Unsent)
    }

    /// What answered speaks no known MCP: class `Other`, delivery `Unsent` (no call was handed over yet).
    pub fn handshake(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Handshake, ErrorClass::Other, Delivery::Unsent).caused_by(cause)
    }

    /// The caller cancelled or dropped the call: class `Abort`, delivery `Unknown`.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, ErrorClass::Abort, Delivery::Unknown)
    }

    /// The deadline passed: class `Other`, delivery `Unknown`.
    pub fn deadline() -> Self {
        Self::new(ErrorKind::Deadline, ErrorClass::Other, Delivery::Unknown)
    }

    /// Neither an answer nor progress came: class `Other`, delivery `Unknown`.
    pub fn idle_timeout() -> Self {
        Self::new(ErrorKind::IdleTimeout, ErrorClass::Other, Delivery::Unknown)
    }

    /// The reply was larger than the limit: class `Other`, delivery `Unknown`.
    pub fn reply_too_large() -> Self {
        Self::new(ErrorKind::ReplyTooLarge, ErrorClass::Other, Delivery::Unknown)
    }

    /// The reply could not be understood: class `Other`, delivery `Unknown`.
    pub fn invalid_reply(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::InvalidReply, ErrorClass::Other, Delivery::Unknown).caused_by(cause)
    }

    /// A JSON-RPC error in answer to a listing or the handshake, with its code: class `Other`,
    /// delivery `Unknown`. (A JSON-RPC error in answer to a `tools/call` is no error of the transport:
    /// it is [`CallReply::Error`](crate::CallReply::Error).)
    pub fn rejected(code: i32) -> Self {
        Self::new(ErrorKind::Rejected(code), ErrorClass::Other, Delivery::Unknown)
    }

    /// The guard withdrew the permission before the first byte: class `Other`, delivery `Unsent`.
    pub fn withdrawn() -> Self {
        Self::new(ErrorKind::Withdrawn, ErrorClass::Other, Delivery::Unsent)
    }

    /// This transport cannot do what was asked: class `Other`, delivery `Unsent`.
    pub fn unsupported() -> Self {
        Self::new(ErrorKind::Unsupported, ErrorClass::Other, Delivery::Unsent)
    }

    /// HTTP 404 on a request that carried a session: class `Connection`, delivery `Refused`.
    pub fn session_lost() -> Self {
        Self::new(ErrorKind::SessionLost, ErrorClass::Connection, Delivery::Refused)
    }

    /// HTTP 401 or 403: class `Other`, delivery `Refused`.
    pub fn authorisation_required() -> Self {
        Self::new(ErrorKind::AuthorisationRequired, ErrorClass::Other, Delivery::Refused)
    }

    /// Any other HTTP status that brings no answer: class `Other`, delivery `Unknown`.
    pub fn http_status(status: u16) -> Self {
        Self::new(ErrorKind::HttpStatus(status), ErrorClass::Other, Delivery::Unknown)
    }

    /// Anything else: class `Other`, delivery `Unknown`.
    pub fn other(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Other, ErrorClass::Other, Delivery::Unknown).caused_by(cause)
    }

    /// Claims proof, on this machine, that no complete request can have been received.
    /// A false claim makes a write run twice.
    #[must_use]
    pub fn proven_unsent(mut self) -> Self {
        self.delivery = Delivery::Unsent;
        self
    }

    /// Claims that the peer, or something before it, states that it did not process the request.
    #[must_use]
    pub fn refused(mut self) -> Self {
        self.delivery = Delivery::Refused;
        self
    }

    /// Gives up any claim: the server may have received the request.
    #[must_use]
    pub fn in_doubt(mut self) -> Self {
        self.delivery = Delivery::Unknown;
        self
    }

    /// Keeps the cause for diagnosis; see [`cause`](Self::cause).
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into().into());
        self
    }

    /// Says for how long the server, or something before it, asks to be left alone, from now on, in whole
    /// milliseconds, rounded up. More than ten minutes count as ten minutes, and zero as not asking. Default:
    /// it does not ask.
    #[must_use]
    pub fn with_retry_after(mut self, pause: Duration) -> Self {
        let millis = pause.min(LONGEST_RETRY_AFTER).as_nanos().div_ceil(1_000_000);
        self.retry_after = u32::try_from(millis).ok().and_then(NonZeroU32::new);
        self
    }

    /// What went wrong, as a stable word.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to do with it.
    pub fn class(&self) -> ErrorClass {
        self.class
    }

    /// Whether the server can have received the request.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// For how long the server, or something before it, asks to be left alone (HTTP `Retry-After`, RFC 9110
    /// section 10.2.3), counted from the failure; at most ten minutes. None where it does not ask.
    ///
    /// It permits nothing: whether this request may be made again is another question.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after.map(|millis| Duration::from_millis(millis.get().into()))
    }

    /// The underlying error, for diagnosis on request.
    ///
    /// Its text may hold what the caller or the server wrote. It must not reach a log, a metric or a
    /// model by default; nothing in these crates prints it.
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.cause.as_deref()
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::Rejected(code) => write!(f, "{} (code {code})", self.kind.text()),
            ErrorKind::HttpStatus(status) => write!(f, "{} (status {status})", self.kind.text()),
            kind => f.write_str(kind.text()),
        }
    }
}

impl fmt::Debug for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportError")
            .field("kind", &self.kind)
            .field("class", &self.class)
            .field("delivery", &self.delivery)
            .finish_non_exhaustive()
    }
}

impl Error for TransportError {}
