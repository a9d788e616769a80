use mcp_tool::{
    Outcome, Reason, ToolError, Trust,
    replay_policy::{self, Decision},
};

/// What is known of a call without an answer, and what to do, for a person: one line. `decided` asks the
/// policy about the tool under another trust.
pub(super) fn line(error: &ToolError, trust: Trust, decided: impl Fn(Trust) -> Decision) -> String {
    let reason = error.reason();
    match (reason, error.outcome()) {
        (Reason::Denied(denied), Outcome::Unknown) if is_distrust(denied) => {
            format!("{error}; {}", under_trust(trust, decided(Trust::BOTH)))
        }
        (Reason::Cancelled, Outcome::Unknown) => format!(
            "cancelled after the call had been sent, so the tool may have run: verify its effect before running \
             this again ({reason})"
        ),
        (Reason::Cancelled, Outcome::NotExecuted) => {
            format!("cancelled before the call was sent: the tool was not executed ({reason})")
        }
        (Reason::Deadline, Outcome::Unknown) => format!(
            "no answer came within --timeout, so the tool may have run: verify its effect before running this \
             again ({reason})"
        ),
        (Reason::IdleTimeout, Outcome::Unknown) => format!(
            "neither an answer nor progress came within --idle-timeout, so the tool may have run: verify its \
             effect before running this again ({reason})"
        ),
        _ => error.to_string(),
    }
}

fn is_distrust(reason: replay_policy::Reason) -> bool {
    matches!(reason, replay_policy::Reason::ServerUntrusted | replay_policy::Reason::WorkspaceUntrusted)
}

/// What trust would have changed: options are named where they would have helped, and only those.
fn under_trust(trust: Trust, trusted: Decision) -> String {
    let options = match (trust.server_trusted(), trust.workspace_trusted()) {
        (false, false) => "--trust-server and --trust-workspace",
        (false, true) => "--trust-server",
        (true, _) => "--trust-workspace",
    };
    match trusted {
        Decision::Replay => format!("with {options} it would have been sent again"),
        Decision::Deny(reason) => format!("{options} would not have helped: {reason}"),
    }
}
