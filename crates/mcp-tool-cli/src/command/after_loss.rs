use mcp_tool::{
    ReplayPolicy, ToolHandle, Trust,
    replay_policy::{Checkpoint, Decision, Definition, FailedAttempt},
};

/// Asks the policy what it would be asked if this tool may have run and the connection is lost, before
/// reconnecting.
pub(crate) fn decide(tool: &ToolHandle, server: &str, trust: Trust, policy: &dyn ReplayPolicy) -> Decision {
    let ambiguous = tool.definition().is_ambiguous();
    let attempt = FailedAttempt::new(tool.name(), Checkpoint::BeforeReconnect)
        .with_server(server)
        .with_trust(trust)
        .with_trust_at_start(trust)
        .with_hints(tool.hints())
        .with_definition(if ambiguous { Definition::Ambiguous } else { Definition::Same });
    policy.decide(&attempt)
}
