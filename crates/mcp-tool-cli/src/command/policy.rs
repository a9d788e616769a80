use std::{env, path::PathBuf};

use clap::Args;
use mcp_tool::{ConservativePolicy, Trust, TrustSource, mcp_transport::ServerIdentity};
use mcp_tool_cli::trusted_folders::TrustedFolders;

/// What may run again after a lost connection. Shared by all commands that ask the policy.
#[derive(Args, Clone, Debug)]
pub(crate) struct PolicyOptions {
    /// Trust the server: its hints count
    ///
    /// A configured server is trusted by `"trust": true`, too.
    #[arg(long)]
    trust_server: bool,
    /// Trust the workspace
    ///
    /// A folder is trusted by `mcp-tool trust add`, too.
    #[arg(long)]
    trust_workspace: bool,
    /// How many times one call may be sent again that may have run
    #[arg(long, value_name = "N", default_value_t = ConservativePolicy::DEFAULT_MAX_REPLAYS, hide_short_help = true)]
    max_replays: u32,
    /// Treat a call that is proven unsent like one that may have run (default: it is delivered after
    /// reconnecting)
    #[arg(long, hide_short_help = true)]
    no_resend_unsent: bool,
    /// Need no hints for calls that the peer says it refused; double trust is still needed
    #[arg(long, hide_short_help = true)]
    accept_refusals: bool,
    /// Never send this tool again, whatever is known; repeatable
    #[arg(long, value_name = "TOOL", hide_short_help = true)]
    never: Vec<String>,
    /// Vouch that running this tool again does no harm, whatever its hints say; repeatable
    #[arg(long, value_name = "TOOL", hide_short_help = true)]
    safe: Vec<String>,
}

impl PolicyOptions {
    pub(crate) fn policy(&self) -> ConservativePolicy {
        let mut policy = ConservativePolicy::default().with_max_replays(self.max_replays);
        if self.no_resend_unsent {
            policy = policy.without_resending_unsent();
        }
        if self.accept_refusals {
            policy = policy.accepting_refusals();
        }
        policy = self.never.iter().fold(policy, |policy, tool| policy.with_never(tool.as_str()));
        self.safe.iter().fold(policy, |policy, tool| policy.with_safe(tool.as_str()))
    }

    /// The trust that the options give.
    pub(crate) fn given(&self) -> Trust {
        let server = if self.trust_server { Trust::NONE.with_trusted_server() } else { Trust::NONE };
        if self.trust_workspace { server.with_trusted_workspace() } else { server }
    }

    /// The trust in a server and in the folder that this runs in.
    pub(crate) fn trust(&self, server: Configured) -> LiveTrust {
        let given = match server {
            Configured::Trusted => self.given().with_trusted_server(),
            Configured::Untrusted => self.given(),
        };
        LiveTrust { given, folders: TrustedFolders::of_user(), folder: env::current_dir().ok() }
    }
}

/// Other switches than those that were given, to see what they would change.
impl PolicyOptions {
    /// No tool is ruled out.
    pub(crate) fn without_never(mut self) -> Self {
        self.never.clear();
        self
    }

    /// This tool is ruled out.
    pub(crate) fn with_never(mut self, tool: &str) -> Self {
        self.never.push(tool.to_owned());
        self
    }

    /// At least one replay is allowed.
    pub(crate) fn with_a_replay(mut self) -> Self {
        self.max_replays = self.max_replays.max(1);
        self
    }
}

/// What the configuration says of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Configured {
    /// `"trust": true`.
    Trusted,
    /// Anything else.
    #[default]
    Untrusted,
}

/// The trust that was given when the command began, and in the folder as it is when somebody asks.
pub(crate) struct LiveTrust {
    given: Trust,
    folders: TrustedFolders,
    folder: Option<PathBuf>,
}

impl LiveTrust {
    pub(crate) fn now(&self) -> Trust {
        let trusted = |folder: &PathBuf| self.folders.is_trusted(folder);
        if self.given.workspace_trusted() || self.folder.as_ref().is_some_and(trusted) {
            self.given.with_trusted_workspace()
        } else {
            self.given
        }
    }
}

impl TrustSource for LiveTrust {
    fn trust(&self, _: &str, _: &ServerIdentity) -> Trust {
        self.now()
    }
}
