use std::sync::Arc;

use async_trait::async_trait;
use mcp_tool::{
    Connector, Happening, InvocationInfo, Observer, Outcome, Reason, Transport, TransportError,
    machine::AttemptKind,
    mcp_transport::ServerIdentity,
    replay_policy::{Checkpoint, Decision, Delivery},
};

use super::screen::Screen;

/// How much is told on standard error besides problems and outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// `-v`: what was decided.
    Decisions,
    /// `-vv`: the connections and generations, too.
    Details,
}

impl Verbosity {
    pub(crate) fn of(count: u8) -> Self {
        match count {
            0 => Self::Quiet,
            1 => Self::Decisions,
            _ => Self::Details,
        }
    }
}

/// The decision log: codes and numbers, nothing of the arguments or of the server's text.
#[derive(Clone)]
pub(crate) struct Log {
    screen: Arc<Screen>,
    verbosity: Verbosity,
    /// The server that it is about, where there are several.
    about: Option<Arc<str>>,
}

impl Log {
    pub(crate) fn new(screen: Arc<Screen>, verbosity: Verbosity) -> Self {
        Self { screen, verbosity, about: None }
    }

    pub(crate) fn about(&self, server: &str) -> Self {
        Self { about: Some(server.into()), ..self.clone() }
    }

    /// Where it is told.
    pub(crate) fn screen(&self) -> &Screen {
        &self.screen
    }

    /// A line from `-v` on.
    pub(crate) fn decision(&self, text: &str) {
        if self.tells_decisions() {
            self.line(text);
        }
    }

    /// Whether `-v` was given.
    pub(crate) fn tells_decisions(&self) -> bool {
        self.verbosity >= Verbosity::Decisions
    }

    /// A line from `-vv` on.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbosity >= Verbosity::Details {
            self.line(text);
        }
    }

    fn line(&self, text: &str) {
        match &self.about {
            Some(server) => self.screen.line(&format!("{server}: {text}")),
            None => self.screen.line(text),
        }
    }
}

impl Observer for Log {
    fn observe(&self, _: &InvocationInfo<'_>, happening: &Happening) {
        match happening {
            Happening::Attempting { kind, generation, .. } => {
                let kind = match kind {
                    AttemptKind::First => "sending the call",
                    AttemptKind::Resend => "sending the call again, which had not left",
                    AttemptKind::Replay => "replaying the call",
                };
                self.decision(kind);
                self.detail(&format!("over generation {}", generation.get()));
            }
            Happening::Failed { kind, delivery, .. } => {
                let delivery = match delivery {
                    Delivery::Unsent => "unsent",
                    Delivery::Refused => "refused",
                    Delivery::Unknown => "unknown",
                };
                self.decision(&format!("the attempt failed: {}, delivery {delivery}", kind.code()));
            }
            Happening::Decided { checkpoint, decision, .. } => {
                let place = match checkpoint {
                    Checkpoint::BeforeReconnect => "before reconnecting",
                    Checkpoint::BeforeReplay => "before sending again",
                };
                match decision {
                    Decision::Replay => self.decision(&format!("{place}: allowed")),
                    Decision::Deny(reason) => self.decision(&format!("{place}: denied, {}", reason.code())),
                }
            }
            Happening::Ended { outcome, reason, attempts, replays, .. } => {
                let outcome = outcome.map_or("completed", Outcome::code);
                let reason = reason.map(|reason| format!(", {}", Reason::code(reason))).unwrap_or_default();
                self.decision(&format!("{outcome}{reason}; attempts {attempts}, replays {replays}"));
            }
            _ => {}
        }
    }
}

/// A connector whose connections are told to the log.
pub(crate) struct Logged<C> {
    pub(crate) connector: C,
    pub(crate) log: Log,
}

#[async_trait]
impl<C: Connector> Connector for Logged<C> {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        self.log.detail("connecting");
        let connected = self.connector.connect().await;
        match &connected {
            Ok(_) => self.log.decision("connected"),
            Err(error) => self.log.decision(&format!("not connected: {}", error.kind().code())),
        }
        connected
    }

    fn identity(&self) -> ServerIdentity {
        self.connector.identity()
    }
}
