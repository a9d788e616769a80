/// What the user trusts at this moment: the server, and the workspace that the call runs in.
///
/// Fails closed: what is not known is not trusted, so the default is [`Trust::NONE`]. Server trust
/// belongs to the server's identity (its command or URL), not to the name it goes by.
///
/// ```
/// use replay_policy::Trust;
///
/// let trust = Trust::NONE.with_trusted_server();
/// assert!(!trust.is_trusted_server_in_trusted_workspace());
/// assert_eq!(trust.with_trusted_workspace(), Trust::BOTH);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Trust {
    server: bool,
    workspace: bool,
}

impl Trust {
    /// Neither the server nor the workspace is trusted.
    pub const NONE: Self = Self { server: false, workspace: false };

    /// Both the server and the workspace are trusted.
    pub const BOTH: Self = Self { server: true, workspace: true };

    /// Adds trust in the server.
    #[must_use]
    pub const fn with_trusted_server(self) -> Self {
        Self { server: true, ..self }
    }

    /// Adds trust in the workspace.
    #[must_use]
    pub const fn with_trusted_workspace(self) -> Self {
        Self { workspace: true, ..self }
    }

    /// Whether the server is trusted.
    #[must_use]
    pub const fn server_trusted(self) -> bool {
        self.server
    }

    /// Whether the workspace is trusted.
    #[must_use]
    pub const fn workspace_trusted(self) -> bool {
        self.workspace
    }

    /// A trusted server in a trusted workspace: the one predicate behind everything that double
    /// trust permits.
    ///
    /// The replay gate asks it, and a host that lets trusted calls skip their confirmation must
    /// ask it too. Were there two predicates, they could come to differ, and a call that nobody
    /// confirmed could be replayed on a trust that is not there.
    #[must_use]
    pub const fn is_trusted_server_in_trusted_workspace(self) -> bool {
        self.server && self.workspace
    }
}
