use std::{
    collections::HashSet,
    sync::{PoisonError, RwLock},
};

use mcp_tool::{Trust, TrustSource, mcp_transport::ServerIdentity};

/// What the user trusts, now. Nothing, to begin with.
#[derive(Default)]
pub struct Settings(RwLock<Trusted>);

#[derive(Default)]
struct Trusted {
    workspace: bool,
    servers: HashSet<ServerIdentity>,
}

impl Settings {
    /// Trusts the workspace, or no longer.
    pub fn set_workspace(&self, trusted: bool) {
        self.change(|all| all.workspace = trusted);
    }

    /// Trusts a server, or no longer: what is started or reached, whatever name it goes by.
    pub fn set_server(&self, identity: &ServerIdentity, trusted: bool) {
        self.change(|all| match trusted {
            true => _ = all.servers.insert(identity.clone()),
            false => _ = all.servers.remove(identity),
        });
    }

    fn change(&self, change: impl FnOnce(&mut Trusted)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Asked with locks held, directly before the first byte of a call: it only looks at memory.
impl TrustSource for Settings {
    fn trust(&self, _name: &str, identity: &ServerIdentity) -> Trust {
        // Settings that somebody panicked over are trusted for nothing.
        let Ok(all) = self.0.read() else { return Trust::NONE };
        let mut trust = Trust::NONE;
        if all.workspace {
            trust = trust.with_trusted_workspace();
        }
        if all.servers.contains(identity) {
            trust = trust.with_trusted_server();
        }
        trust
    }
}
