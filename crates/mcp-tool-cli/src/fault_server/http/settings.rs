//! How a server behaves over Streamable HTTP while nothing goes wrong with a call.
use super::{super::When, Response, Tls};
use serde::{Deserialize, Serialize};

/// What holds for a server's HTTP front. Over standard input and output it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    pub(super) reply: Reply,
    pub(super) sessions: Sessions,
    pub(super) standalone: Standalone,
    pub(super) retry_ms: Option<u64>,
    pub(super) listens: Option<When>,
    pub(super) handshake: Option<Response>,
    pub(super) tls: Option<Tls>,
    pub(super) token: Option<String>,
}

impl Http {
    /// A server that answers with JSON, keeps sessions and listens at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// How requests are answered. Default: [`Reply::Json`].
    pub fn reply(mut self, reply: Reply) -> Self {
        self.reply = reply;
        self
    }

    /// What a session is to this server. Default: [`Sessions::NotFound`].
    pub fn sessions(mut self, sessions: Sessions) -> Self {
        self.sessions = sessions;
        self
    }

    /// What a GET without `Last-Event-ID` gets. Default: [`Standalone::Refused`].
    pub fn standalone(mut self, standalone: Standalone) -> Self {
        self.standalone = standalone;
        self
    }

    /// How many milliseconds a client is told to wait before it resumes a stream. Default: it is not told.
    pub fn retry_ms(mut self, millis: u64) -> Self {
        self.retry_ms = Some(millis);
        self
    }

    /// Connections are refused until then, counted from the start of the process. Default: it listens
    /// at once.
    pub fn listens(mut self, when: When) -> Self {
        self.listens = Some(when);
        self
    }

    /// What `initialize` and `server/discover` get instead of an answer. Default: an answer.
    pub fn handshake(mut self, response: Response) -> Self {
        self.handshake = Some(response);
        self
    }

    /// A request without this bearer token gets 401. Default: none is needed.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// It speaks TLS. Default: it does not.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    pub(super) fn admits(&self, token: Option<&str>) -> bool {
        self.token.is_none() || self.token.as_deref() == token
    }
}

/// How a request is answered. A reply of more than one message is an event stream in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// With `application/json`.
    #[default]
    Json,
    /// With an event stream that cannot be resumed. Its head is sent at once.
    Sse,
    /// With an event stream that begins with an event id and can be resumed by it.
    SseWithIds,
}

/// What a session is to a server. From 2026-07-28 on a request belongs to none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Sessions {
    /// Each `initialize` makes one, known to this process only; a request with another gets 404, one
    /// without any 400.
    #[default]
    NotFound,
    /// The same, but another session gets 400, too.
    BadRequest,
    /// The same, with a JSON-RPC error that answers the very request.
    BadRequestAnswered,
    /// There are none, and what a client sends is not looked at.
    Stateless,
}

/// What a GET without `Last-Event-ID` gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Standalone {
    /// 405.
    #[default]
    Refused,
    /// An event stream that stays open and carries what belongs to no request.
    Open,
}
